// Compile writes the table of package programs from its YAML files, for go generate.
package main

import (
	"log"
	"os"

	"callgate/shellparse/programs/source"
)

func main() {
	log.SetFlags(0)
	table, err := source.Load(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	text, err := table.Write()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("table_gen.go", text, 0o644); err != nil { //nolint:gosec // a source file
		log.Fatal(err)
	}
}

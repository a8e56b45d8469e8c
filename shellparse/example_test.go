package shellparse_test

import (
	"fmt"

	"callgate/shellparse"
)

func Example() {
	script := shellparse.Parse(`timeout 5 cat .env | grep KEY > out.txt`, shellparse.Options{})
	for _, c := range script.Commands {
		fmt.Print(c.Argv[0].Value, " via ", c.Via)
		for _, f := range c.Reads {
			fmt.Print(" reads ", f.Path.Value)
		}
		for _, f := range c.Writes {
			fmt.Print(" writes ", f.Path.Value)
		}
		fmt.Println()
	}
	fmt.Println(shellparse.Parse(`$X -rf /`, shellparse.Options{}).Problems[0].Code)
	// Output:
	// cat via [timeout 5] reads .env
	// grep via [] writes out.txt
	// dynamic
}

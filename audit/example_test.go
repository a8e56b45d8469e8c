package audit_test

import (
	"fmt"
	"os"

	"callgate/audit"
)

func Example() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(audit.Record{Event: audit.Decision, Tool: "shell_exec", Decision: "denied", By: "rule"}); err != nil {
		panic(err) // what cannot be recorded MUST NOT happen
	}
	if err := log.Close(); err != nil {
		panic(err)
	}
	for r, err := range audit.Read(audit.Dir(dir), audit.Filter{}) {
		fmt.Println(r.Event, r.Tool, r.Decision, err)
	}
	report, err := audit.Verify(audit.Dir(dir))
	fmt.Println(report.OK(), err)
	// Output:
	// decision shell_exec denied <nil>
	// true <nil>
}

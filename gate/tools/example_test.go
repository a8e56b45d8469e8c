package tools_test

import (
	"fmt"

	"callgate/gate/tools"
)

func Example() {
	server := tools.Server{Name: "files", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	tool := tools.Describe(server, "move_file", "files_move_file", nil)
	a := tools.Analyze(tools.Call{Tool: tool, Arguments: []byte(`{"source":"a.txt","destination":"b.txt"}`), Place: tools.Place{Dir: "/home/me/app", Home: "/home/me"}})
	fmt.Println(tool.Kind, a.Risk, a.Category)
	fmt.Println(a.Summary)
	// Output:
	// move_file WRITE workspace-write
	// Move "a.txt" to "b.txt".
}

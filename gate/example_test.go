package gate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/permissions/store"
)

// A program that has no people to ask runs the gate in mode no-prompt: what would ask is denied. The module in
// examples/library answers questions.
func Example() {
	dir, err := os.MkdirTemp("", "gate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	rules := filepath.Join(dir, "permissions.jsonc")
	if err := os.WriteFile(rules, []byte(`{ "shell_exec": { "*": "ask", "git status": "allow" } }`), 0o600); err != nil {
		panic(err)
	}
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		panic(err)
	}
	defer log.Close()
	g := gate.New(gate.Options{Worker: "example", Audit: log, Mode: gate.ModeNoPrompt, Store: store.Open(rules, store.Options{})})
	defer g.Close()
	session, err := g.OpenSession("", nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()

	for _, arguments := range []string{`{"command":"git status"}`, `{"command":"git push"}`} {
		call, err := session.NewCall(tools.KindTool(tools.KindShell), []byte(arguments), tools.Place{Dir: dir})
		if err != nil {
			panic(err)
		}
		verdict, call := g.Decide(context.Background(), session, call)
		fmt.Println(string(call.Arguments), verdict.Action)
		if verdict.Action == permissions.Allow { // run it, then say how it went
			g.Finish(session, call, []byte(`{}`), false, "", 0)()
		}
	}
	// Output:
	// {"command":"git status"} allow
	// {"command":"git push"} deny
}

// The library example embeds callgate's gate in another program.
//
// It has a rules file, one session, a callback that answers questions, and the record.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/permissions/store"
)

const rules = `{ "shell_exec": { "*": "ask", "git status": "allow", "rm *": "deny" } }`

func main() {
	dir, err := os.MkdirTemp("", "library")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, "permissions.jsonc"), []byte(rules), 0o600))
	records, err := audit.Open(audit.Dir(dir), audit.Options{})
	check(err)
	defer records.Close()
	g := gate.New(gate.Options{Worker: "example", Audit: records, Store: store.Open(filepath.Join(dir, "permissions.jsonc"), store.Options{})})
	defer g.Close()
	session, err := g.OpenSession("", nil)
	check(err)
	defer session.Close()
	questions := g.Subscribe()
	defer questions.Close()
	go answer(g, questions, func(q *gate.Approval) string {
		fmt.Println("asked:  ", q.Analysis.Summary)
		return "approve"
	})

	for _, command := range []string{"git status", "git push origin main", "rm -rf build"} {
		call, err := session.NewCall(tools.KindTool(tools.KindShell), fmt.Appendf(nil, `{"command":%q}`, command), tools.Place{Dir: dir})
		check(err)
		verdict, call := g.Decide(context.Background(), session, call)
		fmt.Println(verdict.Action, "  ", command, verdict.Reason)
		if verdict.Action == permissions.Allow { // a real program would run call.Arguments here, and nothing else
			g.Finish(session, call, []byte(`{}`), false, "", 0)()
		}
	}
	for r, err := range audit.Read(audit.Dir(dir), audit.Filter{}) {
		check(err)
		fmt.Println("record ", r.Event, r.Decision, r.By)
	}
}

// answer passes every question to decide, which returns "approve" or "reject".
func answer(g *gate.Gate, questions gate.Subscription, decide func(*gate.Approval) string) {
	for event := range questions.Events {
		if asked, ok := event.(gate.Asked); ok {
			q := asked.Approval
			if err := g.Answer(q.ID, gate.Answer{SessionID: q.SessionID, Digest: q.Digest, Decision: decide(q), By: "callback"}); err != nil {
				log.Print(err)
			}
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

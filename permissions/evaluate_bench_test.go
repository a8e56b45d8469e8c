package permissions

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkEvaluate measures a thousand rules for one tool, the worst case: with many tools, a view has few of them.
func BenchmarkEvaluate(b *testing.B) {
	shapes := map[string]func(i int) string{
		"prefix": func(i int) string { return fmt.Sprintf("tool%03d run *", i) },
		"suffix": func(i int) string { return fmt.Sprintf("*.ext%03d", i) },
		"infix":  func(i int) string { return fmt.Sprintf("*secret%03d*", i) },
		"path":   func(i int) string { return fmt.Sprintf("/home/alice/src/project%03d/**", i) },
		"regexp": func(i int) string { return fmt.Sprintf("/srv/[a-f]%03d/*.{js,ts}", i) },
	}
	subjects := map[string]*Subject{
		"command": {Tool: "commands_run", Kind: "shell_exec", KindBound: true, Decides: Form{"git status --short"}, Also: []Form{{"timeout 5 git status --short"}}, Risk: ReadOnly},
		"path": {
			Tool: "commands_run", Kind: "shell_exec", KindBound: true, Risk: ReadOnly,
			Decides: Form{"/home/alice/src/app/main.go", "main.go"}, Also: []Form{{"./main.go", "main.go"}},
		},
	}
	for shape, pattern := range shapes {
		for subject, s := range subjects {
			b.Run(shape+"/"+subject, func(b *testing.B) {
				rules := []Rule{{Tool: "*", Pattern: "*", Action: Ask}, {Tool: "shell_exec", Pattern: "*", Action: Allow}}
				for i := range 1000 {
					rules = append(rules, Rule{Tool: "shell_exec", Pattern: pattern(i), Action: Deny})
				}
				benchmarkEvaluate(b, rules, nil, s, Allow)
			})
		}
	}
	b.Run("grants/command", func(b *testing.B) {
		var grants []Grant
		for i := range 1000 {
			grants = append(grants, Grant{Tool: "shell_exec", Pattern: fmt.Sprintf("git push origin%d *", i), Risk: Network})
		}
		benchmarkEvaluate(b, []Rule{{Tool: "*", Pattern: "*", Action: Ask}}, grants, subjects["command"], Ask)
	})
	b.Run("arguments/command", func(b *testing.B) {
		rules := []Rule{{Tool: "*", Pattern: "*", Action: Ask}, {Tool: "shell_exec", Pattern: "*", Action: Allow}}
		for i := range 1000 {
			rules = append(rules, Rule{Tool: "shell_exec", Pattern: fmt.Sprintf("text=w%d*", i), Action: Deny})
		}
		s := *subjects["command"]
		s.Arguments = []byte(`{"text":"hello","n":7}`)
		benchmarkEvaluate(b, rules, nil, &s, Allow)
	})
	for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("growth/%d", n), func(b *testing.B) {
			rules := []Rule{{Tool: "*", Pattern: "*", Action: Ask}, {Tool: "shell_exec", Pattern: "*", Action: Allow}}
			for i := range n {
				rules = append(rules, Rule{Tool: "shell_exec", Pattern: fmt.Sprintf("git push origin feature/%d *", i), Action: Deny})
			}
			benchmarkEvaluate(b, rules, nil, subjects["command"], Allow)
		})
	}
	for _, n := range []int{1000, 40_000} {
		b.Run(fmt.Sprintf("arguments/%d", n), func(b *testing.B) {
			rules := []Rule{{Tool: "*", Pattern: "*", Action: Allow}}
			for i := range n {
				rules = append(rules, Rule{Tool: "bench_echo", Pattern: fmt.Sprintf("text=w%d*", i), Action: Deny})
			}
			s := Subject{Tool: "bench_echo", Decides: Form{"calls bench_echo"}, Arguments: []byte(`{"text":"hello"}`), Risk: Unknown}
			benchmarkEvaluate(b, rules, nil, &s, Allow)
		})
	}
	b.Run("manytools/command", func(b *testing.B) {
		rules := []Rule{{Tool: "*", Pattern: "*", Action: Ask}, {Tool: "shell_exec", Pattern: "git status *", Action: Allow}}
		for i := range 1000 {
			rules = append(rules, Rule{Tool: fmt.Sprintf("server%d_*", i), Pattern: "git *", Action: Deny})
		}
		benchmarkEvaluate(b, rules, nil, subjects["command"], Allow)
	})
}

func benchmarkEvaluate(b *testing.B, rules []Rule, grants []Grant, s *Subject, want Action) {
	p, err := NewPolicy(nil, rules, grants)
	if err != nil {
		b.Fatal(err)
	}
	c := Context{Server: "commands", Workspace: "/home/alice/src/app", Now: time.Now()}
	Evaluate(p, c, s)
	b.ReportAllocs()
	for b.Loop() {
		if f := Evaluate(p, c, s); f.Action != want {
			b.Fatalf("got %v by %v", f.Action, f.Rule)
		}
	}
}

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A difference after disconnect is the host's own affair only if the host wrote it, and callgate is not in it.
func TestLeftovers(t *testing.T) {
	const program = "/bin/callgate"
	before := map[string]string{"same": "a", "log": "a", "lost": "a", "config": "a", "state": "a"}
	connected := maps.Clone(before)
	connected["config"], connected["hooks"], connected["plugin"] = "a "+program, program, program
	used := maps.Clone(connected)
	used["log"], used["state"], used["new"], used["config"] = "ab", "ab "+program, program, "b "+program
	after := maps.Clone(used)
	delete(after, "lost")
	delete(after, "plugin")
	after["config"] = "b"
	left, rewrote := leftovers(before, connected, used, after, program)
	if want := []string{"hooks", "lost", "state"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	if want := []string{"config", "log"}; !slices.Equal(rewrote, want) {
		t.Errorf("the host wrote %q, want %q", rewrote, want)
	}
}

// A denial that ends the host's turn is the last call of its session.
func TestRounds(t *testing.T) {
	s := step{tool: "Bash"}
	deeds := []deed{{word: wordAllowed, steps: []step{s, s}}, {word: wordDenied, steps: []step{s}}, {word: wordDenied, steps: []step{s}}, {word: wordAsked, steps: []step{s}}}
	for ends, want := range map[bool][]int{false: {5}, true: {3, 1, 1}} {
		r := &toolRun{kit: kit{ends: ends}}
		var got []int
		for _, round := range r.rounds(deeds) {
			got = append(got, len(round))
		}
		if !slices.Equal(got, want) {
			t.Errorf("rounds of %d steps, want %d", got, want)
		}
	}
}

func TestCasesAreDenied(t *testing.T) {
	cases, err := readCases("../../../shellparse/testdata/bypass.jsonl", 10)
	if err != nil || len(cases) != 10 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		rules, err := c.rules()
		if err != nil || !strings.Contains(string(rules), `"deny"`) {
			t.Errorf("%s: %v, %s", c.ID, err, rules)
		}
	}
}

// The model first does what callgate asks of it through the host. A tool that takes a text is called with that text.
func TestModelHeedsTheCanary(t *testing.T) {
	m := &model{script: []step{{tool: "apply_patch", arguments: object{freeInput: "*** Begin Patch"}}}, told: func(command string) step {
		return step{tool: "Bash", arguments: object{"command": command}}
	}}
	m.look([]byte(`{"messages":[{"content":"run ` + "`true callgate-canary-abc123`" + ` once"}]}`))
	offered := []offer{{Name: "Bash"}, {Name: "apply_patch", free: true}}
	if c := m.next(offered, nil); c.Name != "Bash" || c.arguments["command"] != "true callgate-canary-abc123" {
		t.Errorf("it called %+v", c)
	}
	m.look([]byte(`true callgate-canary-abc123`))
	if c := m.next(offered, []string{"refused"}); c.Name != "apply_patch" || !c.free {
		t.Errorf("it called %+v", c)
	}
}

func TestToolTable(t *testing.T) {
	rows := []toolRow{
		{host: "Claude Code", version: "2.1.331", cells: map[string]string{"shell": ok, "MCP": ok}, canary: ok, refused: 20, cases: 20, rewrote: []string{".claude.json"}},
		{host: "Codex", version: "0.169.0", cells: map[string]string{"shell": "**denied and ran**"}, canary: "**not proven**", unjudged: []string{"shell denied"}, left: []string{"config.toml"}},
	}
	want := `| host | shell | read | edit | write | fetch | MCP | ran undecided | canary | corpus | files |
|---|---|---|---|---|---|---|---|---|---|---|
| Claude Code 2.1.331 | ok | – | – | – | – | ok | 0 | ok | 20 of 20 | ok, but for 1 that the host wrote meanwhile |
| Codex 0.169.0 | **denied and ran** | – | – | – | – | – | **shell denied** | **not proven** | – | **not as before: config.toml** |
`
	if got := toolTable(rows); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

package suggest_test

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

var update = flag.Bool("update", false, "write bypasses.jsonl anew")

// bypassCommands returns the commands of shellparse's bypass cases.
func bypassCommands(t *testing.T) (commands []string) {
	t.Helper()
	text, err := os.ReadFile("../../shellparse/testdata/bypass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Cmd string `json:"cmd"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, c.Cmd)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return commands
}

// TestBypassesAreThoseOfTheShell checks that proposals are tested against the bypass cases of shellparse's tests.
func TestBypassesAreThoseOfTheShell(t *testing.T) {
	text, err := os.ReadFile("bypasses.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for line := range bytes.Lines(text) {
		var command string
		if err := json.Unmarshal(line, &command); err != nil {
			t.Fatal(err)
		}
		have = append(have, command)
	}
	want := bypassCommands(t)
	slices.Sort(want)
	want = slices.Compact(want)
	if *update {
		var out bytes.Buffer
		for _, command := range want {
			line, err := json.Marshal(command)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
		if err := os.WriteFile("bypasses.jsonl", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Error("bypasses.jsonl differs from shellparse/testdata/bypass.jsonl: run go test ./internal/suggest -update")
	}
}

package tools

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"callgate/shellparse"
)

// TestExternalCorpusRisk prints where the class of the worst command differs from what a corpus says.
func TestExternalCorpusRisk(t *testing.T) {
	dir := os.Getenv("CALLGATE_CORPUS")
	if dir == "" {
		t.Skip("CALLGATE_CORPUS is not set")
	}
	for _, name := range []string{"shell-benign.jsonl", "shell-bypass.jsonl"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		same, n := 0, 0
		for sc.Scan() {
			var c struct{ ID, Cmd, Risk string }
			if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			n++
			s := shellparse.Parse(c.Cmd, shellparse.Options{})
			args, _ := json.Marshal(map[string]string{"command": c.Cmd})
			a := Analyze(Call{Tool: KindTool(KindShell), Arguments: args, Place: Place{Dir: "/ws/app", Home: "/home/u"}})
			if a.Risk.String() == c.Risk {
				same++
				continue
			}
			var cmds []string
			for _, cc := range a.Commands {
				cmds = append(cmds, cc.Risk.String())
			}
			t.Logf("%s want %s got %s %v marks %v problems %v: %.90q", c.ID, c.Risk, a.Risk, cmds, a.Marks, s.Problems, c.Cmd)
		}
		t.Logf("%s: %d of %d", name, same, n)
		f.Close()
	}
}

package tools

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"callgate/gate/tools/definitions"
)

// servers reads a file of definitions, one a line.
func servers(t *testing.T, path string) (list [][]byte) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		list = append(list, append([]byte(nil), lines.Bytes()...))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// At least nine in ten definitions made after the published attacks are held. Two of them speak only of another
// server's tool, so only a check that knows the other servers can hold those.
func TestPoisonedDefinitions(t *testing.T) {
	list := servers(t, "testdata/poisoned.jsonl")
	missed := 0
	for _, d := range list {
		if definitions.Poisoned(d) == "" {
			missed++
			t.Logf("not held: %s", d)
		}
	}
	if len(list) < 30 || missed*10 > len(list) {
		t.Errorf("%d of %d are not held", missed, len(list))
	}
}

// No real server's definition is held, nor one with phrases that other real servers use.
func TestRealDefinitionsAreNotPoisoned(t *testing.T) {
	files, err := filepath.Glob("testdata/definitions/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions", err)
	}
	n := 0
	for _, file := range files {
		for _, d := range servers(t, file) {
			n++
			if why := definitions.Poisoned(d); why != "" {
				t.Errorf("%s: %s\n%.300s", file, why, d)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d definitions", n)
	}
}

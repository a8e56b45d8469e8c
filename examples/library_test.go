package examples

import (
	"os/exec"
	"strings"
	"testing"
)

// The module in library uses the gate from outside: it compiles with what packages export, and does what it says.
func TestLibrary(t *testing.T) {
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = "library"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"allow    git status", "asked:   Run \"git push origin main\".", "allow    git push origin main", "deny    rm -rf build",
		"record  decision approved callback", "record  decision denied rule",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
}

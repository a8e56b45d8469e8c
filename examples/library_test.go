package examples

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "callgate/gate" // the module is built on it: a change there runs the test again
)

// The module in library uses the gate from outside. It compiles against the exported API, and does what it says.
func TestLibrary(t *testing.T) {
	if _, err := os.ReadFile("../go.mod"); err != nil { // both modules need it: a change runs the test again
		t.Fatal(err)
	}
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

package retrieval

import (
	"errors"
	"strings"
	"testing"

	"callgate/rag"
)

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What was added is recorded although nobody can be told of it, and nothing more is added.
func TestAddFilesWithoutOutput(t *testing.T) {
	kb, err := rag.OpenKB("", rag.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	summary, err := AddFiles(t.Context(), strings.NewReader("The kettle is blue."), full{}, kb, nil, []string{"-", "-"})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(summary, "Added 1 document") {
		t.Errorf("%q, %v", summary, err)
	}
}

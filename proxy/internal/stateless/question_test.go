package stateless

import (
	"slices"
	"testing"

	"callgate/internal/rpc"
)

// All questions of a request have different keys, and no server's has that of callgate's own.
func TestQuestionsHaveKeysOfTheirOwn(t *testing.T) {
	e := &Request{client: &Client{all: &Clients{}}}
	for _, label := range []string{"question-1", "", "a", "a", "question-3", "", "", "approval "} {
		if err := e.ask(label, rpc.Message{ID: []byte("1")}); err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	for _, q := range e.questions {
		keys = append(keys, q.key)
	}
	if want := []string{"question-1", "question-2", "a", "question-3", "question-4", "question-5", "question-6", "approval "}; !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
}

package companion

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
)

// written is a connection that records each write.
type written struct {
	net.Conn
	writes []string
	err    error
}

func (w *written) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), w.err
}

func TestGathering(t *testing.T) {
	w := &written{}
	g := &batching{Conn: w}
	write := func(text string) {
		t.Helper()
		if _, err := io.WriteString(g, text); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	g.gather()
	write("b")
	write("c")
	if !slices.Equal(w.writes, []string{"a"}) {
		t.Errorf("%q is written before it is released", w.writes)
	}
	if err := g.release(); err != nil {
		t.Fatal(err)
	}
	write("d")
	g.gather()
	long := strings.Repeat("x", maxHeld)
	write("e")
	write(long)
	write("f")
	if err := g.release(); err != nil || !slices.Equal(w.writes, []string{"a", "bc", "d", "e", long, "f"}) {
		t.Errorf("%v, %d writes", err, len(w.writes))
	}
	w.err = errors.New("broken")
	g.gather()
	write("g")
	if err := g.release(); !errors.Is(err, w.err) {
		t.Errorf("what could not be written: %v", err)
	}
}

func TestEncodingsAreOfTheirEvent(t *testing.T) {
	s := start(t, newFakeBackend("s1"))
	c := &socket{server: s.Server}
	events := []gate.Event{
		gate.Started{SessionID: "s1", ID: "c1", Tool: "t", Arguments: []byte(`{"a":1}`)},
		gate.Started{SessionID: "s1", ID: "c1", Tool: "t", Arguments: []byte(`{"a":2}`)},
		gate.Started{SessionID: "s1", ID: "c1", Tool: "t"},
		gate.Finished{SessionID: "s1", ID: "c1", Tool: "t", Result: []byte(`{}`)},
		gate.Finished{SessionID: "s1", ID: "c1", Tool: "t", Result: []byte(`{}`), IsError: true},
		gate.Finished{SessionID: "s1", ID: "c1", Tool: "t", Duration: time.Second},
		gate.Finished{SessionID: "s1", ID: "c2", Result: []byte(`"` + strings.Repeat("x", keptBytes) + `"`)},
		gate.Recorded{Record: audit.Record{Event: audit.Decision, SessionID: "s1", CallID: "c1", Risk: "WRITE", Decision: "approved", Hash: "h1", Summary: "one"}},
		gate.Recorded{Record: audit.Record{Event: audit.Decision, SessionID: "s1", CallID: "c1", Risk: "WRITE", Decision: "approved", Hash: "h2", Summary: "two"}},
		gate.Recorded{Record: audit.Record{Event: audit.Decision, SessionID: "s1", CallID: "c1", Risk: "WRITE", Decision: "approved", Summary: "not written"}},
		gate.AutonomyChanged{SessionID: "s1", Level: "MANUAL"},
	}
	for i := range 2 * keptEvents {
		events = append(events, gate.Started{SessionID: "s1", ID: fmt.Sprint(i), Tool: "t"})
	}
	var x encodings
	for range 3 {
		for _, e := range events {
			got, want := x.of(e, c.encode), c.encode(frames(e))
			if !slices.EqualFunc(got, want, func(a, b []byte) bool { return string(a) == string(b) }) {
				t.Fatalf("%+v: %s, want %s", e, got, want)
			}
		}
	}
	if len(x.known) != keptEvents {
		t.Errorf("%d events are kept, want %d", len(x.known), keptEvents)
	}
	encoded := 0
	for range 2 {
		x.of(events[0], func(f []any) [][]byte { encoded++; return c.encode(f) })
	}
	if encoded != 1 {
		t.Errorf("an event is encoded %d times for two clients", encoded)
	}
}

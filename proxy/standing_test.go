package proxy

import (
	"errors"
	"path/filepath"
	"testing"

	"callgate/gate"
	"callgate/gate/tools"
)

// A session's tools can be read by its id, and only the definition that was looked at is accepted.
func TestStandings(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{Lists: map[string]string{"tools/list": `{"tools":[{"name":"a"},{"name":"b","description":"x\u200by"}]}`}})
	pins, err := tools.OpenPins(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	w.proxy.o.Pins = pins
	w.proxy.remake()
	if id, standings, err := w.proxy.Standings(""); id != "" || standings != nil || err != nil {
		t.Errorf("without a host: %q, %v, %v", id, standings, err)
	}
	if err := w.proxy.Accept("", "s_a", ""); !errors.Is(err, ErrNoTool) {
		t.Errorf("without a host: %v", err)
	}
	h := w.connect().collect()
	h.greet(helloParams)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	h.next()
	id, standings, err := w.proxy.Standings("")
	if err != nil || len(standings) != 2 || standings[0].Tool.Qualified != "s_a" || standings[0].Redefined != nil || standings[1].Redefined == nil {
		t.Fatalf("%q, %+v, %v", id, standings, err)
	}
	if same, _, err := w.proxy.Standings(id); same != id || err != nil {
		t.Errorf("by its id: %q, %v", same, err)
	}
	if _, _, err := w.proxy.Standings("s-other"); !errors.Is(err, gate.ErrSession) {
		t.Errorf("of another session: %v", err)
	}
	hidden := standings[1].Tool.Hash
	for _, tt := range []struct {
		session, tool, hash string
		want                error
	}{
		{"s-other", "s_b", hidden, gate.ErrSession}, {id, "s_c", hidden, ErrNoTool}, {id, "b", hidden, ErrNoTool}, {id, "s_b", standings[0].Tool.Hash, ErrDefinition}, {id, "s_b", "", ErrDefinition}, {id, "s_b", hidden, nil},
	} {
		if err := w.proxy.Accept(tt.session, tt.tool, tt.hash); !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if _, standings, err := w.proxy.Standings(id); err != nil || standings[1].Redefined != nil {
		t.Errorf("accepted, and still in quarantine: %v", err)
	}
	h.close()
}

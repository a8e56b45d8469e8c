package proxy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/testserver/waits"
)

// A server cannot make callgate remember tools without end: those beyond the bound are not there.
func TestToolsBeyondWhatIsRememberedAreHidden(t *testing.T) {
	const most, listed = 2000, 2100
	var list strings.Builder
	for i := range listed {
		fmt.Fprintf(&list, `,{"name":"t%d"}`, i)
	}
	w := newWorld(t, allowAll, false, []string{"s"}, script{Lists: map[string]string{"tools/list": `{"tools":[` + list.String()[1:] + `]}`}})
	pins, err := tools.OpenPins(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	w.proxy.o.Pins = pins
	w.proxy.maker = w.proxy.newMaker()
	h := w.connect().collect()
	h.greet(helloParams)
	n := 0
	for deadline := time.Now().Add(waits.Limit); n == 0 && time.Now().Before(deadline); { // the host does not wait for a slow server
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		answer := h.next()
		for answer.Method != "" { // that the list has changed
			answer = h.next()
		}
		var m [1]jsonx.Member
		if err := jsonx.Members(answer.Result, []string{"tools"}, m[:]); err != nil {
			t.Fatal(err)
		}
		n = jsonx.Length(m[0].Value)
	}
	if n != most {
		t.Errorf("%d tools are listed, want %d", n, most)
	}
	h.calls("2", fmt.Sprintf("s_t%d", most-1), `{"text":"x"}`)
	h.text("2")
	h.calls("3", fmt.Sprintf("s_t%d", most), `{"text":"x"}`)
	if m := h.next(); !strings.Contains(string(m.Error), "unknown tool") {
		t.Errorf("a hidden tool answers %s", m.Raw)
	}
	h.close()
	pinned, err := pins.Of("")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := pinned.Room(); n != 0 {
		t.Errorf("there is room for %d more", n)
	}
}

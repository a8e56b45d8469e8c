package proxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/permissions"
	"callgate/permissions/store"
)

// The gate's limits also apply to requests other than tool calls. The read of a resource that never comes ends, and the
// host is told why. The server lives on, and is told to stop.
func TestResourcesEndInTime(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{Capabilities: `{"tools":{},"resources":{}}`, Lists: map[string]string{
		"tools/list": oneTool, "resources/list": `{"resources":[{"uri":"x:a","name":"a"}]}`, "resources/read": "",
	}})
	dir := t.TempDir()
	rules := filepath.Join(dir, "permissions.jsonc")
	if err := os.WriteFile(rules, []byte(allowAll), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kind, err := permissions.CompileGlob("resource_read")
	if err != nil {
		t.Fatal(err)
	}
	w.proxy.o.Gate = gate.New(gate.Options{
		Worker: "default", Audit: log, Store: store.Open(rules, store.Options{}),
		Limits: gate.Limits{Timeouts: []gate.Timeout{{Tool: kind, After: 50 * time.Millisecond}}},
	})
	t.Cleanup(func() {
		w.proxy.o.Gate.Close()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	h := w.connect().collect()
	h.greet(helloParams)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:a"}}`)
	if m := h.next(); !strings.Contains(string(m.Error), "longer than its limit of 50ms; the server was told to stop") {
		t.Errorf("the host got %s", m.Raw)
	}
	h.waitHung("s_do", "1")
}

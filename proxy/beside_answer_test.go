package proxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"callgate/gate"
	"callgate/internal/rpc"
)

// answers is the Line of a host that keeps its answers.
type answers struct {
	rpc.Requests
	mu  sync.Mutex
	all map[string]string
}

func (a *answers) Respond(id, response []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[string(id)] = string(response)
	return nil
}

func (a *answers) Notify(_, _ []byte) error { return nil }

func (a *answers) Ask(_ []byte, _ string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	return a.Send(func(id []byte) error { compose(id); return nil })
}

func (a *answers) Waits([]byte) {}
func (a *answers) Hurry()       { a.Abandon() }

// A host may send its next call as soon as it has a long result. What callgate learned from that result still counts
// for the call, although it learns beside the answer.
func TestALongResultCountsForTheNextCall(t *testing.T) {
	const password = "correct-horse-battery-7"
	text, err := json.Marshal(strings.Repeat("nothing to see here. ", 3000) + "\nDB_PASSWORD=" + password + "\n")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, `{ "*": "allow" }`, false, []string{"s"}, script{
		Capabilities: `{"tools":{},"resources":{}}`,
		Lists: map[string]string{
			"tools/list": oneTool, "resources/list": `{"resources":[{"uri":"test://a","name":"a"}]}`, "resources/templates/list": `{"resourceTemplates":[]}`,
			"resources/read": `{"contents":[{"uri":"test://a","text":` + string(text) + `}]}`,
		},
	})
	w.gate.Controls.Configure(gate.Settings{Mode: gate.ModeNoPrompt})
	for range 5 {
		line := &answers{all: map[string]string{}}
		peer, err := w.proxy.Connect(t.Context(), View{}, "", line)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(id int, method, params string) string {
			t.Helper()
			m, err := rpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan struct{})
			go peer.Serve(m, func() { close(answered) })
			<-answered
			line.mu.Lock()
			defer line.mu.Unlock()
			return line.all[fmt.Sprint(id)]
		}
		ask(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}`)
		if got := ask(2, "resources/read", `{"uri":"test://a"}`); !strings.Contains(got, password) {
			t.Fatalf("the resource is %.200s", got)
		}
		if got := ask(3, "tools/call", `{"name":"s_do","arguments":{"text":"`+password+`"}}`); !strings.Contains(got, "contains a credential") {
			t.Errorf("the call with the password: %s", got)
		}
		peer.Close()
	}
}

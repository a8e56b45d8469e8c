package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// HTTP traffic is recorded message by message, documents and events alike. A discovery is refused if a legacy server is
// wanted.
func TestRecordingProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), "tools/call") {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n: still there\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
			return
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer server.Close()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "wire.jsonl")
	r, err := record(path)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(recordingProxy(r, target, true))
	defer proxy.Close()
	for _, sent := range []string{
		`{"jsonrpc":"2.0","id":"d","method":"server/discover"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`,
	} {
		response, err := http.Post(proxy.URL, "application/json", strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Error(err)
		}
		response.Body.Close()
	}
	all, err := recorded(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, m := range all {
		fmt.Fprintf(&got, "%t %s\n", m.Down, m.Text)
	}
	const want = `false {"jsonrpc":"2.0","id":"d","method":"server/discover"}
true {"jsonrpc":"2.0","id":"d","error":{"code":-32601,"message":"Method not found"}}
false {"jsonrpc":"2.0","id":1,"method":"initialize"}
true {"jsonrpc":"2.0","id":1,"result":{}}
false {"jsonrpc":"2.0","id":2,"method":"tools/call"}
true {"jsonrpc":"2.0","method":"notifications/progress"}
true {"jsonrpc":"2.0","id":2,"result":{}}
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

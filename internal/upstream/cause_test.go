package upstream

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"callgate/internal/rpc"
	"callgate/internal/upstream/lifetime"
)

// Over HTTP, a server's messages during a request come with the request's cause, even while others run.
func TestCause(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			return
		}
		m, err := rpc.Parse(body)
		switch {
		case err != nil || m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(rpc.Result(m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`)))
			return
		}
		both.Done()
		both.Wait() // both are running now
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":%s}\n\n", m.Params)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\",\"params\":%s}\n\n", m.Params)
		fmt.Fprintf(w, "data: %s\n\n", rpc.Result(m.ID, []byte("{}")))
	}))
	t.Cleanup(web.Close)
	var mu sync.Mutex
	told := map[string]int{}
	note := func(_ *Upstream, m rpc.Message, cause any) {
		mu.Lock()
		defer mu.Unlock()
		told[fmt.Sprintf("%s %s because of %v", m.Method, m.Params, cause)]++
	}
	u := open(t, Config{Name: "s", URL: web.URL, terms: Terms{Era: Legacy}}, Options{Events: Events{Notification: note, Request: note}})
	var calls sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		calls.Go(func() {
			if _, err := u.Request(lifetime.New(short(t), name), "tools/call", fmt.Appendf(nil, `{"n":%q}`, name)); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"a", "b"} {
		if told[fmt.Sprintf(`notifications/message {"n":%q} because of %s`, name, name)] != 1 {
			t.Errorf("%v", told)
		}
	}
	if len(told) < 3 { // the same id is used twice at once, so the second question is refused
		t.Errorf("%v", told)
	}
}

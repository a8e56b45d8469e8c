package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/testserver/unraced"
)

// Many large results for slow readers stay under the bound on messages in flight. Results without room fail with an
// error that names the bound. Meanwhile small calls go on, and afterwards large results fit again. All results arrive
// complete if readers keep reading.
func TestLargeResultsStayUnderTheBound(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("measures the process, on Linux")
	}
	if elsewhere(t) {
		return
	}
	const bound, each, calls = 96 << 20, 20, 24
	h := &hostileHosts{client: &http.Client{Timeout: 2 * patience}}
	h.served = serveConfigured(t, fmt.Sprintf("limits: {maxInFlightBytes: %d}\nservers:\n  - {name: demo, url: %q}\n", bound, largeEcho(t)), "--log-level", "error")
	var err error
	for _, session := range []*string{&h.good, &h.bad} {
		if *session, err = h.connect(h.client); err != nil {
			t.Fatal(err)
		}
	}
	h.behaves(t, "at first")
	before := h.peak(t)

	var all sync.WaitGroup
	var mu sync.Mutex
	whole, refused := 0, 0
	for i := range calls {
		all.Go(func() {
			answer, err := h.slowly(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo_large","arguments":{"MiB":%d}}}`, 100+i, each))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("call %d: %v", i, err)
			case len(answer) > each<<20:
				whole++
			case bytes.Contains(answer, []byte("limits.maxInFlightBytes")):
				refused++
			default:
				t.Errorf("call %d: %.300s", i, answer)
			}
		})
	}
	for range 5 {
		h.behaves(t, "meanwhile")
		time.Sleep(100 * time.Millisecond)
	}
	all.Wait()
	t.Logf("%d results came whole, %d found no room; peak %d MiB, %d before", whole, refused, h.peak(t)>>20, before>>20)
	if whole == 0 {
		t.Error("no result came through")
	}
	if used := h.peak(t) - before; used > 2*bound && !unraced.Raced { // the garbage collector lets garbage grow as large as the memory in use
		t.Errorf("the process grew by %d MiB under a bound of %d", used>>20, bound>>20)
	}
	answer, err := h.slowly(fmt.Sprintf(`{"jsonrpc":"2.0","id":999,"method":"tools/call","params":{"name":"demo_large","arguments":{"MiB":%d}}}`, each))
	if err != nil || len(answer) < each<<20 {
		t.Errorf("afterwards: %d bytes, %v: %.500s", len(answer), err, answer)
	}
}

// slowly makes a request and reads the answer bit by bit.
func (h *hostileHosts) slowly(body string) ([]byte, error) {
	r, err := http.NewRequest("POST", h.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + h.token, "Mcp-Session-Id": h.bad} {
		r.Header.Set(name, value)
	}
	response, err := h.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer bytes.Buffer
	for {
		if _, err := io.CopyN(&answer, response.Body, 1<<20); err == io.EOF {
			return answer.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

package upstream

import (
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"time"
)

// Conversations with servers behind addresses leave nothing: no goroutine, no descriptor.
func TestConversationsLeaveNothing(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // systems without it count only goroutines
		}
		return len(entries)
	}
	for _, a := range addresses {
		t.Run(a.name, func(t *testing.T) {
			web := httptest.NewServer(a.serve(realServer(nil)))
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			round := func() {
				u := New(Config{Name: "real", URL: web.URL + "/", terms: Terms{Transport: a.transport, Era: a.only}}, Options{})
				u.Start(hello)
				call(t, u, "tools/call", `{"name":"echo","arguments":{"text":"x"}}`)
				u.Close()
			}
			settled := func() (goroutines, files int) {
				for range 100 {
					web.CloseClientConnections()
					runtime.GC()
					time.Sleep(20 * time.Millisecond)
					if g := runtime.NumGoroutine(); g == goroutines {
						break
					}
					goroutines = runtime.NumGoroutine()
				}
				return goroutines, descriptors()
			}
			round()
			g, f := settled()
			for range rounds {
				round()
			}
			if g2, f2 := settled(); g2 > g+5 || f2 > f+5 {
				t.Errorf("after %d rounds there are %d goroutines of %d and %d descriptors of %d", rounds, g2, g, f2, f)
			}
		})
	}
}

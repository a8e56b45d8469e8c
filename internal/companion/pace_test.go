package companion

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/companion/credentials"
)

func TestAClientThatAsksTooOftenWaits(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	token := r.token(t, credentials.View)
	var limited atomic.Int32
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range burst {
				for r.paces.allow(string(credentials.View) + " 127.0.0.1") { // like a client faster than a busy machine
				}
				request, err := http.NewRequest("GET", "http://"+r.Address()+"/api/sessions", nil)
				if err != nil {
					t.Error(err)
					return
				}
				request.Header.Set("Authorization", "Bearer "+token)
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
				if response.StatusCode == http.StatusTooManyRequests {
					limited.Add(1)
					if response.Header.Get("Retry-After") == "" {
						t.Error("it does not say when to come again")
					}
				}
			}
		})
	}
	asking.Wait()
	if limited.Load() == 0 {
		t.Errorf("none of %d requests was too many", 8*burst)
	}
	// Other clients are answered: an approver, and one without a credential.
	if response, body := r.do(t, credentials.Approve, "GET", "/api/sessions", ""); response.StatusCode != 200 {
		t.Errorf("another client: %d %s", response.StatusCode, body)
	}
	for range burst + 1 {
		if response, body := r.do(t, "", "GET", "/health/live", ""); response.StatusCode != 200 {
			t.Fatalf("a probe: %d %s", response.StatusCode, body)
		}
	}
}

func TestPacesAreBounded(t *testing.T) {
	var p paces
	for i := range 3 * maxPaces {
		if !p.allow(fmt.Sprint(i)) {
			t.Fatalf("client %d waits at its first request", i)
		}
		if len(p.clients) > maxPaces {
			t.Fatalf("%d clients are remembered", len(p.clients))
		}
	}
	allowed := 0
	for range 10 * burst {
		if p.allow("one") {
			allowed++
		}
	}
	if allowed < burst || allowed == 10*burst {
		t.Errorf("%d of %d requests at once were allowed", allowed, 10*burst)
	}
}

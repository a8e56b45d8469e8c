package idp

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/testserver/waits"
)

// silent is a provider that takes requests and answers none until its end.
type silent struct {
	requests atomic.Int32
	end      chan struct{}
}

func (s *silent) RoundTrip(*http.Request) (*http.Response, error) {
	s.requests.Add(1)
	<-s.end
	return nil, errors.New("no answer")
}

// While the provider is silent, people who sign in do not wait for each other.
func TestASilentProvider(t *testing.T) {
	to := &silent{end: make(chan struct{})}
	p := New(Options{Issuer: "https://login.example.com", Client: &http.Client{Transport: to}})
	var people sync.WaitGroup
	for range 3 {
		people.Go(func() {
			if _, _, err := p.Begin("https://gate.example.com/back"); err == nil {
				t.Error("no error")
			}
		})
	}
	defer people.Wait()
	defer close(to.end)
	waits.Until(t, "each asks the provider", func() bool { return to.requests.Load() == 3 })
}

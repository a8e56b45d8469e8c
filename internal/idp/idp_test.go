package idp

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// silent is a provider that takes requests and answers none.
type silent struct{ requests atomic.Int32 }

func (s *silent) RoundTrip(*http.Request) (*http.Response, error) {
	s.requests.Add(1)
	time.Sleep(patience)
	return nil, errors.New("no answer")
}

// While the provider is silent, people who sign in wait no longer than one alone, and cause one request.
func TestASilentProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &silent{}
		p := New(Options{Issuer: "https://login.example.com", Client: &http.Client{Transport: to}})
		began := time.Now()
		var people sync.WaitGroup
		for range 3 {
			people.Go(func() {
				if _, _, err := p.Begin("https://gate.example.com/back"); err == nil {
					t.Error("no error")
				}
			})
		}
		people.Wait()
		if n, took := to.requests.Load(), time.Since(began); n != 1 || took != patience {
			t.Errorf("%d requests, which took %s", n, took)
		}
	})
}

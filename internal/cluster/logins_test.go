package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/signin"
	"callgate/internal/testserver/waits"
)

// issuer gives tokens for refresh tokens, each good for one use.
type issuer struct {
	*httptest.Server

	mu      sync.Mutex
	good    string // the valid refresh token
	given   int
	refused int
	hold    chan struct{} // if not nil, an answer waits for it
	holds   chan struct{} // gets a value when an answer waits
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{good: "r0", holds: make(chan struct{}, 1)}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		i.mu.Lock()
		used, good := r.PostForm.Get("refresh_token"), i.good
		w.Header().Set("Content-Type", "application/json")
		if used != good {
			i.refused++
			i.mu.Unlock()
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		i.given++
		i.good = fmt.Sprintf("r%d", i.given)
		given, hold := i.given, i.hold
		i.mu.Unlock()
		if hold != nil {
			i.holds <- struct{}{}
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		fmt.Fprintf(w, `{"access_token":"t%d","refresh_token":"r%d","token_type":"Bearer","expires_in":3600}`, given, given)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) counts() (given, refused int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.given, i.refused
}

// expired returns a login at the issuer's server whose token has expired.
func (i *issuer) expired(t *testing.T) []byte {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	text, err := json.Marshal(map[string]any{
		"url": i.URL + "/mcp", "issuer": i.URL, "tokenEndpoint": i.URL, "client": map[string]any{"id": "c", "method": "none"},
		"token": map[string]any{"access_token": "old", "token_type": "Bearer", "refresh_token": i.good, "expiry": "2020-01-01T00:00:00Z"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLogins has three replicas renew one login.
func TestLogins(t *testing.T) {
	t.Parallel()
	all := open(t, 3)
	at := newIssuer(t)
	dirs, accounts, logins := make([]string, 3), make([]*signin.Account, 3), make([]*Logins, 3)
	file := func(i int) string { return filepath.Join(signin.Dir(dirs[i]), "s.json") }
	has := func(i int) string {
		text, err := os.ReadFile(file(i))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	for i, c := range all {
		dirs[i] = t.TempDir()
		logins[i] = c.ShareLogins(signin.Dir(dirs[i]), func(err error) {
			if err != nil && c.Fresh() == nil {
				t.Logf("replica %d: %v", i, err)
			}
		})
		accounts[i] = signin.New(dirs[i], signin.Server{Name: "s", URL: at.URL + "/mcp"})
		accounts[i].Share(logins[i])
	}
	give := func(i int, text []byte) {
		if err := os.MkdirAll(signin.Dir(dirs[i]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file(i), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	renew := func(i int) (header string, err error) { // again while the remaining replicas elect a leader
		for {
			if header, err = accounts[i].Authorize(t.Context(), nil); !errors.Is(err, ErrAway) {
				return header, err
			}
		}
	}

	t.Run("a person signs in at one", func(t *testing.T) {
		give(1, at.expired(t))
		waits.Until(t, "all have the login", func() bool { return has(0) == has(1) && has(2) == has(1) && has(1) != "" })
	})

	t.Run("one refreshes, all have the token", func(t *testing.T) {
		for round := 1; round <= 5; round++ {
			var asking sync.WaitGroup
			for i := range 9 {
				asking.Go(func() {
					header, err := accounts[i%3].Authorize(t.Context(), nil)
					if err != nil || header != fmt.Sprintf("Bearer t%d", round) {
						t.Errorf("round %d: %q, %v", round, header, err)
					}
				})
			}
			asking.Wait()
			if given, refused := at.counts(); given != round || refused != 0 {
				t.Fatalf("round %d: %d tokens were given, %d refresh tokens used twice", round, given, refused)
			}
			give(round%3, at.expired(t))
			want := has(round % 3)
			waits.Until(t, "all have the login that expires", func() bool { return has(0) == want && has(1) == want && has(2) == want })
		}
	})

	t.Run("what is sealed says nothing", func(t *testing.T) {
		stream, err := all[0].bucket.connectedStream()
		if err != nil {
			t.Fatal(err)
		}
		m, err := stream.GetLastMsgForSubject(t.Context(), all[0].bucket.subject("login.s"))
		if err != nil || strings.Contains(string(m.Data), "refresh_token") {
			t.Fatalf("%s, %v", m.Data, err)
		}
	})

	t.Run("a replica that holds the lock dies", func(t *testing.T) {
		if _, _, err := logins[0].Lock(t.Context(), file(0)); err != nil {
			t.Fatal(err)
		}
		all[0].die()
		given, _ := at.counts()
		if header, err := renew(1); err != nil || header != fmt.Sprintf("Bearer t%d", given+1) {
			t.Fatalf("%q, %v", header, err)
		}
		waits.Until(t, "the other has it too", func() bool { return has(1) == has(2) })
		if _, refused := at.counts(); refused != 0 {
			t.Fatal("a refresh token was used twice")
		}
	})

	t.Run("a person signs out at one", func(t *testing.T) {
		if err := os.Remove(file(1)); err != nil {
			t.Fatal(err)
		}
		waits.Until(t, "the other has no login either", func() bool { return has(2) == "" })
	})

	t.Run("a replica that waits for its token dies", func(t *testing.T) {
		waits.Until(t, "the first is back", func() bool {
			back, err := Open(all[0].o) // its port may not be free yet
			if err == nil {
				all[0] = back
				t.Cleanup(func() { back.Close() })
			}
			return err == nil
		})
		give(1, at.expired(t))
		waits.Until(t, "the other has the login", func() bool { return has(2) == has(1) })
		hold := make(chan struct{})
		at.mu.Lock()
		at.hold = hold
		at.mu.Unlock()
		var asking sync.WaitGroup
		defer asking.Wait()
		defer close(hold)
		asking.Go(func() { _, _ = accounts[1].Authorize(t.Context(), nil) })
		<-at.holds
		waiting := make(chan error, 1)
		asking.Go(func() { _, err := accounts[2].Authorize(t.Context(), nil); waiting <- err })
		select {
		case err := <-waiting:
			t.Fatalf("the other did not wait: %v", err)
		default:
		}
		all[1].die()
		err := <-waiting
		if errors.Is(err, ErrAway) {
			_, err = renew(2)
		}
		if err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Fatalf("the other cannot know what the dead one got: %v", err)
		}
	})
}

package tui

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// fakeCompanion serves what status asks for. It answers the proof with secret.
func fakeCompanion(t *testing.T, secret string) (address string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		if r.URL.Path == "/api/proof" {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte("callgate companion proof v1\x00" + r.URL.Query().Get("nonce") + "\x00" + r.Host))
			if err := json.NewEncoder(w).Encode(map[string]string{"proof": hex.EncodeToString(mac.Sum(nil))}); err != nil {
				t.Error(err)
			}
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body := `{"upstreams":[{"name":"demo","state":"up","tools":6}]}`
		if r.URL.Path == "/api/audit" {
			body = `{"records":[{"event":"outcome","callId":"2"},{"event":"decision","callId":"2","sessionId":"s-2"},{"event":"decision","callId":"1","sessionId":"s-1"}]}`
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), asked
}

// asks returns an Ask with the view credential of a data directory.
func asks(dir string) Ask { return client.Target{DataDir: dir, Credential: credentials.View}.AskAt }

func viewToken(t *testing.T, dir string) string {
	t.Helper()
	held, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	token, err := held.Token(credentials.View)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestStatus(t *testing.T) {
	dir := t.TempDir()
	address, _ := fakeCompanion(t, viewToken(t, dir))
	got := (&rest{ask: asks(dir)}).status(t.Context(), address, true)
	want := status{
		servers: []server{{Name: "demo", State: "up", Tools: 6}},
		records: []entry{{Event: "decision", CallID: "1", SessionID: "s-1"}, {Event: "decision", CallID: "2", SessionID: "s-2"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(status{}), cmpopts.EquateErrors()); diff != "" {
		t.Error(diff)
	}
	got = (&rest{ask: asks(dir), sessions: []string{"s-2"}}).status(t.Context(), address, true)
	if len(got.records) != 1 || got.records[0].CallID != "2" {
		t.Errorf("records of one session: %+v", got.records)
	}
	if got = (&rest{ask: asks(dir)}).status(t.Context(), address, false); len(got.records) != 0 || got.err != nil || len(got.servers) != 1 {
		t.Errorf("without history: %+v", got)
	}
}

// TestStatusImpostor checks that a program that cannot prove to be callgate gets no credential.
func TestStatusImpostor(t *testing.T) {
	dir := t.TempDir()
	viewToken(t, dir)
	address, asked := fakeCompanion(t, "another secret")
	if got := (&rest{ask: asks(dir)}).status(t.Context(), address, true); !errors.Is(got.err, wire.ErrImpostor) {
		t.Errorf("error %v", got.err)
	}
	if diff := cmp.Diff([]string{"/api/proof"}, *asked); diff != "" {
		t.Error(diff)
	}
	if got := (&rest{ask: asks(dir)}).status(t.Context(), "127.0.0.1:1", true); got.err == nil {
		t.Error("nobody listens, and there is no error")
	}
}

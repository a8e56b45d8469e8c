package client

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"callgate/internal/companion/credentials"
)

// A hub on a slow machine is asked again, with more time, and the person is told what the client waits for.
func TestASlowHubGetsMoreTime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	store, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	token, err := store.Token(credentials.Approve)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	var address string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/proof", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done() // the client has given up
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"proof": credentials.Proof(token, r.FormValue("nonce"), address)})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	address = server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := os.MkdirAll(PortsDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(Announcement{PID: os.Getpid(), Address: address, Hub: true})
	if err := credentials.WritePrivate(filepath.Join(PortsDir(dir), fmt.Sprintf("%d-%s.json", os.Getpid(), port)), text); err != nil {
		t.Fatal(err)
	}
	var slow []string
	found, _, err := Target{DataDir: dir, Slow: func(address string) { slow = append(slow, address) }}.prove(t.Context(), credentials.Approve)
	if err != nil || found != address || len(slow) == 0 || slow[0] != address {
		t.Errorf("found %q, told of %q: %v", found, slow, err)
	}
}

package door

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A hook that its host ends while a question waits says so, and does not say that callgate ended.
func TestEndedHook(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Wine has no unix sockets")
	}
	dir, token := t.TempDir(), []byte("token")
	for _, folder := range []string{"hub", "credentials"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "credentials", "hook"), token, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", Socket(dir, "default", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- hear(listener, token, end) }()
	_, err = Ask(ctx, Order{DataDir: dir, Worker: "default", Host: "claude"}, []byte("{}"))
	if err == nil || !strings.Contains(err.Error(), "the hook was ended before callgate answered") {
		t.Errorf("got %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// hear takes one request, ends the hook, and sends no answer.
func hear(listener net.Listener, token []byte, end func()) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	theirs, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	own := Nonce()
	hello, err := json.Marshal(Hello{Nonce: own, Proof: Vouch(token, "gate", own, strings.TrimSpace(theirs))})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "%s\n", hello); err != nil {
		return err
	}
	for range 2 {
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
	}
	end()
	_, err = io.Copy(io.Discard, in) // until the hook is gone
	return err
}

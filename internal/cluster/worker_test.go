package cluster

import (
	"context"
	"io"
	"net"
	"os"
	"testing"

	"callgate/internal/testserver/waits"
)

// Workers in one process share only its connection. Each has a separate bucket on all replicas.
func TestWorkersAreApart(t *testing.T) {
	t.Parallel()
	all := open(t, 3)
	workers := map[string][]*Cluster{}
	for _, name := range []string{"acme", "beta"} {
		for _, c := range all {
			w, err := c.Worker(name, t.TempDir(), logOf(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			workers[name] = append(workers[name], w)
		}
	}
	for name, of := range workers {
		for _, w := range of {
			waits.Until(t, "the worker hears of its bucket", func() bool { return w.Fresh() == nil })
		}
		if _, err := of[0].Document("rules").Replace(context.Background(), 0, []byte(name), "test"); err != nil {
			t.Fatal(err)
		}
		for _, w := range of {
			waits.Until(t, "the other replicas have the tenant's rules", func() bool {
				v, err := w.Document("rules").Now()
				return err == nil && string(v.Text) == name
			})
		}
	}
	if v, err := all[0].Document("rules").Now(); err != nil || v.Revision != 0 {
		t.Errorf("the front has a tenant's rules: %s, %v", v.Text, err)
	}
	acme, beta := workers["acme"], workers["beta"]
	ask(t, acme[0].approvals, "a-1", "key", true)
	waits.Until(t, "the question is at the tenant's other replica", func() bool { return stateAt(acme[1], entryKey("key", "a-1")) != "" })
	if stateAt(beta[0], entryKey("key", "a-1")) != "" || stateAt(all[0], entryKey("key", "a-1")) != "" {
		t.Error("another worker has the tenant's question")
	}
	for name, of := range workers { // a stream to a tenant's people reaches that tenant
		l := of[0].Listen(ServicePeople)
		t.Cleanup(func() { l.Close() })
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, _ = conn.Write([]byte(name))
				conn.Close()
			}
		}()
	}
	for name, of := range workers {
		var conn net.Conn
		waits.Until(t, "the replica is reached", func() (ok bool) {
			var err error
			conn, err = of[1].Dial(t.Context(), "r0", of[0].epoch, ServicePeople)
			return err == nil
		})
		said, err := io.ReadAll(conn)
		conn.Close()
		if err != nil || string(said) != name {
			t.Errorf("%s reached %q, %v", name, said, err)
		}
	}
	id := acme[0].Sessions().SessionID()
	if name, _, elsewhere := all[1].Sessions().Home(id); !elsewhere || name != "r0" {
		t.Errorf("the tenant's session lives at %q", name)
	}
	if acme[2].Close(); acme[1].Fresh() != nil || all[2].Fresh() != nil {
		t.Error("the end of one worker is the end of another")
	}
	if _, err := os.Stat(addressFile(acme[0].o.DataDir)); err != nil {
		t.Error(err) // commands for the tenant would not find the server
	}
}

//go:build !nonats

package cluster

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Messages of NATS about storage are alerts; those about replicas that come and go are not.
func TestNatsLog(t *testing.T) {
	var out bytes.Buffer
	n := newNatsLog(slog.New(slog.NewTextHandler(&out, nil)))
	for _, one := range []struct {
		say         func(string, ...any)
		text, level string
	}{
		{n.Warnf, "TLS certificate chain and hostname of solicited routes will not be verified. DO NOT USE IN PRODUCTION!", ""},
		{n.Noticef, "Server is ready", ""},
		{n.Warnf, "Filestore [KV_callgate_default] indexCacheBuf corrupt record state in /data/1.blk", "WARN"},
		{n.Errorf, "Filestore [KV_callgate_default] Critical write error: message block data missing", "ERROR"},
		{n.Errorf, "JetStream out of resources, will be DISABLED", "ERROR"},
		{n.Errorf, "Error applying stream entries to 'a > b': x", "ERROR"},
		{n.Errorf, "Error trying to connect to route (attempt 1): dial tcp 127.0.0.1:1: connect: connection refused", "INFO"},
		{n.Errorf, "127.0.0.1:2 - rid:3 - TLS route handshake error: EOF", "INFO"},
		{n.Warnf, "JetStream cluster stream 'a > b' has NO quorum, stalled", "INFO"},
	} {
		out.Reset()
		one.say("%s", one.text)
		if said := out.String(); one.level == "" && said != "" || !strings.Contains(said, one.level) {
			t.Errorf("%s: %q, not %s", one.text, said, one.level)
		}
	}
	out.Reset()
	for range 100 {
		n.Errorf("Remote server has a duplicate name: %q", "gate-2")
	}
	if said := out.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "level=WARN") {
		t.Error(said)
	}
}

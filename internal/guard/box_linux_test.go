package guard

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// inBox runs a shell text in a box, and returns what it wrote.
func inBox(t *testing.T, kind Kind, box *Box, text string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=/usr/bin:/bin"}, &out, &out
	cmd.Dir = "/usr"
	w := Wall{Mode: Require, Box: box, kinds: []Kind{kind}}
	k, _, err := w.Start(cmd)
	if err != nil {
		skipWithoutWall(t, err)
		t.Fatal(err)
	}
	_ = cmd.Wait() // what it wrote says enough
	k.Release()
	return out.String()
}

func TestBoxEnvironment(t *testing.T) {
	for _, kind := range walls {
		box := &Box{Read: system, Net: ProxyNet, Env: func(proxy string) []string { return []string{"PROXY=" + proxy} }}
		out := inBox(t, kind, box, `echo "$PROXY $TMPDIR"; echo x >"$TMPDIR/x" && cat "$TMPDIR/x"; pwd`)
		if !strings.HasPrefix(out, "127.0.0.1:") || !strings.HasSuffix(out, "\nx\n/usr\n") {
			t.Errorf("%s: %q", kind, out)
		}
	}
}

package endpoint

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Repeated refusals do not fill the log.
func TestRefusalsAreLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := refusals{log: slog.New(slog.NewTextHandler(&log, nil)), by: map[string]*refusal{}}
		for range 1000 {
			r.write("not let in", "reason", strings.Repeat("x", 1<<16), "127.0.0.1:1")
		}
		r.write("another", "host", "short", "127.0.0.1:1")
		if lines := strings.Count(log.String(), "\n"); lines != refusalLines+1 || log.Len() > 4<<10 {
			t.Errorf("%d lines, %d bytes", lines, log.Len())
		}
		time.Sleep(refusalWindow)
		r.write("not let in", "reason", "again", "127.0.0.1:1")
		if want := "reason=again remote=127.0.0.1:1 notLogged=995"; !strings.Contains(log.String(), want) {
			t.Errorf("no %q in %s", want, log.String())
		}
	})
}

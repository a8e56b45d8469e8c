package upstream

import (
	"context"
	"log/slog"
	"time"
)

const (
	logBurst = 200 // lines at once
	logRate  = 50  // lines per second after that
)

// throttle keeps a server that writes endlessly from filling the log. It is not safe for concurrent use.
type throttle struct {
	log     *slog.Logger
	tokens  float64
	filled  time.Time
	dropped int
}

func newThrottle(log *slog.Logger) *throttle {
	return &throttle{log: log, tokens: logBurst, filled: time.Now()}
}

func (t *throttle) write(level slog.Level, msg string, args ...any) {
	now := time.Now()
	t.tokens = min(logBurst, t.tokens+now.Sub(t.filled).Seconds()*logRate)
	t.filled = now
	if t.tokens < 1 {
		t.dropped++
		return
	}
	t.tokens--
	t.report()
	t.log.Log(context.Background(), level, msg, args...)
}

// report logs how many lines were left out.
func (t *throttle) report() {
	if t.dropped > 0 {
		t.log.Warn("the server writes too much to its log: lines left out", "count", t.dropped)
		t.dropped = 0
	}
}

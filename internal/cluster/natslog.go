//go:build !nonats

package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// natsLog sends what the embedded server says to callgate's log. Most of its warnings and errors are about routes and
// leaders, which come and go with replicas: they are information. What it says of its storage is not.
type natsLog struct {
	log   *slog.Logger
	named rate.Sometimes // tells of a duplicate name
}

// duplicateEvery is how often people are told of a name that two replicas have: NATS says it many times a second.
const duplicateEvery = time.Minute

func newNatsLog(log *slog.Logger) *natsLog {
	return &natsLog{log: log, named: rate.Sometimes{Interval: duplicateEvery}}
}

func (n *natsLog) Noticef(format string, v ...any) { n.say(slog.LevelDebug, format, v) }
func (n *natsLog) Warnf(format string, v ...any)   { n.say(slog.LevelWarn, format, v) }
func (n *natsLog) Errorf(format string, v ...any)  { n.say(slog.LevelError, format, v) }
func (n *natsLog) Fatalf(format string, v ...any)  { n.log.Error("nats: " + fmt.Sprintf(format, v...)) }
func (n *natsLog) Debugf(format string, v ...any)  {}
func (n *natsLog) Tracef(format string, v ...any)  {}

func (n *natsLog) say(level slog.Level, format string, v []any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, "duplicate name") {
		n.named.Do(func() {
			n.log.Warn("cluster: two replicas have the same cluster.name; give each its own", "nats", text)
		})
		return
	}
	n.log.Log(context.Background(), levelOf(level, text), "nats: "+text)
}

var (
	// ofStorage are words of warnings about data.
	ofStorage = []string{"corrupt", "filestore", "checksum", "metafile", "metasum", "bad stream state", "out of", "exceeded", "critical", "permission denied", "no space", "unmarshalling"}
	// ofRoutes are words of errors about replicas that come and go.
	ofRoutes = []string{"route", "tls", "connect"}
)

// levelOf is how much what NATS says matters to people. That routes are not verified the way NATS knows is no news:
// whoever connects shows a certificate that only the cluster's key makes.
func levelOf(level slog.Level, text string) slog.Level {
	lower := strings.ToLower(text)
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) })
	}
	switch {
	case level < slog.LevelWarn || strings.Contains(text, "DO NOT USE IN PRODUCTION"):
		return slog.LevelDebug
	case has(ofStorage):
		return level
	case level == slog.LevelError && !has(ofRoutes):
		return level
	}
	return slog.LevelInfo
}

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

// natsLog sends the embedded server's log to callgate's. Most of its warnings and errors are about routes and leaders,
// which come and go with replicas, so they count as information. Those about storage keep their level.
type natsLog struct {
	log   *slog.Logger
	named rate.Sometimes // warns of a duplicate name
}

// duplicateEvery is how often callgate warns that two replicas have the same name. NATS says so many times a second.
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
	// ofStorage lists words in warnings about data.
	ofStorage = []string{"corrupt", "filestore", "checksum", "metafile", "metasum", "bad stream state", "out of", "exceeded", "critical", "permission denied", "no space", "unmarshalling"}
	// ofRoutes lists words in errors about replicas that come and go.
	ofRoutes = []string{"route", "tls", "connect"}
)

// levelOf returns how important a message from NATS is to people. That NATS does not verify routes in its own way is
// unimportant: whoever connects shows a certificate that only the cluster's key makes.
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

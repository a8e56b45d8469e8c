// Package reload applies a changed configuration while callgate runs, on SIGHUP and when one of its files changes. It
// takes over the whole configuration or nothing.
package reload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"callgate/internal/config"
)

// settles is how long files must stay unchanged before they are read, because editors and git write in steps.
const settles = 300 * time.Millisecond

// Options configures a Reloader. Everything but Counts is required.
type Options struct {
	Start   State                                                                                      // what callgate was started with, read then
	Prepare func(ctx context.Context, next *config.Config, changed []Change) (apply func(), err error) // checks everything; apply makes the change
	Record  func(summary string) error                                                                 // called before anything changes; on an error nothing does
	Problem func(text ...string)                                                                       // shows people what they have to know now; without text, all is well
	Logger  *slog.Logger
	Counts  *Counts
}

// Counts holds the numbers for the metrics.
type Counts struct{ Taken, Refused, Waiting atomic.Int64 }

// Reloader takes over configurations. It is not safe for concurrent use.
type Reloader struct {
	o          Options
	start, now State             // what callgate was started with, and what was taken over last
	was        [sha256.Size]byte // the sum of the files when they were read last
}

// New returns a reloader for a callgate that runs with o.Start.
func New(o Options) *Reloader {
	if o.Counts == nil {
		o.Counts = &Counts{}
	}
	return &Reloader{o: o, start: o.Start, now: o.Start, was: o.Start.sum}
}

// filesOf returns the files that a configuration comes from, besides variables and flags.
func filesOf(c *config.Config) (list []string) {
	for _, path := range append([]string{c.File, c.Files().Lock(), c.TLS.Cert, c.TLS.Key}, c.MCPConfig...) {
		if path == "" {
			continue
		}
		if path, err := filepath.Abs(config.ExpandHome(path)); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// sumOf returns a hash of the paths and contents of a configuration's files.
func sumOf(c *config.Config) [sha256.Size]byte {
	var all []byte
	for _, path := range filesOf(c) {
		text, err := os.ReadFile(path)
		if err != nil {
			text = []byte("\x00unreadable")
		}
		one := sha256.Sum256(text)
		all = append(append(all, path...), one[:]...)
	}
	return sha256.Sum256(all)
}

// due reports whether a file holds something else than when it was read.
func (r *Reloader) due() bool { return sumOf(r.now.c) != r.was }

// Watch takes over what load returns, on SIGHUP and whenever a file has changed, until ctx ends.
func (r *Reloader) Watch(ctx context.Context, load func() (*config.Config, error)) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	var changed <-chan fsnotify.Event // nil if files cannot be watched
	var failed <-chan error
	notify, err := fsnotify.NewWatcher()
	if err == nil {
		defer notify.Close()
		changed, failed = notify.Events, notify.Errors
	} else {
		r.o.Logger.Warn("the configuration is not watched: send SIGHUP when it has changed", "error", err)
	}
	quiet := time.NewTimer(settles) // fires once at the start, for what changed since Start was read
	defer quiet.Stop()
	r.follow(notify)
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			r.take(ctx, load)
		case <-changed:
			quiet.Reset(settles)
			continue
		case err := <-failed:
			r.o.Logger.Warn("the configuration's files could not be watched for a moment", "error", err)
			quiet.Reset(settles)
			continue
		case <-quiet.C:
			if !r.due() {
				continue
			}
			r.take(ctx, load)
		}
		r.follow(notify)
	}
}

// follow watches the folders of the files, because a watch on a file is lost when the file is replaced.
func (r *Reloader) follow(notify *fsnotify.Watcher) {
	if notify == nil {
		return
	}
	for _, path := range filesOf(r.now.c) {
		if dir := filepath.Dir(path); !slices.Contains(notify.WatchList(), dir) {
			if err := notify.Add(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				r.o.Logger.Warn("a folder of the configuration is not watched: send SIGHUP when a file in it has changed", "folder", dir, "error", err)
			}
		}
	}
}

// take takes over the configuration as it is now, or shows why not.
func (r *Reloader) take(ctx context.Context, load func() (*config.Config, error)) {
	r.was = sumOf(r.now.c)
	if err := r.try(ctx, load); err != nil {
		r.o.Counts.Refused.Add(1)
		r.o.Problem(fmt.Sprintf("the changed configuration is refused, and the earlier one stays in force until you fix it: %v", err))
		return
	}
	r.o.Counts.Taken.Add(1)
}

func (r *Reloader) try(ctx context.Context, load func() (*config.Config, error)) error {
	if text, err := os.ReadFile(r.now.c.File); r.now.c.File != "" && err == nil && len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s is empty: write it, or restart callgate to have every default", r.now.c.File)
	}
	c, err := load()
	if err != nil {
		return err
	}
	if c.File != r.now.c.File {
		return fmt.Errorf("%s is gone: put it back, or restart callgate", r.now.c.File)
	}
	next, err := StateOf(c)
	if err != nil {
		return err
	}
	changed := between(r.now, next)
	apply, err := r.o.Prepare(ctx, c, changed)
	if err != nil {
		return err
	}
	summary := Summary(changed)
	if err := r.o.Record(summary); err != nil {
		return fmt.Errorf("it could not be recorded: %w", err)
	}
	apply()
	if is := sumOf(c); !r.due() { // else a file has changed since, and is read again
		r.was = is
	}
	r.now = next
	r.o.Logger.Info("the configuration was read again", "changes", summary)
	var waiting []string
	for _, c := range between(r.start, next) {
		if c.Restart {
			waiting = append(waiting, c.Key)
		}
	}
	r.o.Counts.Waiting.Store(int64(len(waiting)))
	if len(waiting) == 0 {
		r.o.Problem()
		return nil
	}
	r.o.Problem("the configuration has changed, and these settings take effect when callgate is restarted: " + strings.Join(waiting, ", "))
	return nil
}

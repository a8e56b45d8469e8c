package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
	"callgate/internal/periodic"
)

// Logins keeps the files with logins the same at all replicas. Each file is a document, login.{name}. A replica's
// changes go to the others; a replica without changes takes theirs. It implements signin.Shared.
type Logins struct {
	c   *Cluster
	dir string

	mu   sync.Mutex
	last map[string]string // by name: the last text that the file and the cluster both had
}

const (
	loginPrefix = "login."
	maxLogin    = 1 << 20
	waitLogin   = 10 * time.Second // for another process on this machine that uses the file
)

// ShareLogins shares the logins in a folder until the cluster is closed. It calls trouble every round, with the error
// or nil.
func (c *Cluster) ShareLogins(dir string, trouble func(error)) *Logins {
	l := &Logins{c: c, dir: dir, last: map[string]string{}}
	c.owned.Go(func() {
		for on := true; on; on = periodic.Sleep(c.ctx, c.o.beat()) {
			if c.Fresh() == nil {
				trouble(l.round())
			}
		}
	})
	return l
}

// Lock waits until no other replica renews the login in the file, and puts the cluster's version into the file. The
// caller MUST hold the file's own lock, MUST NOT request a token after the deadline, and MUST then call done, which
// gives the others what the file holds.
func (l *Logins) Lock(ctx context.Context, file string) (until time.Time, done func(), err error) {
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	if filepath.Dir(file) != l.dir {
		return until, nil, fmt.Errorf("%s is in no folder that replicas share", file)
	}
	until, unlock, err := l.c.locks.hold(ctx, loginPrefix+name)
	if err != nil {
		return until, nil, err
	}
	if err := l.agree(ctx, name); err != nil {
		unlock()
		return until, nil, err
	}
	return until, func() {
		if l.agree(l.c.ctx, name) == nil {
			unlock()
			return
		}
		go func() { // the others wait for the result; it ends with the cluster
			for l.agree(l.c.ctx, name) != nil && l.c.ctx.Err() == nil {
				time.Sleep(lookAgain)
			}
			unlock()
		}()
	}, nil
}

// round brings all logins in line.
func (l *Logins) round() error {
	files, err := filepath.Glob(filepath.Join(l.dir, "*.json"))
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); !strings.Contains(name, ".") {
			names[name] = true
		}
	}
	for key := range l.c.bucket.valuesUnder(loginPrefix) {
		names[strings.TrimPrefix(key, loginPrefix)] = true
	}
	l.mu.Lock()
	for name := range l.last {
		names[name] = true
	}
	l.mu.Unlock()
	var failed error
	for name := range names {
		failed = errors.Join(failed, l.look(name))
	}
	return failed
}

// look agrees on a login if something has changed.
func (l *Logins) look(name string) error {
	ours, err := l.read(name)
	if err != nil {
		return err
	}
	theirs, err := l.c.Document(loginPrefix + name).Now()
	if err != nil {
		return err
	}
	l.mu.Lock()
	last, known := l.last[name]
	l.mu.Unlock()
	if known && ours == last && string(theirs.Text) == last {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.c.ctx, waitLogin)
	defer cancel()
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(ctx, l.file(name)+".lock")
	if err != nil {
		return err
	}
	return errors.Join(l.agree(ctx, name), unlock())
}

// agree brings the file and the cluster in line. The caller holds the file's lock.
func (l *Logins) agree(ctx context.Context, name string) error {
	document := l.c.Document(loginPrefix + name)
	for {
		theirs, err := document.Read(ctx)
		if err != nil {
			return err
		}
		ours, err := l.read(name)
		if err != nil {
			return err
		}
		l.mu.Lock()
		last, known := l.last[name]
		l.mu.Unlock()
		agreed := string(theirs.Text)
		if ours != agreed && (known && ours != last || theirs.Revision == 0) {
			if _, err := document.Replace(ctx, theirs.Revision, []byte(ours), "replica "+l.c.o.Name); errors.Is(err, ErrChanged) {
				continue
			} else if err != nil {
				return err
			}
			agreed = ours
		}
		if err := l.write(name, ours, agreed); err != nil {
			return err
		}
		l.mu.Lock()
		l.last[name] = agreed
		l.mu.Unlock()
		return nil
	}
}

func (l *Logins) file(name string) string { return filepath.Join(l.dir, name+".json") }

// read returns the content of the file, or "" if there is none.
func (l *Logins) read(name string) (string, error) {
	text, err := durable.ReadFile(l.file(name), maxLogin)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

func (l *Logins) write(name, before, text string) error {
	switch {
	case before == text:
		return nil
	case text != "":
		return durable.Replace(l.file(name), []byte(text), 0o600)
	}
	if err := os.Remove(l.file(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

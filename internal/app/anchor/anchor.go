// Package anchor keeps heads of the audit trail where the owner of the data directory cannot rewrite them.
package anchor

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/audit"
	"callgate/internal/config"
	"callgate/internal/lazyregexp"
)

// Anchor keeps heads of the audit trail where the data directory's owner cannot rewrite them: in the system log, or in
// a file, which may be a named pipe. It never blocks the trail. If the place is slow, it skips heads, because the
// newest head vouches for all earlier ones.
type Anchor struct {
	dir   string // the trail's directory, so that heads of several trails can be told apart
	out   io.WriteCloser
	log   *slog.Logger
	heads chan audit.Head // holds the newest head that is not written yet
	done  sync.WaitGroup
}

// Open opens the place that the configuration names: "syslog" or the path of a file. It returns nil for "".
func Open(place, dir string, log *slog.Logger) (*Anchor, error) {
	a := &Anchor{dir: dir, log: log, heads: make(chan audit.Head, 1)}
	var err error
	switch place {
	case "":
		return nil, nil
	case "syslog":
		a.out, err = openSyslog()
	default:
		a.out, err = os.OpenFile(config.ExpandHome(place), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("auditAnchor: %w", err)
	}
	a.done.Go(func() {
		for head := range a.heads {
			line := fmt.Sprintf("callgate audit head of %q at %s: %s\n", a.dir, time.Now().UTC().Format(time.RFC3339), head)
			if _, err := io.WriteString(a.out, line); err != nil {
				a.log.Error("a head of the audit trail could not be anchored", "place", place, "error", err)
			}
		}
	})
	return a, nil
}

// Keep queues a head, in place of an older one. Only one log may call it, from one goroutine at a time.
func (a *Anchor) Keep(head audit.Head) {
	for {
		select {
		case a.heads <- head:
			return
		default:
		}
		select {
		case <-a.heads: // an older one
		default:
		}
	}
}

// Close writes the queued head and closes the place. No log may use the anchor after that.
func (a *Anchor) Close() error {
	close(a.heads)
	a.done.Wait()
	return a.out.Close()
}

var anchoredHead = lazyregexp.New(`callgate audit head of ("(?:[^"\\]|\\.)*") at \S+: (\S+:\d+:[0-9a-f]{64})`)

// Read returns the heads of dir's trail that it finds in a file: one in which heads were anchored, or a copy of the
// system log. The path "-" stands for stdin. It fails if there are none.
func Read(path, dir string, stdin io.Reader) (heads []audit.Head, err error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := anchoredHead.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if of, err := strconv.Unquote(m[1]); err != nil || filepath.Clean(of) != dir {
			continue
		}
		head, err := audit.ParseHead(m[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		heads = append(heads, head)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(heads) == 0 {
		return nil, fmt.Errorf("%s has no head of %s; lines look like %s", path, dir, strings.TrimSpace(fmt.Sprintf("callgate audit head of %q at TIME: FILE:SEQ:HASH", dir)))
	}
	return heads, nil
}

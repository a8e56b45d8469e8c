package siem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"callgate/audit"
	"callgate/internal/durable"
	"callgate/internal/periodic"
)

// Limits of a batch, in records and bytes. Nothing else of the trail is in memory.
const (
	maxRecords = 500
	maxBytes   = 1 << 20
)

// How often to look for new records, how long to wait after failures, after what time a syslog record counts as arrived
// if the connection is still alive, and how long the receiver's machine may be silent before it is not (Linux).
const (
	lookEvery  = 250 * time.Millisecond
	firstPause = time.Second
	longPause  = time.Minute
	arrives    = 10 * time.Second
	silent     = 8 * time.Second
)

// Export sends the records of all logs in a folder to one receiver, each at least once, in the order of each log. A
// file stores how far it got. If several processes use the same file, one of them sends. Export never delays the
// writers of the logs.
//
// Syslog has no receipts. Records in transit are lost if the receiver loses them or, except on Linux, if the network
// drops them for longer than arrives and breaks the connection only afterwards.
type Export struct {
	Config
	Dir     string               // folder of the trail
	State   string               // file with the positions
	Trouble func(text ...string) // called after each attempt: with why it makes no progress, or with nothing
	Logger  *slog.Logger

	Sent   atomic.Int64 // records since the start
	Behind atomic.Int64 // bytes of logs that the receiver does not have yet

	sent, kept map[string]int64 // by log: how far it was sent, and how far it certainly arrived
	marks      []mark
	gathered   map[string]*gathering // by log: the batch that is not full yet
}

// gathering is a batch that waits for more records.
type gathering struct {
	due     time.Time // when it is sent, full or not
	records int       // counted so far
	end     int64     // end of the last of them
}

// mark is how far every log had been sent at some moment.
type mark struct {
	begun, at time.Time // when the first and the last batch that it covers were sent
	sent      map[string]int64
}

// Run sends until ctx ends. It waits while another process sends.
func (e *Export) Run(ctx context.Context) {
	for wait := time.Duration(0); ; wait = lookEvery * 4 {
		if !periodic.Sleep(ctx, wait) {
			return
		}
		unlock, err := e.lock()
		switch {
		case errors.Is(err, durable.ErrHeld): // another process sends
			e.Trouble()
			continue
		case err != nil:
			e.Trouble(fmt.Sprintf("the audit trail is not sent to %s: %v", e.Name, err))
			continue
		}
		e.run(ctx)
		if err := unlock(); err != nil {
			e.Logger.Warn("cannot release the lock of an export", "export", e.Name, "error", err)
		}
		return
	}
}

func (e *Export) lock() (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(e.State), 0o700); err != nil {
		return nil, err
	}
	return durable.TryLock(e.State + ".lock")
}

// run sends until ctx ends. After a failure it restarts after the last record that certainly arrived.
func (e *Export) run(ctx context.Context) {
	var to receiver // nil at first and after a failure
	pause := firstPause
	for ctx.Err() == nil {
		err := e.attempt(ctx, &to)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			pause = firstPause
			periodic.Sleep(ctx, lookEvery)
			continue
		}
		e.Trouble(fmt.Sprintf("the audit trail is not sent to %s (callgate keeps trying, and nothing is lost): %v", e.Name, err))
		if to != nil {
			to.close()
			to = nil
		}
		wait := pause
		if later, ok := errors.AsType[*laterError](err); ok {
			wait = min(max(wait, later.after), 10*longPause)
		}
		pause = min(2*pause, longPause)
		periodic.Sleep(ctx, wait)
	}
	if to != nil {
		to.close()
	}
}

// attempt runs one step. It opens the receiver first if *to is nil.
func (e *Export) attempt(ctx context.Context, to *receiver) error {
	if *to == nil {
		opened, err := e.receiver()
		if err != nil {
			return err
		}
		if err := e.load(); err != nil {
			opened.close()
			return err
		}
		*to = opened
	}
	return e.step(ctx, *to)
}

// readState reads how far an export got with each log.
func readState(file string) (map[string]int64, error) {
	kept := map[string]int64{}
	if err := durable.LoadJSON(file, maxFile, &kept); err != nil {
		return nil, fmt.Errorf("%s, which says how far the trail was sent, cannot be read: remove it to send all again: %w", file, err)
	}
	return kept, nil
}

// Reached returns a function that tells up to which byte of a log all exports with these State files have sent it.
// Without State files, that is everything.
func Reached(states []string) (func(log string) int64, error) {
	var all []map[string]int64
	for _, file := range states {
		kept, err := readState(file)
		if err != nil {
			return nil, err
		}
		all = append(all, kept)
	}
	return func(log string) int64 {
		reached := int64(math.MaxInt64)
		for _, kept := range all {
			reached = min(reached, kept[log])
		}
		return reached
	}, nil
}

// load reads how far the export got.
func (e *Export) load() error {
	kept, err := readState(e.State)
	if err != nil {
		return err
	}
	e.kept, e.sent, e.marks, e.gathered = kept, maps.Clone(kept), nil, map[string]*gathering{}
	return nil
}

// step sends new records and stores what arrived.
func (e *Export) step(ctx context.Context, to receiver) error {
	logs, err := audit.Logs(e.Dir)
	if err != nil {
		return err
	}
	var damaged error
	for _, log := range logs {
		for more := true; more; {
			var broken error
			if more, broken, err = e.batch(ctx, to, log); err != nil {
				return err
			}
			damaged = cmp.Or(damaged, broken)
		}
	}
	if err := to.lost(); err != nil {
		return err
	}
	for len(e.marks) > 0 && time.Since(e.marks[0].at) >= arrives {
		if err := e.keep(e.marks[0].sent); err != nil {
			return err
		}
		e.marks = e.marks[1:]
	}
	e.measure(logs)
	var trouble []string
	if damaged != nil { // the other logs were sent all the same
		trouble = append(trouble, fmt.Sprintf("a log of the audit trail is damaged, and is sent to %s only up to the damage: %v; run callgate audit verify", e.Name, damaged))
	}
	e.Trouble(trouble...)
	return nil
}

// batch sends the next records of a log. more reports whether there may be others. broken is set if the next line is
// not a record.
func (e *Export) batch(ctx context.Context, to receiver, log string) (more bool, broken, err error) {
	if info, err := os.Stat(filepath.Join(e.Dir, log)); err == nil {
		if news := info.Size() - e.sent[log]; news <= 0 || news < maxBytes && e.gathers(log, info.Size()) {
			return false, nil, nil
		}
	}
	var lines []audit.Line
	size := 0
	for line, bad := range audit.Lines(e.Dir, log, e.sent[log]) {
		if bad != nil {
			broken = bad
			break
		}
		lines = append(lines, line)
		if size += len(line.Text); len(lines) == maxRecords || size >= maxBytes {
			more = true
			break
		}
	}
	if len(lines) == 0 {
		return false, broken, nil
	}
	if !more && e.waits(log, lines, to.patience()) {
		return false, broken, nil
	}
	sure, err := to.send(ctx, lines)
	if err != nil {
		return false, nil, err
	}
	delete(e.gathered, log)
	e.sent[log] = lines[len(lines)-1].End
	e.Sent.Add(int64(len(lines)))
	if sure {
		return more, broken, e.keep(maps.Clone(e.sent))
	}
	now := time.Now()
	if n := len(e.marks); n > 0 && now.Sub(e.marks[n-1].begun) < arrives/5 {
		e.marks[n-1].at, e.marks[n-1].sent = now, maps.Clone(e.sent)
	} else {
		e.marks = append(e.marks, mark{now, now, maps.Clone(e.sent)})
	}
	return more, broken, nil
}

// waits reports whether the records of a log wait for others. They wait at most patience, even if the clock was set
// back after the oldest was written.
func (e *Export) waits(log string, lines []audit.Line, patience time.Duration) bool {
	now := time.Now()
	g := e.gathered[log]
	if g == nil {
		g = &gathering{due: now.Add(min(lines[0].Time.Add(patience).Sub(now), patience))}
		e.gathered[log] = g
	}
	g.records, g.end = len(lines), lines[len(lines)-1].End
	return now.Before(g.due)
}

// gathers reports whether a log of that size continues to wait. It counts each record once.
func (e *Export) gathers(log string, size int64) bool {
	g := e.gathered[log]
	if g == nil || !time.Now().Before(g.due) {
		return false
	}
	if size <= g.end {
		return true
	}
	for line, err := range audit.Lines(e.Dir, log, g.end) {
		if err != nil {
			break
		}
		g.end = line.End
		if g.records++; g.records == maxRecords {
			return false
		}
	}
	return true
}

// keep stores that everything up to sent has arrived.
func (e *Export) keep(sent map[string]int64) error {
	if err := durable.SaveJSON(e.State, sent); err != nil {
		return fmt.Errorf("cannot save how far the trail was sent: %w", err)
	}
	e.kept = sent
	return nil
}

// measure updates Behind and forgets logs that no longer exist.
func (e *Export) measure(logs []string) {
	behind := int64(0)
	for _, log := range logs {
		if info, err := os.Stat(filepath.Join(e.Dir, log)); err == nil {
			behind += max(0, info.Size()-e.kept[log])
		}
	}
	maps.DeleteFunc(e.sent, func(log string, _ int64) bool { return !slices.Contains(logs, log) })
	maps.DeleteFunc(e.gathered, func(log string, _ *gathering) bool { return !slices.Contains(logs, log) })
	e.Behind.Store(behind)
}

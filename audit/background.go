package audit

import (
	"errors"
	"os"
	"time"
)

var pid = os.Getpid()

// run syncs appended records and has the manifest vouch for them, until Close. It does not wake up while the log is
// idle.
func (l *Log) run() {
	defer close(l.done)
	var syncs, anchors <-chan time.Time
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
			if syncs == nil {
				syncs = time.After(l.options.SyncEvery)
			}
			if anchors == nil {
				anchors = time.After(l.options.AnchorEvery)
			}
		case <-syncs:
			syncs = nil
			l.sync()
		case <-anchors:
			anchors = nil
			if !l.vouch() {
				anchors = time.After(l.options.AnchorEvery)
			}
		}
	}
}

// sync makes the written records durable and returns how far they go. A failed sync breaks the log: nobody knows then
// what the disk holds, and another sync would wrongly succeed.
func (l *Log) sync() (synced entry, ok bool) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return entry{}, false
	}
	synced, segment := l.entry(entryHead), l.segment
	l.dirty = false
	err := segment.check()
	l.mu.Unlock()

	// Appends continue meanwhile, because a disk can take its time.
	if err == nil {
		err = segment.file.Sync()
	}
	if err == nil {
		return synced, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if segment == l.segment { // otherwise rotate has synced and closed it
		_ = l.fail(err) // sticky: the next Append returns it
	}
	return entry{}, false
}

// vouch records in the manifest how far the log has got, so that a later cut is noticed even if the process never
// closes the log. It returns true if that is done or needs no retry.
func (l *Log) vouch() bool {
	head, ok := l.sync()
	l.mu.Lock()
	known := l.vouched
	l.mu.Unlock()
	if !ok || head.Records == known {
		return true
	}
	entries, err := l.manifest.update(func() ([]entry, error) { return []entry{head}, nil })
	if errors.Is(err, errLocked) || noSpace(err) && !errors.Is(err, errManifest) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		_ = l.fail(err) // sticky: the next Append returns it
		return true
	}
	l.vouched = max(l.vouched, head.Records)
	l.anchor(entries)
	return true
}

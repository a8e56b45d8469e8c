package audit

import (
	"errors"
	"fmt"
	"time"
)

// A disk that is full makes every Append fail, and so every call. When there is room again the log goes on by itself:
// where the end of its file is known, in that file, else in a new one, after it has sealed the old one as it is. The
// trail says how long nothing could be written.

// gap is a time in which nothing could be written for want of room.
type gap struct {
	since   time.Time
	why     error
	refused int // records
}

// suffer notes an error of a write and tells of the first. The caller MUST hold l.mu.
func (l *Log) suffer(err error) {
	if !noSpace(err) {
		return
	}
	if l.gap == nil {
		l.gap = &gap{since: time.Now().UTC(), why: err}
		if l.options.Trouble != nil {
			l.options.Trouble(err)
		}
	}
	l.gap.refused++
}

// resume makes a log that broke for want of room write again, and puts on record that it could not. An error says that
// it still cannot. The caller MUST hold l.mu.
func (l *Log) resume() error {
	if l.err != nil {
		if !noSpace(l.err) {
			return l.err
		}
		if err := l.replace(); err != nil {
			return errors.Join(l.err, err)
		}
	}
	if l.gap == nil {
		return nil
	}
	lost := Record{Event: Control, By: "callgate", Summary: fmt.Sprintf("The audit log could not be written from %s on: %v. %d records were refused, and what they were about did not happen.", l.gap.since.Format(time.RFC3339), l.gap.why, l.gap.refused)}
	lost.redact(l.options.MaxString, l.options.MaxRecord/2)
	if _, err := l.write(lost, lost); err != nil {
		return err
	}
	l.gap = nil
	if l.options.Trouble != nil {
		l.options.Trouble(nil)
	}
	return nil
}

// replace goes on in a new file in place of one whose end is not known. The caller MUST hold l.mu.
func (l *Log) replace() error {
	old, seq, head := l.segment, l.seq, l.head
	err := l.begin(func() ([]entry, error) {
		seal, err := sealAsFound(old.path)
		if err != nil {
			return nil, err
		}
		if seal == nil { // it holds no record, and its head is that of its open entry
			seal = &entry{Kind: entrySeal, File: old.name(), Records: l.vouched, Head: l.opened}
		}
		l.seq, l.head = seal.Records, seal.Head
		return []entry{*seal}, nil
	})
	if err != nil {
		l.seq, l.head = seq, head
		return err
	}
	l.err, l.dirty = nil, false
	return errors.Join(old.file.Close(), old.unlock())
}

package audit

import (
	"errors"
	"fmt"
	"time"
)

// A full disk makes every Append fail, and so every call. Once there is room again, the log resumes by itself: in the
// same file if its end is known, or else in a new file after sealing the old one as it is. A record says how long
// nothing could be written.
//
// A manifest with a damaged end stops nothing either: it continues after the damage, and a record says so.

// gap is a period in which nothing could be written for lack of room.
type gap struct {
	since   time.Time
	why     error
	refused int // records
}

// noteRefusal counts the records refused for lack of room, and reports the first error. The caller MUST hold l.mu.
func (l *Log) noteRefusal(err error) {
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

// resume makes a log that failed for lack of room write again, and records that gap. It also records damage of the
// manifest. It returns an error if the log still cannot write. The caller MUST hold l.mu.
func (l *Log) resume() error {
	if l.err != nil {
		if !noSpace(l.err) {
			return l.err
		}
		if err := l.replace(); err != nil {
			return errors.Join(l.err, err)
		}
	}
	if lines := l.manifest.damaged.Load(); lines > 0 {
		if err := l.note(fmt.Sprintf("The manifest of the audit logs ends with %d damaged lines. They stay as evidence, and it goes on after them.", lines)); err != nil {
			return err
		}
		l.manifest.damaged.Add(-lines)
	}
	if l.gap == nil {
		return nil
	}
	if err := l.note(fmt.Sprintf("The audit log could not be written from %s on: %v. %d records were refused, and what they were about did not happen.", l.gap.since.Format(time.RFC3339), l.gap.why, l.gap.refused)); err != nil {
		return err
	}
	l.gap = nil
	if l.options.Trouble != nil {
		l.options.Trouble(nil)
	}
	return nil
}

// note records an event of the log itself. The caller MUST hold l.mu.
func (l *Log) note(text string) error {
	r := Record{Event: Control, By: "callgate", Summary: text}
	r.redact(l.options.MaxString, l.options.MaxRecord/2)
	_, err := l.write(r, r)
	return err
}

// replace continues in a new file because the end of the old one is unknown. The caller MUST hold l.mu.
func (l *Log) replace() error {
	old, seq, head := l.segment, l.seq, l.head
	err := l.openSegment(func() ([]entry, error) {
		seal, err := sealAsFound(old.path)
		if err != nil {
			return nil, err
		}
		if seal == nil { // no record at its end: continue from the open entry
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

package audit

import (
	"errors"
	"fmt"
	"time"
)

// A disk that is full makes every Append fail, and so every call. When there is room again the log goes on by itself:
// where the end of its file is known, in that file, else in a new one, after it has sealed the old one as it is. The
// trail says how long nothing could be written.
//
// A manifest whose end is damaged stops nothing either: it goes on behind the damage, and the trail says so.

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

// resume makes a log that broke for want of room write again, and puts on record that it could not, or that the manifest
// is damaged. An error says that it still cannot. The caller MUST hold l.mu.
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

// note puts on record what became of the log itself. The caller MUST hold l.mu.
func (l *Log) note(text string) error {
	r := Record{Event: Control, By: "callgate", Summary: text}
	r.redact(l.options.MaxString, l.options.MaxRecord/2)
	_, err := l.write(r, r)
	return err
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

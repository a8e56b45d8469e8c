package audit

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/jsonx"
	"callgate/internal/textscan"
)

// Filter selects records. A zero field selects all.
type Filter struct {
	SessionID string
	CallID    string
	Decision  string
	Worker    string
	Calls     []string  // call IDs, one of which must match
	Tool      string    // the qualified name, or a glob with * ? [..] over it
	Text      string    // what Record.Holds must find, in any case
	Since     time.Time // records from this moment on
	Limit     int       // the maximum number of records
}

// checked returns the filter as match takes it, or what is wrong with it.
func (f Filter) checked() (Filter, error) {
	if _, err := path.Match(f.Tool, ""); err != nil {
		return f, fmt.Errorf("audit: tool filter %q: %w", f.Tool, err)
	}
	if f.Limit < 0 {
		return f, fmt.Errorf("audit: negative limit %d", f.Limit)
	}
	f.Text = strings.ToLower(f.Text)
	return f, nil
}

// match reports whether f, which is checked, selects r.
func (f Filter) match(r *Record) bool {
	if f.Worker != "" && f.Worker != r.Worker || f.SessionID != "" && f.SessionID != r.SessionID ||
		f.CallID != "" && f.CallID != r.CallID ||
		f.Decision != "" && f.Decision != r.Decision ||
		r.Time.Before(f.Since) ||
		len(f.Calls) > 0 && !slices.Contains(f.Calls, r.CallID) ||
		f.Text != "" && !r.Holds(f.Text) {
		return false
	}
	if f.Tool == "" || f.Tool == r.Tool {
		return true
	}
	matched, err := path.Match(f.Tool, r.Tool)
	return matched && err == nil
}

// Read yields the records of all logs in dir that f selects, newest first. It reads files from their end, so a small
// limit costs little however long the logs are. It does not check the chain; Verify does.
//
// A line that is not a record yields an error with a zero Record, and reading continues with the lines before it. A
// file that cannot be read yields an error too, and reading continues with the other files. Read leaves out a line that
// is still being written. A dir that does not exist holds no records.
func Read(dir string, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := f.checked()
		if err != nil {
			yield(Record{}, err)
			return
		}
		ends, err := logEnds(dir)
		if err != nil {
			yield(Record{}, fmt.Errorf("audit: %w", err))
			return
		}
		readUpTo(dir, ends, f, yield)
	}
}

// logEnd is the length of a log at some moment.
type logEnd struct {
	name string
	size int64
}

// logEnds returns the logs in dir, oldest first.
func logEnds(dir string) ([]logEnd, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ends []logEnd
	for _, name := range names {
		if !isLogName(name.Name()) {
			continue
		}
		info, err := name.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ends = append(ends, logEnd{name.Name(), info.Size()})
	}
	return ends, nil
}

// readUpTo yields what Read promises, for the given part of each log. f is checked. It merges the logs by time; each is
// ordered in itself.
func readUpTo(dir string, ends []logEnd, f Filter, yield func(Record, error) bool) {
	var logs newestFirst
	sought := f.sought()
	lacks := f.cannotMatch()
	for _, end := range ends {
		path := filepath.Join(dir, end.name)
		c := &cursor{name: end.name, lines: newBackward(pathReader(path), end.size), index: openIndex(path, end.size, sought)}
		more, proceed := c.next(f.Since, lacks, yield)
		if !proceed {
			return
		}
		if more {
			logs = append(logs, c)
		}
	}
	heap.Init(&logs)
	for found := 0; len(logs) > 0; {
		c := logs[0]
		if r := c.record; f.match(&r) {
			if !yield(r, nil) {
				return
			}
			if found++; found == f.Limit {
				return
			}
		}
		more, proceed := c.next(f.Since, lacks, yield)
		switch {
		case !proceed:
			return
		case more:
			heap.Fix(&logs, 0)
		default:
			heap.Pop(&logs)
		}
	}
}

// cursor points to one record of a log and moves towards the log's beginning.
type cursor struct {
	name   string
	lines  *backward
	index  *indexReader
	record Record
}

// next moves to the previous record, if that is not older than since. If the line cannot match the filter, it reads
// only the time. It yields an error for a line that is not a record. proceed is false once the consumer has enough.
func (c *cursor) next(since time.Time, lacks func(line []byte) bool, yield func(Record, error) bool) (more, proceed bool) {
	for {
		err := c.index.passOver(c.lines)
		var line []byte
		if err == nil {
			line, err = c.lines.line()
		}
		if errors.Is(err, io.EOF) {
			return false, true
		}
		if err != nil {
			return false, yield(Record{}, fmt.Errorf("audit: %s: %w", c.name, err))
		}
		if at, ok := skippable(line, lacks); ok {
			c.record = Record{Time: at}
			return !at.Before(since), true
		}
		c.record, err = decode(line)
		if err == nil {
			return !c.record.Time.Before(since), true
		}
		if !yield(Record{}, fmt.Errorf("audit: %s: byte %d: %w", c.name, c.lines.end(), err)) {
			return false, false
		}
	}
}

// globChars are the characters that make a tool's name a glob.
const globChars = `*?[\`

// requiredText returns strings that the line of every selected record contains, as the log spells them.
func (f Filter) requiredText() (list []string) {
	add := func(name, value string) {
		if value != "" {
			list = append(list, string(appendMember(nil, name, value)))
		}
	}
	add(`"sessionId":`, f.SessionID)
	add(`"callId":`, f.CallID)
	add(`"worker":`, f.Worker)
	add(`"decision":`, f.Decision)
	if !strings.ContainsAny(f.Tool, globChars) {
		add(`"tool":`, f.Tool)
	}
	return list
}

// cannotMatch returns a function that reports whether a line surely holds no record that f selects. f is checked.
func (f Filter) cannotMatch() func(line []byte) bool {
	spelled, text := f.requiredText(), f.Text
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\"\\<>&", r) }) {
		text = "" // a line can spell it differently
	}
	var lower []byte
	return func(line []byte) bool {
		whole := textscan.String(line)
		if slices.ContainsFunc(spelled, func(s string) bool { return !strings.Contains(whole, s) }) {
			return true
		}
		if text == "" {
			return false
		}
		lower = lower[:0]
		for _, c := range line {
			switch {
			case c >= utf8.RuneSelf:
				return false // some letters have ASCII lower cases
			case c >= 'A' && c <= 'Z':
				c += 'a' - 'A'
			}
			lower = append(lower, c)
		}
		return !strings.Contains(textscan.String(lower), text)
	}
}

// skippable reports whether a line of JSON cannot match, and returns its time. That takes a tenth of the time of
// decoding the record.
func skippable(line []byte, lacks func(line []byte) bool) (at time.Time, ok bool) {
	if !lacks(line) {
		return at, false
	}
	text := textscan.String(line)
	const first, second = `{"seq":`, `,"time":"`
	seq, rest, ok := strings.Cut(text[:min(len(text), 80)], second)
	moment, _, whole := strings.Cut(rest, `"`)
	if !ok || !whole || !strings.HasPrefix(seq, first) || !jsonx.Valid(line) {
		return at, false
	}
	at, err := time.Parse(time.RFC3339Nano, moment)
	return at, err == nil
}

// newestFirst is a heap of cursors. Of records with the same time, that of the later file comes first.
type newestFirst []*cursor

func (h newestFirst) Len() int      { return len(h) }
func (h newestFirst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h newestFirst) Less(i, j int) bool {
	if order := h[i].record.Time.Compare(h[j].record.Time); order != 0 {
		return order > 0
	}
	return h[i].name > h[j].name
}
func (h *newestFirst) Push(x any) { *h = append(*h, x.(*cursor)) }
func (h *newestFirst) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

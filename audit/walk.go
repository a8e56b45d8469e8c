package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// chain checks the lines of one file, a log or the manifest, from first to last. seq and hash are those of the last
// good line, initially those that the first line must follow.
type chain struct {
	file  string
	seq   uint64
	hash  string
	marks []mark
	end   *entry // set if the log was closed or sealed: nothing follows its last record
	// resumes is true for the manifest: entries may follow a damaged line. The first of them names its digest.
	resumes bool

	line   int    // lines read
	torn   int    // bytes after the last newline, if they may be the beginning of a line
	broken *Break // the first
}

// mark is the hash that source knows for the line seq.
type mark struct {
	seq    uint64
	hash   string
	source string
}

// link is the place that a line claims.
type link struct {
	seq  uint64
	prev string
}

// breaks stores the first break, at the current line.
func (c *chain) breaks(why Why, format string, args ...any) {
	if c.broken == nil {
		c.broken = &Break{File: c.file, Line: c.line, Seq: c.seq + 1, Why: why, Detail: fmt.Sprintf(format, args...)}
	}
}

// walk checks each line. After a break it stops or, if the chain resumes, calls parse for all other lines.
func (c *chain) walk(r io.Reader, parse func(line []byte) (link, error)) error {
	c.compare()
	lines := bufio.NewReaderSize(r, lastBlock)
	for c.broken == nil || c.resumes {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		c.line++
		if errors.Is(err, errLong) {
			c.breaks(WhyHash, "%v: no record is as long", err)
			return nil
		}
		if err != nil {
			return err
		}
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			c.tail(line)
			return nil
		}
		c.step(line, parse)
	}
	return nil
}

// step checks one whole line.
func (c *chain) step(line []byte, parse func(line []byte) (link, error)) {
	hash, ok := checkSealed(line)
	if !ok {
		c.breaks(WhyHash, "the line was changed: its hash does not match")
		if c.resumes {
			c.seq, c.hash = c.seq+1, digest(line)
		}
		return
	}
	at, err := parse(line)
	switch {
	case err != nil:
		c.breaks(WhyHash, "%v", err)
	case c.end != nil && c.seq == c.end.Records:
		c.breaks(WhyChain, "the log was complete with the line before: this one was added")
	case at.seq != c.seq+1:
		c.breaks(WhyChain, "this is record %d: lines were removed, moved or put in", at.seq)
	case at.prev != c.hash:
		c.breaks(WhyChain, "it follows another line than the one before it")
	default:
		c.seq, c.hash = at.seq, hash
		c.compare()
	}
}

// compare checks the last good line against the marks.
func (c *chain) compare() {
	for _, m := range c.marks {
		if m.seq == c.seq && m.hash != c.hash && c.broken == nil {
			c.breaks(WhyManifest, "%s knows this line by another hash: the file was written anew", m.source)
			c.broken.Seq = c.seq
		}
	}
}

// tail checks the bytes after the last newline.
func (c *chain) tail(line []byte) {
	switch {
	case c.end != nil && c.end.Kind == entryClose:
		c.breaks(WhyHash, "the log was closed, and this line is not whole")
	case isTorn(line, c.seq+1):
		c.torn = len(line)
	default:
		c.breaks(WhyHash, "the last line is not whole and no beginning of one either")
	}
}

// isTorn reports whether these bytes may come from a process that was killed while it wrote line seq: the beginning of
// the line, or all of it except the newline.
func isTorn(line []byte, seq uint64) bool {
	begin := fmt.Sprintf(`{"seq":%d,"time":"`, seq)
	n := min(len(begin), len(line))
	_, whole := checkSealed(line)
	return whole || begin[:n] == string(line[:n]) && isUnfinished(line)
}

// isUnfinished reports whether line is an unfinished JSON value, valid so far.
func isUnfinished(line []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err := d.ReadValue()
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// finish reports marks beyond the end of the file as a break.
func (c *chain) finish() {
	var missed []string
	for _, m := range c.marks {
		if m.seq > c.seq {
			missed = append(missed, fmt.Sprintf("%s knows number %d", m.source, m.seq))
		}
	}
	if missed != nil {
		c.line++
		c.breaks(WhyTruncated, "the file ends after number %d, but %s", c.seq, strings.Join(missed, ", "))
	}
}

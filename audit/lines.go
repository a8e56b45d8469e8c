package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"callgate/internal/durable"
)

// Line is one record as its log spells it, for programs that copy logs elsewhere.
type Line struct {
	Record
	Text []byte // the whole line, without its newline
	End  int64  // where the next line begins in the file
}

// ParseLine reads a line and checks its own hash. To check its place, compare Prev with the hash of the previous line.
func ParseLine(text []byte) (Line, error) {
	r, err := decode(text)
	if err != nil {
		return Line{}, err
	}
	if hash, ok := checkSealed(text); !ok || hash != r.Hash {
		return Line{}, errors.New("the line was changed: its hash does not match")
	}
	return Line{Record: r, Text: text}, nil
}

// Logs returns the names of the logs in a folder, oldest first.
func Logs(dir string) ([]string, error) {
	ends, err := logEnds(dir)
	names := make([]string, len(ends))
	for i, end := range ends {
		names[i] = end.name
	}
	return names, err
}

// Lines yields the whole lines that a log has now, from an offset that is 0 or the End of a line. It stops after the
// first error.
func Lines(dir, log string, from int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if !isLogName(log) {
			yield(Line{}, fmt.Errorf("audit: %q is no log", log))
			return
		}
		file, err := durable.Open(filepath.Join(dir, log))
		if err != nil {
			yield(Line{}, fmt.Errorf("audit: %w", err))
			return
		}
		defer file.Close()
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			yield(Line{}, fmt.Errorf("audit: %s: %w", log, err))
			return
		}
		lines := bufio.NewReaderSize(file, lastBlock)
		for at := from; ; {
			text, err := readLine(lines)
			if errors.Is(err, io.EOF) || err == nil && text[len(text)-1] != '\n' {
				return
			}
			var line Line
			if err == nil {
				at += int64(len(text))
				line, err = ParseLine(append([]byte(nil), text[:len(text)-1]...))
			}
			if err != nil {
				yield(Line{}, fmt.Errorf("audit: %s: byte %d: %w", log, at, err))
				return
			}
			line.End = at
			if !yield(line, nil) {
				return
			}
		}
	}
}

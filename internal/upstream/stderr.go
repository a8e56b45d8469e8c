package upstream

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	keptLines = 20
	maxLine   = 4 << 10 // bytes kept of a line
)

// stderr logs what a server writes to its standard error, and keeps the last lines.
type stderr struct {
	log *throttle
	end chan struct{} // closed when nothing more will come

	mu    sync.Mutex
	lines []string
}

func newStderr(log *slog.Logger) *stderr {
	return &stderr{log: newThrottle(log), end: make(chan struct{})}
}

// read reads r until it ends.
func (s *stderr) read(r io.Reader) {
	defer close(s.end)
	defer s.log.report()
	b := bufio.NewReaderSize(r, maxLine)
	for {
		part, err := b.ReadSlice('\n')
		line := clean(part)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		switch {
		case line == "":
		case chatter(line):
			s.log.write(slog.LevelDebug, "server stderr", "line", line)
		default:
			s.keep(line)
			s.log.write(slog.LevelInfo, "server stderr", "line", line)
		}
		if err != nil {
			return // the process has ended, whatever the error
		}
	}
}

// chatter reports whether a line is npm talking about itself. Its errors do not count.
func chatter(line string) bool {
	rest, npm := strings.CutPrefix(line, "npm ")
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(rest)), " ")
	return npm && slices.Contains([]string{"notice", "warn", "info", "http", "timing"}, word)
}

func (s *stderr) keep(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == keptLines {
		s.lines = slices.Delete(s.lines, 0, 1)
	}
	s.lines = append(s.lines, line)
}

// last returns the last lines.
func (s *stderr) last() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// clean makes a server's text harmless on a terminal and in a log: valid UTF-8 without line ends and without control
// and formatting characters (escape sequences, changes of direction).
func clean(b []byte) string {
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text))
}

// excerpt returns the beginning of a server's text, for a log line or an error.
func excerpt(b []byte) string { return clean(b[:min(len(b), 300)]) }

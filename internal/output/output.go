// Package output prints what commands found, for people and as JSON: records, tables, diffs, plans. Text from calls,
// servers and files is made safe to show; JSON keeps its meaning.
package output

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/term"

	"callgate/internal/visible"
)

// JSON prints v on several lines, in an order that does not change, with escapes for what cannot be seen.
func JSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, visible.JSON(text)+"\n")
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Diff prints how a text changed as a unified diff, indented.
func Diff(w io.Writer, before, after []byte) {
	p := paletteOf(w)
	for line := range strings.Lines(string(diff.Diff("before", before, "after", after))) {
		if line, ok := p.diffLine(line, "diff ", "--- ", "+++ "); ok {
			fmt.Fprintln(w, "    "+line)
		}
	}
}

// palette colours text for a terminal, or leaves it plain.
type palette bool

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	grey   = "90"
)

// paletteOf colours what is printed on a terminal, unless NO_COLOR is set.
func paletteOf(w io.Writer) palette {
	return palette(terminal(w) && os.Getenv("NO_COLOR") == "")
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Text prints text that may be a server's: to a terminal safe to show, else as it is.
func Text(w io.Writer, text string) error {
	if terminal(w) {
		text = visibleLines(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// widthOf is how many characters fit on a line of the terminal that w is; 0 if it is none.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(0, width)
}

func (p palette) paint(code, s string) string {
	if !p || s == "" || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// diffLine is a line of a unified diff for people; false for one that begins like a header. Tabs stay: files are indented
// with them.
func (p palette) diffLine(line string, headers ...string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	for i := range parts {
		parts[i] = visible.Text(parts[i])
	}
	line = strings.Join(parts, "\t")
	for _, h := range headers {
		if strings.HasPrefix(line, h) {
			return "", false
		}
	}
	switch {
	case strings.HasPrefix(line, "@@"):
		line = p.paint(cyan, line)
	case strings.HasPrefix(line, "+"):
		line = p.paint(green, line)
	case strings.HasPrefix(line, "-"):
		line = p.paint(red, line)
	}
	return line, true
}

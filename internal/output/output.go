// Package output prints the results of commands, for people and as JSON: records, tables, diffs, plans. Text from
// calls, servers and files is made safe to show; JSON keeps its meaning.
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

// JSON prints v on several lines, in a stable order, with escapes for invisible characters.
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

// Diff prints the changes of a text as an indented unified diff.
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

// paletteOf returns a palette that colours what is printed on a terminal, unless NO_COLOR is set.
func paletteOf(w io.Writer) palette {
	return palette(terminal(w) && os.Getenv("NO_COLOR") == "")
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Text prints text that may come from a server. On a terminal it is made safe to show; otherwise it is unchanged.
func Text(w io.Writer, text string) error {
	if terminal(w) {
		text = visibleLines(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// widthOf returns the width in characters of the terminal w, or 0 if w is not a terminal.
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

// diffLine returns a line of a unified diff, safe to show and coloured. It returns false if the line begins with a
// header. Tabs stay, because files are indented with them.
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

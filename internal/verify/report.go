package verify

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Report is what became of one run.
type Report struct {
	Workspace string
	Passed    bool
	Results   []Result
	Failure   string   // why it did not run to its end, when no command says so
	Notes     []string // what was done besides
}

// Result is what became of one command.
type Result struct {
	Command []string
	Code    int    // exit code, -1 when there is none
	Failure string // why there is none
	Took    time.Duration
	Output  string // the end of what a failed command wrote
}

// Text words the report for a model, compactly when all is well. Only the whole one shows output.
func (r *Report) Text(whole bool) string {
	var b strings.Builder
	switch {
	case r.Failure != "":
		fmt.Fprintf(&b, "callgate: the verification did not run: %s.", r.Failure)
	case r.Passed:
		b.WriteString("callgate: the verification passed: ")
		for i, c := range r.Results {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s (%s)", words(c.Command), round(c.Took))
		}
		b.WriteString(".")
	default:
		c := r.Results[len(r.Results)-1]
		fmt.Fprintf(&b, "callgate: the verification failed: %s %s.", words(c.Command), c.how())
	}
	for _, note := range r.Notes {
		b.WriteString(" " + note)
	}
	if r.Passed || len(r.Results) == 0 {
		return b.String()
	}
	switch text := r.Results[len(r.Results)-1].Output; {
	case !whole:
		b.WriteString(" Its output is with the result of the call before this one.")
	case text == "":
		b.WriteString(" It wrote nothing.")
	default:
		b.WriteString(" The end of its output:\n" + text)
	}
	return b.String()
}

// words shows which words a command has: those with blanks or quotes in them are quoted.
func words(command []string) string {
	shown := make([]string, len(command))
	for i, word := range command {
		if shown[i] = word; word == "" || strings.ContainsAny(word, " \t\n\"'") {
			shown[i] = strconv.Quote(word)
		}
	}
	return strings.Join(shown, " ")
}

func (c *Result) how() string {
	if c.Failure != "" {
		return "did not end by itself: " + c.Failure
	}
	return fmt.Sprintf("ended with exit code %d after %s", c.Code, round(c.Took))
}

// Meta is the report for programs.
func (r *Report) Meta() map[string]any {
	status := "failed"
	switch {
	case r.Failure != "":
		status = "skipped"
	case r.Passed:
		status = "passed"
	}
	commands := []map[string]any{}
	for _, c := range r.Results {
		one := map[string]any{"command": c.Command, "exitCode": c.Code, "durationMs": c.Took.Milliseconds()}
		if c.Failure != "" {
			one["failure"] = c.Failure
		}
		commands = append(commands, one)
	}
	return map[string]any{"status": status, "workspace": r.Workspace, "commands": commands}
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// excerpt returns the end of what a command wrote, without what only terminals understand. Where both streams
// have something to say each gets its part of most bytes.
func excerpt(stdout, stderr []byte, most int, cut bool) string {
	out, err := clean(stdout), clean(stderr)
	var b strings.Builder
	if cut {
		fmt.Fprintf(&b, "[it wrote more than %d MiB: what follows ends there]\n", output>>20)
	}
	switch {
	case out == "":
		b.WriteString(end(err, most))
	case err == "":
		b.WriteString(end(out, most))
	default:
		forErr := max(most/2, most-len(out))
		text := end(err, forErr)
		fmt.Fprintf(&b, "%s\n[standard error]\n%s", end(out, most-len(text)), text)
	}
	return b.String()
}

func clean(text []byte) string {
	plain := ansi.Strip(strings.ToValidUTF8(string(text), "\uFFFD"))
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, plain))
}

// end returns at most so many bytes of the end, from the beginning of a line where there is one.
func end(text string, most int) string {
	if len(text) <= most {
		return text
	}
	tail := text[len(text)-most:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	if _, after, ok := strings.Cut(tail, "\n"); ok && len(after) > most/2 {
		tail = after
	}
	return "[…]\n" + tail
}

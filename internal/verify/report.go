package verify

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Report is the outcome of one run.
type Report struct {
	Workspace string
	Passed    bool
	Results   []Result
	Failure   string   // why the run did not start or finish, if no result says so
	Notes     []string // what else was done
}

// Result is the outcome of one command.
type Result struct {
	Command []string
	Code    int    // exit code, -1 if there is none
	Failure string // why there is no exit code
	Took    time.Duration
	Output  string // the end of a failed command's output
}

// Text returns the report for a model, in short if all is well. It includes output only if whole is set.
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

// words joins a command's words, and quotes those that contain blanks or quotes.
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

// Meta returns the report for programs.
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

// excerpt returns the end of a command's output, without terminal sequences. If both streams have output, they share
// most bytes.
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

// end returns at most the last most bytes, from the start of a line if that loses little.
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

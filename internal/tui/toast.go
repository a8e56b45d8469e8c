package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/companion/wire"
)

const (
	toastTime = 8 * time.Second
	maxToasts = 50
	toastRows = 3 // most rows of one toast
)

type toastKind int

const (
	toastInfo toastKind = iota
	toastGood
	toastBad
)

// toast is a message that is shown for a while.
type toast struct {
	kind  toastKind
	text  string
	until time.Time
	here  bool // only about the screen where it appeared
}

// toast shows a message. The arguments may contain any text.
func (m *model) toast(kind toastKind, format string, args ...any) {
	if len(m.toasts) == maxToasts {
		m.toasts = slices.Delete(m.toasts, 0, 1)
	}
	m.toasts = append(m.toasts, toast{kind: kind, text: shown(fmt.Sprintf(format, args...)), until: m.now.Add(toastTime)})
}

// hint shows a toast about a key that had no effect on this screen.
func (m *model) hint(text string) {
	m.toast(toastBad, "%s", text)
	m.toasts[len(m.toasts)-1].here = true
}

func (m *model) dropToasts() {
	m.toasts = slices.DeleteFunc(m.toasts, func(t toast) bool { return !m.now.Before(t.until) })
}

func (t toast) style(s *styles) ansi.Style {
	switch t.kind {
	case toastGood:
		return s.good
	case toastBad:
		return s.bad
	}
	return s.faint
}

// lines returns the toast in at most toastRows lines.
func (t toast) lines(s *styles, width int) []string {
	lines := wrap(t.text, width, "")
	if len(lines) > toastRows {
		lines = append(lines[:toastRows-1], cut(strings.Join(lines[toastRows-1:], " "), width))
	}
	for i, line := range lines {
		lines[i] = t.style(s).Styled(line)
	}
	return lines
}

// toastRows returns how many rows toasts get: one to three depending on the screen's height, or what the newest one
// needs if the screen is high enough.
func (m view) toastRows() int {
	rows := min(1+m.model.height/30, toastRows)
	if n := len(m.model.toasts); n > 0 && m.model.height >= 16 {
		rows = max(rows, len(m.model.toasts[n-1].lines(&m.model.styles, m.model.width)))
	}
	return rows
}

// toastLines returns as many of the newest toasts as fit, with the newest at the bottom, in exactly rows lines.
func (m view) toastLines(rows int) (lines []string) {
	for i, t := range slices.Backward(m.model.toasts) {
		text := t.lines(&m.model.styles, m.model.width)
		if i == len(m.model.toasts)-1 {
			text = text[:min(len(text), rows)]
		}
		if len(lines)+len(text) > rows {
			break
		}
		lines = append(text, lines...)
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	return lines
}

// notSent describes what a failure to write a frame means for the person.
func notSent(err error) string {
	if errors.Is(err, wire.ErrNotBack) {
		return "Nothing was sent, because the process that asks has not reached the new hub yet. Answer again in a moment."
	}
	if errors.Is(err, wire.ErrClosed) {
		return "There is no connection. Nothing was sent."
	}
	return "It may not have arrived: " + err.Error()
}

// resolvedText describes how an approval ended.
func resolvedText(tool string, f *wire.ToolApproveResolved) (toastKind, string) {
	kind, word := toastInfo, "ended: "+f.Decision
	switch f.Decision {
	case "approve":
		kind, word = toastGood, "was approved"
	case "always":
		kind, word = toastGood, "was approved, always"
	case "reject":
		kind, word = toastBad, "was rejected"
	case "timeout":
		kind, word = toastBad, "timed out and was denied"
	case "withdrawn":
		word = "was withdrawn"
	}
	text := tool + " " + word
	if f.By != "" {
		text += " by " + f.By
	}
	text += "."
	if f.Reason != "" {
		text += " " + f.Reason
	}
	return kind, text
}

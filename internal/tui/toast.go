package tui

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/companion"
)

const (
	toastTime = 8 * time.Second
	maxToasts = 50
)

type toastKind int

const (
	toastInfo toastKind = iota
	toastGood
	toastBad
)

// toast is a line that says what happened, for a while.
type toast struct {
	kind  toastKind
	text  string
	until time.Time
}

// toast shows a line. What it is given may come from anywhere.
func (m *model) toast(kind toastKind, format string, args ...any) {
	if len(m.toasts) == maxToasts {
		m.toasts = slices.Delete(m.toasts, 0, 1)
	}
	m.toasts = append(m.toasts, toast{kind, shown(fmt.Sprintf(format, args...)), m.now.Add(toastTime)})
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

// notSent says what a failed write means.
func notSent(err error) string {
	if errors.Is(err, companion.ErrClosed) {
		return "There is no connection. Nothing was sent."
	}
	return "It may not have arrived: " + err.Error()
}

// resolvedText says how an approval ended.
func resolvedText(tool string, f *companion.ToolApproveResolved) (toastKind, string) {
	kind, word := toastInfo, ""
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
	default:
		word = "ended: " + f.Decision
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

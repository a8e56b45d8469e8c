package tui

import (
	"cmp"
	"slices"
	"time"

	"callgate/internal/companion/wire"
)

// maxEntries limits how many records the screen keeps.
const maxEntries = 500

// entry is one decision of the audit trail.
type entry struct {
	Time      time.Time `json:"time"`
	Event     string    `json:"event"`
	CallID    string    `json:"callId"`
	SessionID string    `json:"sessionId"`
	Tool      string    `json:"tool"`
	Decision  string    `json:"decision"`
	Risk      string    `json:"risk"` // class
	By        string    `json:"by"`
	Rule      string    `json:"rule"`
	Summary   string    `json:"summary"`
	Reason    string    `json:"reason"`
}

func entryOf(f *wire.AuditEntry) entry {
	return entry{
		Time: f.Timestamp, CallID: f.ToolCallID, SessionID: f.SessionID, Tool: f.Tool,
		Decision: f.Decision, Risk: f.Risk, By: f.By, Rule: f.Rule, Summary: f.Summary,
	}
}

// auditTail is the end of the audit trail, oldest first.
type auditTail struct {
	entries []entry
}

func (t *auditTail) add(e entry) {
	if slices.ContainsFunc(t.entries, func(o entry) bool { return o.CallID == e.CallID && o.Decision == e.Decision && o.Time.Equal(e.Time) }) {
		return // both a frame and a REST answer brought it
	}
	at, _ := slices.BinarySearchFunc(t.entries, e, func(a, b entry) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return -1 // entries with equal times keep their order of arrival
	})
	t.entries = slices.Insert(t.entries, at, e)
	if len(t.entries) > maxEntries {
		t.entries = slices.Delete(t.entries, 0, len(t.entries)-maxEntries)
	}
}

// merge adds records from before the screen started to follow.
func (t *auditTail) merge(records []entry) {
	for _, e := range records {
		t.add(e)
	}
}

// trailLines returns lines with the trail, one decision on each.
func (m view) trailLines(width int) (lines []string) {
	s := &m.model.styles
	for _, e := range m.model.log.entries {
		style := s.bad
		switch e.Decision {
		case "approved", "auto_approved", "trusted":
			style = s.good
		case "timeout", "cancelled":
			style = s.faint
		}
		line := s.faint.Styled(e.Time.Local().Format(time.TimeOnly)) + " " + style.Styled(pad(shown(e.Decision), 13)) + " " +
			pad(s.risk(riskLabel(e.Risk)), 8) + " " + s.title.Styled(shown(e.Tool))
		if what := cmp.Or(e.Summary, e.Reason, e.Rule); what != "" { // an unreadable call has no summary
			line += "  " + shown(what)
		}
		if e.By != "" {
			line += s.faint.Styled("  by " + shown(e.By))
		}
		lines = append(lines, cut(line, width))
	}
	return lines
}

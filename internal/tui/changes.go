package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// changesMsg is what a call would make of files.
type changesMsg struct {
	approval *approval
	changes  []wire.FileChange
}

// compare asks what a call that writes a file would make of it on the disk. Where nobody can say, what the arguments
// tell has to do.
func (m *model) compare(a *approval) tea.Cmd {
	if m.rest == nil || a.Kind != wire.KindWriteFile && a.Kind != wire.KindEditFile {
		return nil
	}
	ctx, address, ask := m.ctx, m.address, m.rest
	return func() tea.Msg {
		changes, err := ask.changes(ctx, address, a.ToolCallID)
		if err != nil {
			return nil
		}
		return changesMsg{a, changes}
	}
}

// takeChanges shows what the files become. That is more to read before the call can be approved.
func (m *model) takeChanges(msg changesMsg) {
	if len(msg.changes) == 0 || m.queue.find(msg.approval.ToolCallID) != msg.approval {
		return
	}
	msg.approval.changes, msg.approval.read = msg.changes, false
	if msg.approval == m.current {
		m.laidOut = layoutKey{}
		m.quiet.arm(m.now)
	}
}

// changeLines shows what becomes of files; nil when that is not known.
func (s *styles) changeLines(changes []wire.FileChange, width int) (lines []string) {
	for _, c := range changes {
		if c.State == wire.ChangeUnknown {
			return nil
		}
		name := shown(c.Path)
		switch c.State {
		case wire.ChangeNew:
			name += ", a new file"
		case wire.ChangeNone:
			name += " has this content already"
		}
		for _, line := range wrap(name, width, "  ") {
			lines = append(lines, s.title.Styled(line))
		}
		if c.State != wire.ChangeNone {
			lines = append(lines, s.diffLines(c.Before, c.After, width)...)
		}
		for _, line := range wrap(shown(c.Why), width, "") {
			lines = append(lines, s.warn.Styled(line))
		}
	}
	return lines
}

// definitionLines shows how a tool's definition differs from the one that was accepted.
func (s *styles) definitionLines(old, fresh string, width int) []string {
	if old == "" {
		return argumentLines([]byte(fresh), width)
	}
	return s.diffLines(wire.Indented([]byte(old)), wire.Indented([]byte(fresh)), width)
}

package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// changesMsg says how a call would change files.
type changesMsg struct {
	approval *approval
	changes  []wire.FileChange
}

// compare asks how a call would change files on disk. Otherwise the screen shows only what the arguments say.
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

// takeChanges adds the changes to the approval. The person has to see all arguments again before they can approve.
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

// changeLines returns lines that show how files change. It returns nil if a change is unknown.
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
		lines = append(lines, block(s.warn, "", shown(c.Why), width)...)
	}
	return lines
}

// definitionLines returns how a tool's definition differs from the accepted one, or all of it if old is "".
func (s *styles) definitionLines(old, fresh string, width int) []string {
	if old == "" {
		return argumentLines([]byte(fresh), width)
	}
	return s.diffLines(wire.Indented([]byte(old)), wire.Indented([]byte(fresh)), width)
}

package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// view draws the model and does not change it.
type view struct{ model *model }

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(view{m}.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "callgate"
	if n := m.queue.len(); n > 0 {
		v.WindowTitle = fmt.Sprintf("callgate: %d waiting", n)
	}
	return v
}

// lines returns the lines of the screen, each of at most the screen's width.
func (m view) lines() []string {
	if m.model.width <= 0 || m.model.height <= 0 {
		return nil
	}
	if m.tooSmall() {
		lines := []string{cut(fmt.Sprintf("callgate: %d waiting", m.model.queue.len()), m.model.width)}
		lines = append(lines, wrap("This window is too small to answer in.", m.model.width, "")...)
		return lines[:min(len(lines), m.model.height)]
	}
	a := m.areas()
	lines := append([]string{m.header()}, m.body(a)...)
	lines = append(lines, a.box...)
	lines = append(lines, m.toastLines(a.toasts)...)
	lines = append(lines, m.footer())
	for i, line := range lines {
		lines[i] = cut(line, m.model.width)
	}
	return lines
}

func (m view) header() string {
	s := &m.model.styles
	tabs := make([]string, len(screenNames))
	for i, name := range screenNames {
		tab := fmt.Sprintf("%d %s", i+1, name)
		switch {
		case screen(i) == approvals && m.model.queue.len() > 0:
			tab += fmt.Sprintf(" (%d)", m.model.queue.len())
		case screen(i) == sessions && len(m.model.roster.order) > 0:
			tab += fmt.Sprintf(" (%d)", len(m.model.roster.order))
		}
		if screen(i) == m.model.screen {
			tabs[i] = s.chosen.Styled("[" + tab + "]")
		} else {
			tabs[i] = " " + tab + " "
		}
	}
	right := s.bad.Styled("○ no connection")
	if m.model.address != "" {
		right = s.good.Styled("●")
		if m.model.width >= 80 {
			right = s.good.Styled("● connected")
		}
		if m.model.partial {
			right = s.bad.Styled("◐ not all calls are shown")
		}
		if servers := m.serversText(); servers != "" {
			right = servers + " " + right
		}
		if alarm := m.model.roster.alarm(); alarm != "" {
			right = s.bad.Styled(alarm) + " " + right
		}
	}
	if m.model.width >= 80 {
		tabs[0] = s.title.Styled("callgate") + " " + tabs[0]
	}
	first, current := 0, int(m.model.screen)
	for first < current && ansi.StringWidth(strings.Join(tabs[first:current+1], "")+"… "+right) > m.model.width {
		first++ // keep the tab of the current screen visible
	}
	return between(strings.Join(tabs[first:], ""), " "+right, m.model.width)
}

func (m view) serversText() string {
	up, style := 0, m.model.styles.faint
	for _, server := range m.model.servers {
		switch server.State {
		case wire.UpstreamUp:
			up++
		case wire.UpstreamIdle: // it starts when it is needed
		default:
			style = m.model.styles.warn
		}
	}
	if len(m.model.servers) == 0 {
		return ""
	}
	return style.Styled(fmt.Sprintf("%d/%d up", up, len(m.model.servers)))
}

// body returns the middle of the screen, exactly a.body rows.
func (m view) body(a areas) (lines []string) {
	switch m.model.screen {
	case approvals:
		lines = m.approvalLines(a)
	case sessions:
		lines = m.sessionLines(m.model.width, a.body)
	case toolbox:
		lines = m.toolLines(m.model.width, a.body)
	case trail:
		lines = []string{m.model.styles.faint.Styled("No decisions yet.")}
		if len(m.model.log.entries) > 0 {
			lines = slices.Clone(m.model.trailView.inSight())
		}
	}
	lines = lines[:min(len(lines), a.body)]
	for len(lines) < a.body {
		lines = append(lines, "")
	}
	return lines
}

func (m view) approvalLines(a areas) (lines []string) {
	s := &m.model.styles
	if m.model.current == nil {
		text := "No pending approvals."
		switch {
		case m.model.address == "":
			text = "Not connected to callgate. Trying again."
		case len(m.model.roster.order) == 0:
			text += " No host runs behind callgate now. To put callgate in front of yours, run callgate connect."
		}
		return append([]string{""}, wrap(text, m.model.width, "")...)
	}
	if a.body <= 0 {
		return nil
	}
	detail := m.model.detail.inSight()
	switch {
	case m.wide():
		list := m.listLines(a.list, a.body)
		for i := range a.body {
			left, right := "", ""
			if i < len(list) {
				left = list[i]
			}
			if i < len(detail) {
				right = detail[i]
			}
			lines = append(lines, pad(left, a.list)+s.faint.Styled(" │ ")+right)
		}
		return lines
	case a.list > 0:
		lines = append(m.listLines(m.model.width, a.list), s.faint.Styled(strings.Repeat("─", m.model.width)))
	}
	return append(lines, detail...)
}

// listLines returns the pending approvals by session, in at most rows lines.
func (m view) listLines(width, rows int) []string {
	s := &m.model.styles
	var b boxed
	for _, g := range m.model.queue.groups {
		name := "session " + shown(g.session)
		if client := m.model.roster.sessions[g.session].client; client != "" {
			name = shown(client) + ", " + name
		}
		if worker := g.items[0].WorkerID; worker != usualWorker {
			name = shown(worker) + ": " + name
		}
		b.lines = append(b.lines, s.heading.Styled(cut(name, width)))
		for _, a := range g.items {
			mark, tool := "  ", shown(a.Tool)
			if a == m.model.current {
				mark, tool, b.focus = "▸ ", s.title.Styled(tool), len(b.lines)
			}
			left := countdown(a.ExpiresAt.Sub(m.model.now)) + " "
			left = pad(left, max(5, len(left)))
			line := mark + left + pad(s.risk(a.Risk.Label), 9) + tool + s.faint.Styled("  "+shown(a.Summary))
			if a.sent != "" {
				line = mark + left + s.faint.Styled(pad("sent", 9)) + tool
			}
			b.lines = append(b.lines, cut(line, width))
		}
	}
	return b.window(rows)
}

// question returns the box below an approval, with the choices. The safe one is the default.
func (m view) question(a *approval) boxed {
	s := &m.model.styles
	edge, ok := s.risks[a.Risk.Label]
	if !ok {
		edge = s.risks["critical"]
	}
	hint := "y approve · a always · n deny · e edit · ←→ Enter · ? help"
	switch {
	case a.sent != "":
		hint = "Your answer is being sent."
	case m.model.quiet.silent(m.model.now):
		hint = "Keys work after a short pause."
	case !a.read:
		hint = visible.Count(m.model.unread(), "more line") + " to read first: Space scrolls down"
	}
	return boxed{
		title: s.title.Styled(shown(a.Tool)) + " · " + s.risk(a.Risk.Label), note: m.timeLeft(a), edge: edge,
		lines: []string{s.buttons(choices, m.model.choice), s.faint.Styled(hint)},
	}
}

// timeLeft says how long until the call is denied.
func (m view) timeLeft(a *approval) string {
	left := a.ExpiresAt.Sub(m.model.now)
	text := "denied in " + countdown(left)
	switch {
	case left <= 0:
		return m.model.styles.bad.Styled("time is up")
	case left.Seconds() < 20:
		return m.model.styles.bad.Styled(text)
	}
	return text
}

func (m view) footer() string {
	text := "? help · q leave"
	if m.model.width >= 80 {
		text = "Tab screens · " + text
	}
	switch {
	case m.model.dialog != nil:
		text = "Esc goes back · Ctrl-C leaves"
	case m.model.screen == sessions:
		text = "↑↓ session · u autonomy · x stop · " + text
	case m.model.screen == toolbox:
		text = "↑↓ tool · Enter look, accept · " + text
	case m.model.screen == trail:
		text = "↑↓ PgUp PgDn scroll · End follows · " + text
	case m.model.queue.len() == 1:
		text = "↑↓ Space scroll · u autonomy · " + text
	case m.model.queue.len() > 1:
		text = "↑↓ approval · Space scroll · u autonomy · " + text
	}
	return m.model.styles.faint.Styled(cut(text, m.model.width))
}

var _ tea.Model = (*model)(nil)

package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// notFound is the HTTP status from a callgate that does not show its tools.
const notFound = 404

// offered is the content of the tools screen: the servers of a session and their tools.
type offered struct {
	session string // the session that was asked about
	servers []wire.ServerView
	err     string
	chosen  string // qualified name
	wanted  bool   // a key on an approval chose it: open it once the tools are known
}

// toolsMsg is the list of a session's tools.
type toolsMsg struct {
	address, session string
	view             wire.ToolsView
	err              error
}

// acceptedMsg says whether a definition was accepted.
type acceptedMsg struct {
	tool string
	err  error
}

// toolScreen is the screen of tools and their definitions.
type toolScreen struct{ model *model }

// lookUp asks for the selected session's tools.
func (m toolScreen) lookUp() tea.Cmd {
	if m.model.rest == nil || m.model.address == "" || m.model.screen != toolbox {
		return nil
	}
	ctx, address, ask, session := m.model.ctx, m.model.address, m.model.rest, m.model.roster.selected()
	m.model.offered.session = session
	return func() tea.Msg {
		view, err := ask.tools(ctx, address, session)
		return toolsMsg{address, session, view, err}
	}
}

// visitDefinition goes to the tool of an approval, if the tool's definition has changed.
func (m toolScreen) visitDefinition(a *approval) tea.Cmd {
	if a.DefinitionChanged == nil {
		return nil
	}
	m.model.roster.chosen = a.SessionID
	m.model.offered.chosen, m.model.offered.wanted = a.Tool, true
	return m.model.visit(toolbox)
}

func (m toolScreen) takeTools(msg toolsMsg) {
	o := &m.model.offered
	if msg.address != m.model.address || msg.session != o.session {
		return // from an earlier connection, or about another session
	}
	o.servers, o.err = msg.view.Servers, ""
	var refused *wire.RequestError
	switch {
	case errors.As(msg.err, &refused) && refused.Status == notFound:
		o.err = "This callgate does not show its tools."
	case msg.err != nil:
		o.err = msg.err.Error()
	}
	o.session = cmp.Or(o.session, msg.view.SessionID)
	if o.wanted && m.model.dialog == nil && m.model.screen == toolbox {
		o.wanted = false
		m.openTool()
	}
}

// takeAccepted reports whether the definition was accepted, and asks for the tools again.
func (m toolScreen) takeAccepted(msg acceptedMsg) tea.Cmd {
	if msg.err != nil {
		m.model.toast(toastBad, "The definition of %s was not accepted: %v.", msg.tool, msg.err)
	} else {
		m.model.toast(toastGood, "The definition of %s is accepted.", msg.tool)
	}
	return m.lookUp()
}

// all returns the tools in the order of the screen: by server, with changed definitions first.
func (o *offered) all() (all []wire.ToolView) {
	for _, s := range o.servers {
		all = append(all, inOrder(s.Offered)...)
	}
	return all
}

func inOrder(tools []wire.ToolView) []wire.ToolView {
	sorted := slices.Clone(tools)
	slices.SortStableFunc(sorted, func(a, b wire.ToolView) int {
		switch {
		case (a.DefinitionChanged != nil) == (b.DefinitionChanged != nil):
			return 0
		case a.DefinitionChanged != nil:
			return -1
		}
		return 1
	})
	return sorted
}

// selected returns the chosen tool, or the first one.
func (o *offered) selected() (wire.ToolView, bool) {
	all := o.all()
	if len(all) == 0 {
		return wire.ToolView{}, false
	}
	at := slices.IndexFunc(all, func(t wire.ToolView) bool { return t.Tool == o.chosen })
	return all[max(0, at)], true
}

func (m toolScreen) toolKey(k string) {
	step := 0
	switch k {
	case "up", "k":
		step = -1
	case "down", "j":
		step = +1
	case "pgup", "b":
		step = -10
	case "pgdown", "space":
		step = +10
	case "enter", "d", "D":
		m.openTool()
		return
	}
	all := m.model.offered.all()
	if step == 0 || len(all) == 0 {
		return
	}
	now, _ := m.model.offered.selected()
	at := slices.IndexFunc(all, func(t wire.ToolView) bool { return t.Tool == now.Tool }) + step
	m.model.offered.chosen = all[min(max(0, at), len(all)-1)].Tool
}

func (m toolScreen) openTool() {
	if t, ok := m.model.offered.selected(); ok && (m.model.offered.chosen == "" || t.Tool == m.model.offered.chosen) {
		m.model.dialog = &definition{tool: t, session: m.model.offered.session}
	}
}

// verdictWords says what happens to a call now, by verdict.
var verdictWords = map[string]string{"allow": "runs", "ask": "asks", "confirm": "asks every time", "deny": "denied", "by risk": "by risk"}

func (s *styles) verdict(t *wire.ToolView) string {
	verdict := t.Verdict
	if t.DefinitionChanged != nil && verdict != "deny" {
		verdict = "confirm"
	}
	word, ok := verdictWords[verdict]
	if !ok {
		word = shown(verdict)
	}
	switch verdict {
	case "allow":
		return s.good.Styled(word)
	case "deny":
		return s.bad.Styled(word)
	case "confirm":
		return s.warn.Styled(word)
	}
	return word
}

// toolLines returns lines with the servers of a session and their tools.
func (m view) toolLines(width, rows int) []string {
	s, o := &m.model.styles, &m.model.offered
	var b boxed
	if o.err != "" {
		b.lines = block(s.bad, "", shown(o.err), width)
		return b.window(rows)
	}
	if len(o.servers) == 0 {
		return []string{s.faint.Styled("No servers.")}
	}
	now, _ := o.selected()
	for i, server := range o.servers {
		if i > 0 {
			b.lines = append(b.lines, "")
		}
		b.lines = append(b.lines, s.heading.Styled(shown(server.Name))+"  "+shown(server.State)+s.faint.Styled(fmt.Sprintf("  %d tools", server.Tools)))
		b.lines = append(b.lines, block(s.bad, "  ", shown(server.Error), width)...)
		for _, t := range inOrder(server.Offered) {
			mark, name := "  ", shown(t.Tool)
			if t.Tool == now.Tool {
				mark, name, b.focus = "▸ ", s.title.Styled(name), len(b.lines)
			}
			kind := shown(t.Kind)
			if kind != "" && !t.Bound {
				kind += "?"
			}
			line := mark + pad(name, min(40, max(16, width*45/100))) + " " + pad(s.faint.Styled(kind), 13) + " " + s.verdict(&t)
			if t.DefinitionChanged != nil {
				line += s.bad.Styled("  changed")
			}
			b.lines = append(b.lines, cut(line, width))
		}
	}
	return b.window(rows)
}

// definition is the dialog that shows a tool. If the tool's definition has changed, it asks whether to accept it.
// Accepting needs the person to have seen the whole difference.
type definition struct {
	tool    wire.ToolView
	session string
	view    pane
	width   int // for which view was filled
	read    bool
	accept  bool // the chosen button; the other one goes back
}

func (d *definition) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	changed := d.tool.DefinitionChanged != nil
	switch k.String() {
	case "esc", "q", "n", "N":
		m.dialog = nil
	case "left", "h":
		d.accept = false
	case "right", "l":
		d.accept = changed
	case "enter":
		if !d.accept {
			m.dialog = nil
			return nil
		}
		return d.send(m)
	case "y", "Y":
		if changed {
			return d.send(m)
		}
	default:
		d.view.scroll(k.String())
	}
	return nil
}

func (d *definition) send(m *model) tea.Cmd {
	if !d.read {
		m.toast(toastBad, "Nothing was accepted: read the whole difference first (Space scrolls).")
		return nil
	}
	m.dialog = nil
	if m.rest == nil || m.address == "" {
		m.toast(toastBad, "There is no connection. Nothing was sent.")
		return nil
	}
	ctx, address, ask, session, tool := m.ctx, m.address, m.rest, d.session, d.tool
	return func() tea.Msg { return acceptedMsg{tool.Tool, ask.accept(ctx, address, session, tool.Tool, tool.Hash)} }
}

func (d *definition) content(m *model, width, rows int) boxed {
	s := &m.styles
	if d.width != width {
		d.width, d.view.lines = width, d.lines(s, width)
	}
	d.view.resize(min(len(d.view.lines), rows-2))
	d.read = d.read || d.view.height > 0 && d.view.below() == 0
	b := boxed{title: s.title.Styled(shown(d.tool.Tool)), note: s.verdict(&d.tool), edge: s.faint}
	b.lines = slices.Clone(d.view.inSight())
	b.focus = len(b.lines)
	buttons, hint := s.buttons([]string{"Go back"}, 0), "Space scrolls · Enter or Esc goes back"
	if d.tool.DefinitionChanged != nil {
		b.edge = s.warn
		buttons, hint = s.either("Go back", "Accept this definition", d.accept), "←→ choose · Enter · Space scrolls · Esc goes back"
	}
	if !d.read {
		hint = visible.Count(d.view.below(), "more line") + " to read: Space scrolls down"
	}
	b.lines = append(b.lines, buttons, s.faint.Styled(hint))
	return b
}

// lines returns what callgate knows about the tool.
func (d *definition) lines(s *styles, width int) (lines []string) {
	t := &d.tool
	if change := t.DefinitionChanged; change != nil {
		lines = append(lines, wrap(shown(change.Why), width, "")...)
		lines = append(lines, s.definitionLines(change.Old, change.New, width)...)
		lines = append(lines, "")
	}
	lines = append(lines, wrap(shown(t.Description), width, "")...)
	for _, fact := range [][2]string{{"Rule", t.Rule}, {"Kind", t.Kind}, {"Found", t.Why}} {
		for i, line := range wrap(shown(fact[1]), width-7, "") {
			name := fact[0]
			if i > 0 {
				name = ""
			}
			lines = append(lines, s.faint.Styled(pad(name, 7))+line)
		}
	}
	return lines
}

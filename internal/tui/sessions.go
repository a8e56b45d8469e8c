package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

func (m *model) sessionKey(k string) tea.Cmd {
	switch k {
	case "up", "k":
		m.roster.move(-1)
	case "down", "j":
		m.roster.move(+1)
	case "u", "U", "enter":
		if id := m.roster.selected(); id != "" {
			m.openAutonomy(id)
		}
	case "z", "Z":
		m.dialog = newFreezeDialog(m, k == "Z")
	case "x", "X":
		if id := m.roster.selected(); id != "" {
			m.dialog = newStopDialog(m, id)
		}
	}
	return nil
}

// sessionLines returns lines with the sessions and the servers behind callgate.
func (m view) sessionLines(width, rows int) []string {
	s := &m.model.styles
	lines := []string{s.heading.Styled("Sessions")}
	if len(m.model.roster.order) == 0 {
		lines = append(lines, s.faint.Styled("  No host is connected."))
	}
	waiting := map[string]int{}
	for _, g := range m.model.queue.groups {
		waiting[g.session] = len(g.items)
	}
	focus := 0
	for _, id := range m.model.roster.order {
		one := m.model.roster.sessions[id]
		line := fmt.Sprintf("%s  %s  autonomy %s", pad(shown(id), min(24, max(8, width/4))), pad(shown(one.client), min(20, max(6, width/6))), shown(one.level))
		if n := waiting[id]; n > 0 {
			line += s.warn.Styled(fmt.Sprintf("  %d waiting", n))
		} else {
			line += "  " + shown(one.status)
		}
		if one.agent != "" {
			line += s.faint.Styled("  agent " + shown(one.agent))
		}
		if one.mode != "" && one.mode != "ask" {
			line += s.warn.Styled("  mode " + shown(one.mode))
		}
		mark := "  "
		if id == m.model.roster.selected() {
			mark, focus = "▸ ", len(lines)
		}
		lines = append(lines, mark+line)
		for _, a := range one.team {
			text := fmt.Sprintf("%s  %s", shown(a.role), shown(a.id))
			if a.status != "" {
				text += "  " + shown(a.status)
			}
			lines = append(lines, "    "+text)
			lines = append(lines, block(s.faint, "      ", shown(a.about), width)...)
		}
	}
	lines = append(lines, "", s.heading.Styled("Servers"))
	switch {
	case m.model.serversErr != "":
		lines = append(lines, block(s.bad, "  ", "Their state is unknown: "+shown(m.model.serversErr), width)...)
	case len(m.model.servers) == 0:
		lines = append(lines, s.faint.Styled("  No servers."))
	}
	for _, server := range m.model.servers {
		state := s.warn
		switch server.State {
		case "up":
			state = s.good
		case "down":
			state = s.bad
		}
		lines = append(lines, "  "+pad(shown(server.Name), min(24, max(8, width/4)))+"  "+state.Styled(pad(shown(server.State), 8))+fmt.Sprintf("  %d tools", server.Tools))
		lines = append(lines, block(s.bad, "    ", shown(server.Error), width)...)
	}
	return boxed{lines: lines, focus: focus}.window(rows)
}

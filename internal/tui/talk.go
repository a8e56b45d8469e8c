package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// maxQuestion limits a question to the model, in characters.
const maxQuestion = 8000

// talk is the dialog for a conversation with the model of a session.
type talk struct {
	session string
	plain   bool // send questions without passages of the workspace
	input   input
	top     int // number of lines scrolled up from the end
}

func newTalk(session string) *talk { return &talk{session: session, input: input{limit: maxQuestion}} }

// said is the conversation with a session's model, as far as this screen has received it.
type said struct {
	turns  []spoken
	asking bool
}

type spoken struct{ who, text string }

const maxSaid = 100 // turns kept for each session

func (d *talk) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.dialog = nil
	case "pgup":
		d.top += 5
	case "pgdown":
		d.top = max(0, d.top-5)
	case "ctrl+p":
		d.plain = !d.plain
	case "ctrl+r":
		return m.send("", func() error { return m.client.ResetChat(d.session) })
	case "ctrl+x":
		m.dialog = newStopDialog(m, d.session) // it ends more than the question
	case "enter":
		text := string(d.input.text)
		if text == "" || m.talks[d.session].asking {
			return nil
		}
		d.input, d.top = input{limit: maxQuestion}, 0
		question := wire.Chat{Head: wire.Head{SessionID: d.session}, Message: text}
		if d.plain {
			question.Context = new(bool)
		}
		return m.send("", func() error { return m.client.Chat(question) })
	default:
		d.input.key(k)
	}
	return nil
}

func (d *talk) paste(p tea.PasteMsg) { d.input.insert(p.Content) }

func (d *talk) content(m *model, width, rows int) boxed {
	s := &m.styles
	b := boxed{title: s.title.Styled("Chat with " + shown(m.roster.sessions[d.session].client)), edge: s.faint}
	b.note = "with passages of the workspace"
	if d.plain {
		b.note = "without passages"
	}
	of := m.talks[d.session]
	var lines []string
	for _, turn := range of.turns {
		lines = append(lines, s.heading.Styled(shown(turn.who)))
		lines = append(lines, wrap(shown(turn.text), width, "  ")...)
	}
	switch {
	case of.asking:
		lines = append(lines, s.faint.Styled("The model is thinking; the question may wait for approval first."))
	case len(lines) == 0:
		lines = append(lines, s.faint.Styled("Ask the model of this session. The question passes the gate first."))
	}
	room := max(1, rows-3)
	d.top = min(d.top, max(0, len(lines)-room))
	end := len(lines) - d.top
	b.lines = append(b.lines, lines[max(0, end-room):end]...)
	b.focus = len(b.lines)
	b.lines = append(b.lines, d.input.view(s, "your question", width))
	b.lines = append(b.lines, wrap("Enter asks · Ctrl-P passages on or off · Ctrl-X stops the session's calls · Ctrl-R starts over · Esc goes back", width, "")...)
	return b
}

// chatted handles an event of a conversation.
func (m *model) chatted(session, who, text string, asking bool) {
	of := m.talks[session]
	if of.asking = asking; text != "" {
		of.turns = append(of.turns, spoken{who, text})
		of.turns = of.turns[max(0, len(of.turns)-maxSaid):]
	}
	m.talks[session] = of
}

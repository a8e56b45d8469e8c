package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// maxFeedback bounds what the model is told with a denial, in characters.
const maxFeedback = 4000

// denial asks for what the model is told with a denial.
type denial struct {
	approval *approval
	input    input
}

func newDenial(a *approval) *denial { return &denial{a, input{limit: maxFeedback}} }

func (d *denial) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.dialog = nil
		return nil
	case "enter":
		return m.answer(d.approval, wire.ToolApprove{Decision: "reject", Feedback: string(d.input.text)})
	}
	d.input.key(k)
	return nil
}

func (d *denial) paste(p tea.PasteMsg) { d.input.insert(p.Content) }

func (d *denial) content(m *model, width, _ int) boxed {
	s := &m.styles
	return boxed{
		title: s.title.Styled("Deny " + shown(d.approval.Tool)), note: m.timeLeft(d.approval), edge: s.bad, focus: 1,
		lines: []string{
			"The model gets this text as the answer:",
			d.input.view(s, "why, or what to do instead (may be empty)", width),
			s.faint.Styled("Enter denies · Esc goes back"),
		},
	}
}

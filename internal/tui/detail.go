package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/companion/wire"
)

// detail describes an approval in lines of at most width columns: first the main facts, then the exact arguments, then
// why callgate asks and what "always" could allow. The arguments end before line argumentsEnd. To know what would run,
// the person has to see the lines up to there.
func (s *styles) detail(a *approval, width int) (lines []string, argumentsEnd int) {
	add := func(more ...string) { lines = append(lines, more...) }
	heading := func(text string) { add("", s.heading.Styled(cut(text, width))) }
	field := func(name, text string) {
		const indent = 8
		prefix := s.faint.Styled(pad(name, indent))
		for _, line := range wrap(text, width-indent, "") {
			add(prefix + line)
			prefix = strings.Repeat(" ", indent)
		}
	}

	for _, line := range fold(shown(a.Tool), width) {
		add(s.title.Styled(line))
	}
	s.facts(a, field)
	for _, mark := range a.Marks {
		for _, line := range wrap("! "+shown(mark.Text), width, "  ") {
			add(s.warn.Styled(line))
		}
	}

	if len(a.Commands) > 0 {
		heading("Runs")
	}
	for _, c := range a.Commands {
		add(s.command(c, width)...)
	}
	if change := a.DefinitionChanged; change != nil {
		heading("Definition of the tool")
		add(wrap(shown(change.Why)+" Press d to accept it.", width, "")...)
		add(s.definitionLines(string(change.Old), string(change.New), width)...)
	}
	if r := a.Rewritten; r != nil {
		heading("Changes that a hook made to the arguments")
		field("Hook", shown(r.By))
		add(s.diffLines(readable(r.Original), readable(a.Args), width)...)
	}
	if compared := s.changeLines(a.changes, width); compared != nil {
		heading("Changes on disk")
		add(compared...)
	} else {
		for _, r := range replacements(a.Args) {
			heading("Changes")
			add(s.diffLines(r.before, r.after, width)...)
		}
		for _, c := range a.changes {
			add(wrap(shown(c.Why), width, "")...)
		}
	}
	heading(fmt.Sprintf("Arguments, %d bytes", len(a.Args)))
	add(argumentLines(a.Args, width)...)
	argumentsEnd = len(lines)

	if len(a.Reasons) > 0 {
		heading("Rules")
	}
	for _, r := range a.Reasons {
		rule := cmp.Or(r.Rule, r.Action+" by "+r.Layer)
		add(wrap("• "+shown(r.Subject)+": "+shown(rule), width, "  ")...)
	}
	if len(a.Always) > 0 {
		heading("“Always” can allow")
	}
	for _, o := range a.Always {
		text := "• " + o.Allows() + ", at worst: " + wire.RiskWords(o.Risk)
		add(wrap(text, width, "  ")...)
	}
	if a.Description != "" {
		heading("The server's description")
		add(wrap(shown(a.Description), width, "")...)
	}
	heading("Record")
	field("Call", shown(a.ToolCallID))
	field("Digest", shown(a.ArgsDigest))
	field("Asked", a.CreatedAt.Local().Format(time.TimeOnly)+", denied at "+a.ExpiresAt.Local().Format(time.TimeOnly)+" when nobody answers")
	return lines, argumentsEnd
}

// usualWorker is the default worker, which the screen need not point out.
const usualWorker = "default"

// facts passes the main facts to field: where a call comes from, its risk, what it does and why callgate asks.
func (s *styles) facts(a *approval, field func(name, text string)) {
	place := []string{"server " + shown(a.Server), "session " + shown(a.SessionID)}
	if a.AgentID != "" {
		place = append(place, "agent "+shown(a.AgentID))
	}
	if from := whereFrom(a.Client.Name, a.Client.Principal, a.Origin.Folder, a.Origin.Branch, a.Origin.Terminal); from != "" {
		field("From", from)
	}
	worker := "worker " + shown(a.WorkerID)
	if place = append(place, worker); a.WorkerID != usualWorker { // a tenant comes first
		place = slices.Insert(place[:len(place)-1], 0, worker)
	}
	field("Where", strings.Join(place, ", "))
	risk := s.risk(a.Risk.Label) + " " + wire.RiskWords(a.Risk.Class)
	if a.Risk.Category != "" {
		risk += " (" + shown(a.Risk.Class) + ", " + shown(a.Risk.Category) + ")"
	}
	field("Risk", risk)
	field("What", shown(a.Summary))
	if a.Undo != nil {
		style := s.warn
		if a.Undo.Kept {
			style = s.good
		}
		field("Undo", style.Styled(shown(a.Undo.Text)))
	}
	if !slices.ContainsFunc(a.Marks, func(m wire.Mark) bool { return m.Text == a.Reason }) {
		field("Why", shown(a.Reason)) // otherwise the mark says it
	}
	if a.Prompt != "" {
		field("Asked for", shown(a.Prompt))
	}
}

// command returns lines with one effective command and what it touches.
func (s *styles) command(c wire.Command, width int) (lines []string) {
	for i, line := range fold(words(c.Argv), width-4) {
		mark := "$ "
		if i > 0 {
			mark = gutterFold
		}
		lines = append(lines, "  "+mark+line)
	}
	text := s.risk(riskLabel(c.Risk)) + " " + wire.RiskWords(c.Risk)
	for _, part := range []struct {
		name  string
		items []string
	}{{"via", c.Via}, {"reads", c.Reads}, {"writes", c.Writes}} {
		if len(part.items) > 0 {
			text += ", " + part.name + " " + words(part.items)
		}
	}
	return append(lines, block(ansi.NewStyle(), "      ", text, width)...)
}

// whereFrom describes a call's window. It returns "" if only the host's name is known, which the list shows.
func whereFrom(host, principal, folder, branch, terminal string) string {
	if folder == "" && branch == "" && terminal == "" && principal == "" {
		return ""
	}
	text := shown(host)
	for _, part := range []struct{ word, value string }{{" signed in as ", principal}, {" in ", folder}, {" on ", branch}, {" from ", terminal}} {
		if part.value != "" {
			text += part.word + shown(part.value)
		}
	}
	return strings.TrimSpace(text)
}

// maxFeedback limits the text for the model in a denial, in characters.
const maxFeedback = 4000

// denial is the dialog that asks for a reason, which the model gets.
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
		title: s.title.Styled("Deny " + shown(d.approval.Tool)), note: view{m}.timeLeft(d.approval), edge: s.bad, focus: 1,
		lines: []string{
			"The model gets this text as the answer:",
			d.input.view(s, "why, or what to do instead (may be empty)", width),
			s.faint.Styled("Enter denies · Esc goes back"),
		},
	}
}

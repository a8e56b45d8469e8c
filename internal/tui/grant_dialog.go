package tui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// expiries are the choices for how long an "always" holds.
var expiries = [...]struct {
	name string
	d    time.Duration
}{{"never", 0}, {"1 hour", time.Hour}, {"8 hours", 8 * time.Hour}, {"1 day", 24 * time.Hour}, {"7 days", 7 * 24 * time.Hour}, {"30 days", 30 * 24 * time.Hour}}

var scopes = [...]struct{ name, words string }{
	{"worker", "every session of this worker, also later ones"},
	{"session", "this session only"},
}

// grantDialog is the dialog that sets what "always" allows: at most one pattern for each subject, the scope and the
// expiry. The cursor moves over the offers, the scope, the expiry and the buttons.
type grantDialog struct {
	approval *approval
	picked   []bool // by offer
	scope    int
	expiry   int
	cursor   int
	allow    bool // the chosen button; the other one goes back
}

func newGrantDialog(a *approval) *grantDialog {
	d := &grantDialog{approval: a, picked: make([]bool, len(a.Always))}
	for i, o := range a.Always {
		if o.Default && !wire.HighRisk(o.Risk) { // by default, no grant that may lose data is picked
			d.pick(i)
		}
	}
	return d
}

// Rows below the offers.
func (d *grantDialog) scopeRow() int  { return len(d.approval.Always) }
func (d *grantDialog) expiryRow() int { return d.scopeRow() + 1 }
func (d *grantDialog) buttonRow() int { return d.scopeRow() + 2 }

// pick picks an offer instead of the others of its subject, or drops it if it was picked.
func (d *grantDialog) pick(i int) {
	was := d.picked[i]
	for j, o := range d.approval.Always {
		if o.Subject == d.approval.Always[i].Subject {
			d.picked[j] = false
		}
	}
	d.picked[i] = !was
}

func (d *grantDialog) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	step := 0
	switch k.String() {
	case "esc", "q":
		m.dialog = nil
	case "up", "k", "shift+tab":
		d.cursor = max(0, d.cursor-1)
	case "down", "j", "tab":
		d.cursor = min(d.buttonRow(), d.cursor+1)
	case "left", "h":
		step = -1
	case "right", "l":
		step = +1
	case "space":
		if d.cursor < d.scopeRow() {
			d.pick(d.cursor)
		}
	case "enter":
		switch {
		case d.cursor < d.scopeRow():
			d.pick(d.cursor)
		case d.cursor < d.buttonRow():
			d.cursor++
		case d.allow:
			return d.grant(m)
		default:
			m.dialog = nil
		}
	}
	switch d.cursor {
	case d.scopeRow():
		d.scope = min(max(0, d.scope+step), len(scopes)-1)
	case d.expiryRow():
		d.expiry = min(max(0, d.expiry+step), len(expiries)-1)
	case d.buttonRow():
		d.allow = step > 0 || step == 0 && d.allow
	}
	return nil
}

// grant sends the picked offers.
func (d *grantDialog) grant(m *model) tea.Cmd {
	if !slices.Contains(d.picked, true) {
		m.hint("Nothing was sent: pick a pattern with Space, or go back.")
		return nil
	}
	f := wire.ToolApprove{Decision: "always", Scope: scopes[d.scope].name, ExpiresIn: int64(expiries[d.expiry].d / time.Second)}
	for i, o := range d.approval.Always {
		if d.picked[i] {
			n := len(f.Grants)
			f.Grants = slices.Grow(f.Grants, 1)[:n+1]
			f.Grants[n].Tool, f.Grants[n].Pattern = o.Tool, o.Pattern
		}
	}
	return m.answer(d.approval, f)
}

// reach describes how many calls approved in the project an offer covers, and which other known commands it would
// allow. It returns "" if there are none.
func reach(o wire.Offer) string {
	before := ""
	if o.Approved > 0 {
		before = fmt.Sprintf("you approved %d of these in this project", o.Approved)
	}
	if o.NewlyAllows == nil || o.NewlyAllows.Count == 0 {
		return before
	}
	if before != "" {
		before += "; "
	}
	what := "1 known command"
	if o.NewlyAllows.Count > 1 {
		what = fmt.Sprintf("%d known commands", o.NewlyAllows.Count)
	}
	text := before + "would newly allow " + what
	for i, example := range o.NewlyAllows.Examples {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += separator + shown(example)
	}
	return text
}

func (d *grantDialog) content(m *model, width, _ int) boxed {
	s := &m.styles
	b := boxed{title: s.title.Styled("Always allow"), note: view{m}.timeLeft(d.approval), edge: s.warn}
	cursor := func(row int) string {
		if row == d.cursor {
			b.focus = len(b.lines)
			return "▸ "
		}
		return "  "
	}
	add := func(row int, text string) {
		mark := cursor(row)
		for i, line := range wrap(text, width-2, "    ") {
			if i > 0 {
				mark = "  "
			} else if row == d.cursor {
				line = s.title.Styled(line)
			}
			b.lines = append(b.lines, mark+line)
		}
	}
	head := func(subject int) string { return fmt.Sprintf("Part %d of the call: one of", subject+1) }
	if !slices.ContainsFunc(d.approval.Always, func(o wire.Offer) bool { return o.Subject != d.approval.Always[0].Subject }) {
		head = func(int) string { return "One of these:" }
	}
	subject := -1
	for i, o := range d.approval.Always {
		if o.Subject != subject {
			subject = o.Subject
			b.lines = append(b.lines, s.faint.Styled(head(subject)))
		}
		radio := "( ) "
		if d.picked[i] {
			radio = "(•) "
		}
		add(i, radio+o.Allows()+" · at worst "+wire.RiskWords(o.Risk))
		b.lines = append(b.lines, block(s.warn, "      ", reach(o), width)...)
	}
	add(d.scopeRow(), fmt.Sprintf("For      ‹ %s ›  %s", scopes[d.scope].name, scopes[d.scope].words))
	add(d.expiryRow(), fmt.Sprintf("Expires  ‹ %s ›", expiries[d.expiry].name))
	b.lines = append(b.lines, cursor(d.buttonRow())+s.either("Go back", "Allow always", d.allow))
	b.lines = append(b.lines, s.faint.Styled("↑↓ row · Space pick · ←→ change · Enter · Esc goes back"))
	return b
}

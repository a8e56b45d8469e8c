package gate

import (
	"fmt"
	"slices"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/permissions"
)

// flowMarks says what flow asks about the call.
func (j *Judge) flowMarks(v Verdict, call Call) (marks []tools.Mark) {
	if j.flow == nil {
		return nil
	}
	m := &j.flow.memory
	untrusted, armed := m.Seen(flow.Untrusted, j.trustsSource)
	if !armed {
		return nil
	}
	mark := func(code, text string, arguments ...any) {
		marks = append(marks, tools.Mark{Code: code, Text: fmt.Sprintf(text, arguments...)})
	}
	if file, from, ok := j.flow.runsMade(v.Analysis, j.trustsSource); ok {
		mark(markFlowRuns, "It runs %s, which this session made of text from %s.", tools.Visible(file), described(from))
	}
	o := outgoingOf(call, v.Analysis)
	if o.effect == "" || o.effect == tools.EffectOwn && len(o.to) == 0 {
		return marks
	}
	doubtful := func(what, text string) bool {
		if known := m.Know(text); known.In&flow.Untrusted != 0 && known.Said == 0 && telling(text) && !j.trustsSource(known.From.Tool) && !j.namedByRule(v, call, text) {
			mark(markFlowUntrusted, "The %s %s is known only from %s.", what, shown(text), described(known.From))
			return true
		}
		return false
	}
	unnamed := ""
	private, sawPrivate := m.Seen(flow.Private|flow.Secret, nil)
	for _, to := range o.to {
		if j.named(v, call, to, false) {
			continue
		}
		known := m.Know(to)
		if o.effect == effectFetch && known.In&flow.Orders != 0 && known.Said == 0 && !j.trustsSource(known.From.Tool) {
			mark(markFlowUntrusted, "The address %s stands in %s, which reads as if it told the model what to do.", shown(to), described(known.From))
			continue
		}
		if o.effect == effectFetch || o.effect == effectUnknown && hostOf(to) != "" && !strings.Contains(to, "@") {
			// A link that stands in a result as it is carries nothing out; one that was put together can.
			if sawPrivate && known.In == 0 && carriesData(to) {
				unnamed = to
			}
			continue
		}
		unnamed = to
		if !doubtful("destination", to) {
			if host := hostOf(to); host != "" && host != to && m.Know(host).Said == 0 {
				doubtful("destination", host)
			}
		}
	}
	if o.effect == tools.EffectOwn { // it goes no further than the user's own at that place
		return marks
	}
	for _, p := range o.packages {
		doubtful("package", p)
	}
	if o.effect == tools.EffectDeletes && len(o.commands) == 0 {
		for _, text := range o.content {
			if !strings.ContainsAny(text, " \n") && len(text) >= 8 {
				doubtful("id", text)
			}
		}
	}
	for _, command := range o.commands {
		if len(marks) == 0 && len(command) >= 12 {
			if c, ok := m.Carry(command, flow.Untrusted); ok && 3*len(c.Text) >= 2*len(command) && !j.trustsSource(c.From.Tool) {
				mark(markFlowUntrusted, "The command %s stands in %s.", shown(c.Text), described(c.From))
			}
		}
	}
	for _, n := range o.amounts {
		if len(strings.Trim(n, "0.")) >= 4 {
			doubtful("amount", n)
		}
	}
	if !o.leaves() && unnamed == "" {
		return marks
	}
	if o.leaves() {
		nobody := unnamed != "" || len(o.to) == 0 && !o.optional && o.effect != effectUnknown && !spelledOut(v)
		for _, text := range o.content {
			if len(o.commands) == 0 && (strings.Contains(text, "://") || strings.Contains(text, "www.")) {
				for _, link := range links.FindAllString(text, 16) {
					if !doubtful("address", strings.TrimRight(link, ".,;:!?)")) {
						continue
					}
					break
				}
			}
			if c, ok := m.Carry(text, flow.Secret); ok {
				mark(markFlowSecret, "It takes a secret out that %s held.", described(c.From))
			} else if !nobody || !sawPrivate {
				continue
			} else if c, ok := m.Carry(text, flow.Private); ok {
				mark(markFlowPrivate, "It takes %s from %s %s.", shown(c.Text), described(c.From), toward(unnamed))
			}
		}
		if !nobody {
			return marks
		}
	}
	if sawPrivate && len(marks) == 0 {
		mark(markFlowUnnamed, "The session has read private data (%s) and untrusted text (%s), and this leaves %s.", described(private), described(untrusted), toward(unnamed))
	}
	return marks
}

// toward ends a sentence with where something goes.
func toward(to string) string {
	if to == "" {
		return "to a place that the call does not name"
	}
	return "to " + shown(to) + ", which neither you nor a rule named"
}

// described names a result for people.
func described(s flow.Source) string {
	return fmt.Sprintf("the result of %s at %s", tools.Visible(s.Tool), s.At.Format("15:04:05"))
}

// shown quotes a text for people.
func shown(text string) string {
	if runes := []rune(text); len(runes) > 80 {
		text = string(runes[:80]) + "…"
	}
	return fmt.Sprintf("%q", tools.Visible(text))
}

// isFlow reports whether flow set the mark.
func isFlow(m tools.Mark) bool { return strings.HasPrefix(m.Code, "flow-") }

// flowOffers are answers that last, for a call that only flow marks: its destinations, and the tools whose results the
// marks speak of.
func (j *Judge) flowOffers(v *Verdict, call Call, marks []tools.Mark) (offers []tools.Offer) {
	if j.flow == nil || len(marks) == 0 || slices.ContainsFunc(marks, func(m tools.Mark) bool { return !isFlow(m) || m.Code == markFlowSecret || m.Code == markFlowRuns }) {
		return nil
	}
	o := outgoingOf(call, v.Analysis)
	for _, to := range slices.Concat(o.to, o.packages) {
		if !j.named(*v, call, to, false) {
			offers = append(offers, tools.Offer{Tool: grantDestination, Pattern: permissions.QuoteGlob(to), Risk: v.Risk(), Default: true})
		}
	}
	if from, ok := j.flow.memory.Seen(flow.Untrusted, j.trustsSource); ok {
		offers = append(offers, tools.Offer{Tool: grantSource, Pattern: permissions.QuoteGlob(from.Tool), Risk: permissions.ReadOnly})
	}
	return offers
}

// flowFacts says what rules with a condition ask of a call.
func (j *Judge) flowFacts(call Call, a *tools.Analysis) (carries, from []string) {
	if j.flow == nil || !j.Policy.AsksFlow() {
		return nil, nil
	}
	m, o := &j.flow.memory, outgoingOf(call, a)
	texts := o.content
	if len(texts) == 0 {
		for _, v := range argumentsOf(call.Arguments) {
			texts = append(texts, v.text)
		}
	}
	for label, name := range map[flow.Label]string{flow.Private: "private", flow.Secret: "secret"} {
		if slices.ContainsFunc(texts, func(t string) bool { _, ok := m.Carry(t, label); return ok }) {
			carries = append(carries, name)
		}
	}
	for _, text := range slices.Concat(o.to, o.packages, o.commands, o.amounts) {
		if known := m.Know(text); telling(text) && known.In&flow.Untrusted != 0 && known.Said == 0 {
			from = []string{"untrusted"}
		}
	}
	return carries, from
}

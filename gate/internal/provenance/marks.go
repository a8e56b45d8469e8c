package provenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/secrets"
	"callgate/permissions"
)

// Asker asks about where the values of a call come from and where they would go.
type Asker struct {
	Policy  *permissions.Policy
	Session *Session        // nil asks nothing
	Secrets *secrets.Memory // credentials that results of the session held; nil knows none
	Dir     string          // where the call runs; a grant for another workspace does not count
	Now     time.Time
}

// Judged is what is known of a call when flow looks at it.
type Judged struct {
	Analysis *tools.Analysis
	Findings []permissions.Finding
}

// Marks returns the marks that flow sets on the call.
func (j *Asker) Marks(v Judged, call *facts.Call) []tools.Mark {
	if j.Session == nil {
		return nil
	}
	untrusted, armed := j.Session.Memory.Seen(flow.Untrusted, j.trustsSource)
	if !armed {
		return nil
	}
	q := flowQuestions{judge: j, memory: &j.Session.Memory, verdict: v, call: call}
	q.ofRunning()
	q.out = outgoingOf(call, v.Analysis)
	if q.out.effect == "" {
		return q.marks
	}
	q.ofEffect(untrusted)
	q.ofOrders()
	return q.marks
}

// ofEffect asks where the call goes and what it takes along.
func (q *flowQuestions) ofEffect(untrusted flow.Source) {
	if q.out.effect == tools.EffectOwn && len(q.out.To) == 0 {
		return
	}
	private, sawPrivate := q.memory.Seen(flow.Private|flow.Secret, nil)
	unnamed := q.ofDestinations(sawPrivate)
	if q.out.effect == tools.EffectOwn { // it goes no further than the user's own at that place
		return
	}
	q.ofParts()
	_, ordered := q.memory.Seen(flow.Orders, q.judge.trustsSource)
	after := "after a result that reads as if it told the model what to do"
	if q.out.leaves() {
		nobody := unnamed != "" || len(q.out.To) == 0 && !q.out.optional && q.out.effect != effectUnknown && !spelledOut(q.verdict)
		if nobody {
			after = toward(unnamed)
		}
		q.ofContent(sawPrivate && (nobody || ordered), after)
		if !nobody {
			return
		}
	} else {
		if q.call.Tool.Kind == "" { // the words of a search
			q.ofContent(sawPrivate && ordered, after)
		}
		if unnamed == "" {
			return
		}
	}
	if sawPrivate && len(q.marks) == 0 {
		q.mark(markFlowUnnamed, unnamed, untrusted, "The session has read %s and untrusted text (%s), and this leaves %s.", privately(private), described(untrusted), toward(unnamed))
	}
}

// flowQuestions gathers what flow asks about one call.
type flowQuestions struct {
	judge   *Asker
	memory  *flow.Memory
	verdict Judged
	call    *facts.Call
	out     Outgoing
	marks   []tools.Mark
}

// mark adds a question about quote, words of the arguments that a result held.
func (q *flowQuestions) mark(code, quote string, from flow.Source, text string, arguments ...any) {
	source := tools.Source{Call: from.Call, Tool: from.Tool, Server: from.Server, At: from.At.UTC().Truncate(time.Second)}
	q.marks = append(q.marks, tools.Mark{Code: code, Text: fmt.Sprintf(text, arguments...), Quote: quote, From: source})
}

// doubtful marks a value that is known only from untrusted text, and reports whether it did.
func (q *flowQuestions) doubtful(what, text string) bool {
	known := q.memory.Know(text)
	if known.In&flow.Untrusted == 0 || known.Said != 0 || !facts.IsDistinctive(text) || q.judge.trusts(known.From) || q.judge.namedByRule(q.verdict, q.call, text) {
		return false
	}
	q.mark(markFlowUntrusted, text, known.From, "The %s %s is known only from %s.", what, quote(text), described(known.From))
	return true
}

// ofRunning asks about a file that the session made of untrusted text.
func (q *flowQuestions) ofRunning() {
	if file, from, ok := q.judge.Session.runsMade(q.verdict.Analysis, q.judge.trustsSource); ok {
		q.mark(markFlowRuns, "", from, "It runs %s, which this session made of text from %s.", tools.Visible(file), described(from))
	}
}

// ofDestinations asks where the call goes. It returns a place that nobody named and that the call gives something, or
// "".
func (q *flowQuestions) ofDestinations(sawPrivate bool) (unnamed string) {
	for _, to := range q.out.To {
		if q.judge.named(q.verdict, q.call, to, false) {
			continue
		}
		known := q.memory.Know(to)
		switch fetches := q.out.effect == effectFetch; {
		case fetches && known.In&flow.Orders != 0 && known.Said == 0 && !q.judge.trusts(known.From):
			q.mark(markFlowUntrusted, to, known.From, "The address %s is in %s, which reads like orders to the model.", quote(to), described(known.From))
		case fetches, q.out.effect == effectUnknown && !q.out.loses && q.call.Tool.MayOpen() && (facts.Value{Text: to}).LooksLikePage():
			// A link that stands in a result as it is carries nothing out; one that was put together can.
			if sawPrivate && known.In == 0 && (facts.CarriesData(to) || q.takesAlong(to)) {
				unnamed = to
			}
		default:
			unnamed = to
			q.ofPlace(to)
		}
	}
	return unnamed
}

// takesAlong reports whether an address at a host that nobody has mentioned holds private text. The text must be more
// than a common word: long, or with a digit or a capital letter.
func (q *flowQuestions) takesAlong(to string) bool {
	if host := q.memory.Know(facts.HostOf(to)); host.Said != 0 || host.In != 0 {
		return false
	}
	c, ok := q.memory.Match(to, flow.Private|flow.Secret)
	return ok && (len(c.Text) >= 16 || strings.ContainsAny(c.Text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
}

// ofPlace asks about a destination, or about its host.
func (q *flowQuestions) ofPlace(to string) {
	if q.doubtful("destination", to) {
		return
	}
	if host := facts.HostOf(to); host != "" && host != to && q.memory.Know(host).Said == 0 {
		q.doubtful("destination", host)
	}
}

// ofParts asks about packages, ids of deleted things, commands and amounts.
func (q *flowQuestions) ofParts() {
	for _, p := range q.out.packages {
		q.doubtful("package", p)
	}
	q.ofLoss()
	for _, command := range q.out.commands {
		if len(q.marks) > 0 || len(command) < 12 {
			continue
		}
		if c, ok := q.memory.Match(command, flow.Untrusted); ok && 3*len(c.Text) >= 2*len(command) && !q.judge.trusts(c.From) {
			q.mark(markFlowUntrusted, c.Text, c.From, "The command %s is in %s.", quote(c.Text), described(c.From))
		}
	}
	for _, n := range q.out.amounts {
		if len(strings.Trim(n, "0.")) >= 4 {
			q.doubtful("amount", n)
		}
	}
}

// ofLoss asks about what a tool deletes for good, and about a change of who may do what: if a value is known only from
// untrusted text, or if a result gave the model orders and nobody named any of the values.
func (q *flowQuestions) ofLoss() {
	if !q.out.loses {
		return
	}
	named := false
	for _, text := range q.out.content {
		if !strings.ContainsAny(text, " \n") && len(text) >= 8 {
			q.doubtful("value", text)
		}
		named = named || q.memory.Know(text).Said != 0
	}
	for _, to := range q.out.To {
		named = named || q.judge.named(q.verdict, q.call, to, false)
	}
	if from, ok := q.memory.Seen(flow.Orders, q.judge.trustsSource); ok && !named && len(q.marks) == 0 {
		q.mark(markFlowUntrusted, "", from, "It deletes or gives away what nobody named, and %s reads like orders to the model.", described(from))
	}
}

// ofContent asks about what the call gives away: secrets, links, and private text if it matters here. why ends the
// sentence about private text.
func (q *flowQuestions) ofContent(private bool, why string) {
	for _, text := range q.out.content {
		if len(q.out.commands) == 0 {
			q.ofLinks(text)
		}
		if c, ok := q.memory.Match(text, flow.Secret); ok {
			q.mark(markFlowSecret, "", c.From, "It takes a secret out that %s held.", described(c.From))
		} else if !private {
			continue
		} else if c, ok := q.memory.Match(text, flow.Private); ok {
			q.mark(markFlowPrivate, c.Text, c.From, "It takes %s from %s %s.", quote(c.Text), described(c.From), why)
		}
	}
}

// ofOrders asks about what a call takes from a result that gave the model orders: a name or an id that nobody else
// said, or a piece of the text. What the call keeps as the user's own counts too, because the model may obey it later.
func (q *flowQuestions) ofOrders() {
	if _, ok := q.memory.Seen(flow.Orders, q.judge.trustsSource); !ok || facts.FileKind(q.call.Tool.Kind) || len(q.verdict.Analysis.Commands) > 0 || q.out.effect == effectFetch {
		return
	}
	for _, v := range q.call.Values() {
		if v.Number || len(q.marks) > 0 {
			continue
		}
		if c, ok := q.memory.Match(v.Text, flow.Orders); ok && len(c.Text) >= 24 {
			q.heeds(c.Text, c.From)
		} else if known := q.memory.Know(v.Text); len(v.Text) <= 64 && facts.Distinct(v.Text) && known.In&flow.Orders != 0 && known.Said == 0 {
			q.heeds(v.Text, known.From)
		}
	}
}

// heeds marks words from a result with orders to the model, unless a person trusts it or a rule names the words.
func (q *flowQuestions) heeds(text string, from flow.Source) {
	if !q.judge.trusts(from) && !q.judge.namedByRule(q.verdict, q.call, text) {
		q.mark(markFlowUntrusted, text, from, "It takes %s from %s, and a result of this tool reads as if it told the model what to do.", quote(text), described(from))
	}
}

// ofLinks asks about the first address in a text that is known only from untrusted text. An address that was put
// together counts by its host: its query can carry anything there, as that of a picture does when somebody looks at it.
func (q *flowQuestions) ofLinks(text string) {
	if !strings.Contains(text, "://") && !strings.Contains(text, "www.") {
		return
	}
	for _, link := range facts.Links(text, 16) {
		link = strings.TrimRight(link, ".,;:!?)")
		if q.doubtful("address", link) || strings.Contains(link, "?") && q.memory.Know(link) == (flow.Known{}) && q.doubtful("host", facts.HostOf(link)) {
			return
		}
	}
}

// toward returns the end of a sentence that says where something goes.
func toward(to string) string {
	if to == "" {
		return "to a place that the call does not name"
	}
	return "to " + quote(to) + ", which neither you nor a rule named"
}

// described names a result for people.
func described(s flow.Source) string {
	return fmt.Sprintf("the result of %s at %s", tools.Visible(s.Tool), s.At.Format("15:04:05"))
}

// privately names a private result for people, who may know better if nobody labelled its tool.
func privately(s flow.Source) string {
	if s.Guess {
		return fmt.Sprintf("what may be private (%s, a tool without labels)", described(s))
	}
	return fmt.Sprintf("private data (%s)", described(s))
}

// quote quotes a text for people.
func quote(text string) string {
	if runes := []rune(text); len(runes) > 80 {
		text = string(runes[:80]) + "…"
	}
	return fmt.Sprintf("%q", tools.Visible(text))
}

// IsFlow reports whether flow set the mark.
func IsFlow(m tools.Mark) bool { return strings.HasPrefix(m.Code, "flow-") }

// OfResults reports whether a mark of the flow rules compares a call's arguments with results.
func OfResults(m tools.Mark) bool { return IsFlow(m) && m.Code != markFlowRuns }

// Offers returns lasting answers for a call that only flow marks: for its destinations, for the results that the marks
// speak of, and for the tool that returned one.
func (j *Asker) Offers(v Judged, call *facts.Call, marks []tools.Mark) (offers []tools.Offer) {
	if j.Session == nil || len(marks) == 0 || slices.ContainsFunc(marks, func(m tools.Mark) bool { return !IsFlow(m) || m.Code == markFlowSecret || m.Code == markFlowRuns }) {
		return nil
	}
	o := outgoingOf(call, v.Analysis)
	for _, to := range slices.Concat(o.To, o.packages) {
		if !j.named(v, call, to, false) {
			offers = append(offers, tools.Offer{Tool: GrantDestination, Pattern: strings.Clone(permissions.QuoteGlob(to)), Risk: v.Analysis.Risk, Default: true})
		}
	}
	for _, m := range marks {
		if o := (tools.Offer{Tool: GrantResult, Pattern: permissions.QuoteGlob(m.From.Call), Risk: permissions.ReadOnly}); m.Code == markFlowUntrusted && !slices.Contains(offers, o) {
			offers = append(offers, o)
		}
	}
	if from, ok := j.Session.Memory.Seen(flow.Untrusted, j.trustsSource); ok {
		offers = append(offers, tools.Offer{Tool: GrantSource, Pattern: permissions.QuoteGlob(from.Tool), Risk: permissions.ReadOnly})
	}
	return offers
}

// Facts returns what rules with a flow condition ask about a call: what it carries, and where its values come from.
func (j *Asker) Facts(call *facts.Call, a *tools.Analysis) (carries, from []string) {
	if j.Session == nil || !j.Policy.AsksFlow() {
		return nil, nil
	}
	m, o := &j.Session.Memory, outgoingOf(call, a)
	texts := o.content
	if len(texts) == 0 {
		for _, v := range call.Values() {
			texts = append(texts, v.Text)
		}
	}
	for label, name := range map[flow.Label]string{flow.Private: "private", flow.Secret: "secret"} {
		if slices.ContainsFunc(texts, func(t string) bool { _, ok := m.Match(t, label); return ok }) {
			carries = append(carries, name)
		}
	}
	for _, text := range slices.Concat(o.To, o.packages, o.commands, o.amounts) {
		if known := m.Know(text); facts.IsDistinctive(text) && known.In&flow.Untrusted != 0 && known.Said == 0 {
			from = []string{"untrusted"}
		}
	}
	return carries, from
}

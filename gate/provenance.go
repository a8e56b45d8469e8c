package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/publicsuffix"

	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/jsonx"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// Flow adds questions about where the values of a call come from and where they would go. It never allows anything, and a
// session that read nothing untrusted is never asked by it.

// Codes of the marks that flow sets.
const (
	markFlowSecret    = "flow-secret"    // a secret of a result leaves
	markFlowPrivate   = "flow-private"   // private text of a result leaves to a place that nobody named
	markFlowUntrusted = "flow-untrusted" // a destination, command, package, URL or amount is known only from untrusted text
	markFlowRuns      = "flow-runs"      // a file that was made of untrusted text is run
	markFlowUnnamed   = "flow-unnamed"   // private and untrusted data were read, and something leaves to a place that nobody named
)

// What grants of flow are called in the rules file: a destination that is fine, a tool whose results are trusted.
const (
	grantDestination = "flow:destination"
	grantSource      = "flow:source"
)

// provenance is what flow keeps of a session.
type provenance struct {
	off    bool // nothing is remembered
	memory flow.Memory

	mu      sync.Mutex
	results map[string]origin      // by call id: what the result of a call that runs will be
	made    map[string]flow.Source // files and folders that the session made of untrusted text
}

// origin is what a result is: its label, or that it holds the user's own files or records.
type origin struct {
	label flow.Label
	own   flow.Speaker
}

// outgoing is what a call does, as flow looks at it.
type outgoing struct {
	effect   string   // one of the effects of tools.Labels; fetches for what only asks for an address; "" for none
	to       []string // destinations
	names    bool     // the tool has arguments for destinations, or the destination is part of what it is
	optional bool     // all of them were left out, and may be
	content  []string // what goes there
	packages []string // what is installed
	commands []string // what is run
	amounts  []string
}

// effectFetch is the effect of a call that asks for an address and sends nothing else.
const effectFetch = "fetches"

// effectUnknown is that of a tool that nobody labelled: it sends only where an argument looks like an address.
const effectUnknown = "unknown"

// leaves reports whether the call lets others have something.
func (o *outgoing) leaves() bool {
	return o.effect == tools.EffectOutside || o.effect == tools.EffectMoney || o.effect == effectUnknown
}

// outgoingOf reads a call.
func outgoingOf(call Call, a *tools.Analysis) (o outgoing) {
	t := call.Tool
	switch {
	case t == nil:
	case len(a.Commands) > 0:
		o.ofCommands(a)
	case t.Kind == tools.KindFetch:
		o.effect, o.names = effectFetch, true
		for _, v := range argumentsOf(call.Arguments) {
			if v.looksLikeAddress() {
				o.to = append(o.to, v.text)
			}
		}
	case t.Labels.Effect == tools.EffectNone, t.Bound && isFileKind(t.Kind), a.Risk == permissions.ReadOnly:
		o.effect = ""
		if t.Bound && isFileKind(t.Kind) && a.Risk.Exceeds(permissions.ReadOnly) {
			o.effect = tools.EffectOwn
		}
		if t.Kind == "" {
			o.ofReading(call)
		}
	case t.Labels.Effect != "":
		o.ofLabels(call, &t.Labels)
	case t.Reads() && !t.Bound:
	default:
		if l, ok := t.Suspected(); ok && !t.Bound && len(l.Destination) > 0 {
			o.ofLabels(call, &l)
			return o
		}
		o.effect = effectUnknown
		for _, v := range argumentsOf(call.Arguments) {
			if v.looksLikeAddress() {
				o.to = append(o.to, v.text)
			} else {
				o.content = append(o.content, v.text)
			}
		}
	}
	return o
}

// ofReading reads a call of a tool that only looks: an address that it is given tells the place something.
func (o *outgoing) ofReading(call Call) {
	if !bytes.Contains(call.Arguments, []byte("://")) {
		return
	}
	for _, v := range argumentsOf(call.Arguments) {
		if scheme, _, ok := strings.Cut(v.text, "://"); ok && webSchemes[strings.ToLower(scheme)] {
			o.effect, o.names = effectFetch, true
			o.to = append(o.to, v.text)
		}
	}
}

var webSchemes = wordsOf("http https ws wss ftp ftps")

// ofLabels reads a call of a labelled tool. Where no argument is said to carry text, all that are no destination do.
func (o *outgoing) ofLabels(call Call, l *tools.Labels) {
	o.effect, o.names = l.Effect, len(l.Destination) > 0
	for _, v := range argumentsOf(call.Arguments) {
		switch {
		case v.under(l.Destination):
			if v.text != "" {
				o.to = append(o.to, v.text)
			}
		case v.under(l.Content) || len(l.Content) == 0:
			o.content = append(o.content, v.text)
			if v.number && l.Effect == tools.EffectMoney {
				o.amounts = append(o.amounts, v.text)
			}
		case v.number && l.Effect == tools.EffectMoney:
			o.amounts = append(o.amounts, v.text)
		}
	}
	if o.names && len(o.to) == 0 && o.effect == tools.EffectOutside {
		o.optional = !requires(call.Tool.Definition, l.Destination)
	}
	// Issue 12 of the repository that the user named is as good as the repository: a number is only a part of the place.
	if named := slices.DeleteFunc(slices.Clone(o.to), isPart); len(named) > 0 {
		o.to = named
	}
}

func isPart(value string) bool { return strings.Trim(value, "0123456789.") == "" }

// ofCommands reads a shell text.
func (o *outgoing) ofCommands(a *tools.Analysis) {
	rank := func(effect string) {
		order := []string{"", tools.EffectOwn, effectFetch, tools.EffectDeletes, tools.EffectOutside}
		if slices.Index(order, effect) > slices.Index(order, o.effect) {
			o.effect = effect
		}
	}
	remotes, others := false, false
	for _, c := range a.Commands {
		if len(c.Argv) == 0 || c.Risk == permissions.ReadOnly || c.Risk == permissions.BuildTest {
			continue
		}
		text := strings.Join(c.Argv, " ")
		anything := c.Risk == permissions.Unknown && about(program(c)).Has(programs.SometimesSends) // of a program that sends: it may
		switch sends := c.Sends || len(c.Connects) > 0 || anything || uploads.MatchString(text); {
		case sends:
			rank(tools.EffectOutside)
			if program(c) == "git" { // a remote by its name goes where the repository's settings say
				remotes = true
			} else {
				others = true
			}
		case c.Risk == permissions.Destructive:
			rank(tools.EffectDeletes)
		case c.Risk == permissions.Network:
			rank(effectFetch)
		case c.Risk == permissions.Write:
			rank(tools.EffectOwn)
		default:
			rank(effectFetch)
		}
		o.to = append(o.to, c.Connects...)
		for i, word := range c.Argv[1:] {
			switch v := (value{text: word}); {
			case v.looksLikeAddress():
				o.to = append(o.to, word)
			case installs(c.Argv) && i > 0 && !strings.HasPrefix(word, "-"):
				o.packages = append(o.packages, word)
			}
		}
		if c.Risk.Exceeds(permissions.Network) || o.effect == tools.EffectOutside {
			o.commands = append(o.commands, text)
		}
		o.content = append(o.content, text)
	}
	o.names, o.optional = len(o.to) > 0, remotes && !others
}

// uploads is what makes a program that fetches send.
var uploads = regexp.MustCompile(`^(?:curl|wget|xh|http|https|httpie)\b.* (?:-d|-F|-T|--data\S*|--form\S*|--upload-file|--json|--post-\S+|--body-\S+|-X ?(?:POST|PUT|PATCH))`)

// installs reports whether a command brings packages in.
func installs(argv []string) bool {
	if len(argv) < 2 {
		return false
	}
	name := program(tools.CommandView{Argv: argv})
	switch argv[1] {
	case "install", "i", "add", "get", "tool", "require", "dlx", "exec", "x":
		return installers[name]
	}
	return runners[name]
}

var (
	installers = wordsOf("npm pnpm yarn bun pip pip3 pipx uv poetry cargo go gem brew apt apt-get dnf apk composer conda deno")
	runners    = wordsOf("npx bunx uvx pnpx")
)

// value is one text or number of the arguments, under the name of the top-level argument that holds it.
type value struct {
	name   string // of the argument, and the members within: body.to
	text   string
	number bool
}

// under reports whether the value stands at a place that labels name, or within it.
func (v value) under(places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool {
		return len(v.name) >= len(p) && strings.EqualFold(v.name[:len(p)], p) && (len(v.name) == len(p) || v.name[len(p)] == '.')
	})
}

var addressForm = regexp.MustCompile(`(?i)^(?:[a-z][a-z0-9+.-]*://\S+|[^\s@/]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[:/]\S*)?|(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[:/]\S*)?|\+?[0-9][0-9 ()-]{7,}|#?[a-z]{2}[0-9]{2}[a-z0-9]{10,})$`)

// looksLikeAddress reports whether it names a place by its form: a URL, a host, a mail address, a telephone or account
// number.
func (v value) looksLikeAddress() bool {
	return !v.number && len(v.text) <= 2048 && strings.ContainsAny(v.text, ".:@0123456789") && strings.IndexByte(v.text, '\n') < 0 &&
		addressForm.MatchString(v.text) && !fileName(v.text)
}

// fileName reports whether what has the form of a host is a file's name instead: notes.txt, README.md.
func fileName(text string) bool {
	if strings.ContainsAny(text, "/:@+#") || !strings.Contains(text, ".") {
		return false
	}
	suffix, listed := publicsuffix.PublicSuffix(strings.ToLower(text))
	return !listed || strings.Count(text, ".") == 1 && fileEndings[suffix]
}

// fileEndings are domains of countries and companies that more files than hosts end in.
var fileEndings = wordsOf("cc md ml mov pl ps py rs sh so tf zip")

// argumentsOf lists all texts and numbers of the arguments.
func argumentsOf(raw []byte) (list []value) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	var names []string // of the members that enclose the next value, "" for elements of lists
	for len(raw) > 0 {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		depth := d.StackDepth()
		switch in, n := d.StackIndex(depth); {
		case token.Kind() == '0':
			list = append(list, value{name: joined(names, depth), text: token.String(), number: true})
		case token.Kind() != '"':
		case in == '{' && n%2 == 1:
			for len(names) < depth {
				names = append(names, "")
			}
			names = append(names[:depth-1], token.String())
		default:
			list = append(list, value{name: joined(names, depth), text: token.String()})
		}
	}
	return list
}

// joined is the place of a value at a depth.
func joined(names []string, depth int) string {
	names = names[:min(depth, len(names))]
	if len(names) == 1 {
		return names[0]
	}
	place := ""
	for _, n := range names {
		switch {
		case n == "":
		case place == "":
			place = n
		default:
			place += "." + n
		}
	}
	return place
}

// requires reports whether the schema of a definition requires one of the arguments. A schema that cannot be read does.
func requires(definition []byte, names []string) bool {
	var d struct {
		InputSchema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"inputSchema"`
	}
	if json.Unmarshal(definition, &d) != nil || d.InputSchema.Properties == nil {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(d.InputSchema.Required, n) })
}

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

// links finds addresses within a text.
var links = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s"'<>()\[\]{}|` + "`" + `]+`)

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

// telling reports whether a value says enough to have come from somewhere: not a single digit or a word like "me".
func telling(text string) bool {
	n := 0
	for _, r := range text {
		if r > ' ' {
			n++
		}
	}
	return n >= 4
}

// carriesData reports whether an address has room for something beyond the place: a query, a long path, a long label of
// the host.
func carriesData(to string) bool {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return true
	}
	return u.RawQuery != "" || u.Fragment != "" || len(u.Path) > 40 || slices.ContainsFunc(strings.Split(u.Host, "."), func(label string) bool { return len(label) > 24 })
}

// carriesCode reports whether a part of an address is a long word of letters and digits: an account, a key, something
// encoded. The name of a commit within a path is none.
func carriesCode(to string) bool {
	u, err := url.Parse(to)
	if err != nil {
		return true
	}
	parts := strings.FieldsFunc(u.RawQuery+"&"+u.Fragment, func(r rune) bool { return strings.ContainsRune("&=;+,/", r) })
	for _, segment := range strings.Split(u.Path, "/") {
		if len(segment) != 40 || strings.Trim(segment, "0123456789abcdef") != "" {
			parts = append(parts, segment)
		}
	}
	return slices.ContainsFunc(append(parts, strings.Split(u.Host, ".")...), func(part string) bool {
		return len(part) >= 24 && strings.ContainsAny(part, "0123456789") && strings.IndexFunc(part, func(r rune) bool {
			return r != '_' && r != '%' && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
		}) < 0 && strings.ContainsFunc(part, unicode.IsLetter)
	})
}

// hostOf returns the host of an address, "" for a value that has none.
func hostOf(to string) string {
	if u, err := url.Parse(to); err == nil && u.Host != "" {
		return u.Hostname()
	}
	if at := strings.LastIndexByte(to, '@'); at > 0 {
		return ""
	}
	host, _, _ := strings.Cut(to, "/")
	return host
}

// named reports whether the user's side or a rule names a destination. Strictly is for payments: only the user's own
// words name those. Files of the workspace name nothing once untrusted text was read: it may stand in them.
func (j *Judge) named(v Verdict, call Call, to string, strictly bool) bool {
	if j.namedByRule(v, call, to) {
		return true
	}
	if j.flow == nil {
		return false
	}
	by := flow.Prompt | flow.Answer | flow.Record
	if strictly {
		by = flow.Prompt
	} else if _, armed := j.flow.memory.Seen(flow.Untrusted, j.trustsSource); !armed {
		by |= flow.Files
	}
	if j.flow.memory.Know(to).Said&by != 0 {
		return true
	}
	host := strings.TrimPrefix(hostOf(to), "www.")
	return host != "" && host != to && !strictly && j.flow.memory.Know(host).Said&(flow.Prompt|flow.Answer) != 0
}

// namedByRule reports whether a grant of flow, or an allow that spells the destination out, names it.
func (j *Judge) namedByRule(v Verdict, call Call, to string) bool {
	if j.granted(grantDestination, to, call, v.Risk()) {
		return true
	}
	if r := j.destinationRule(call, v.Analysis, to); r != nil {
		return r.Action == permissions.Allow
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		pattern := ""
		switch {
		case f.Grant != nil:
			pattern = f.Grant.Pattern
		case f.Rule != nil && f.Action == permissions.Allow:
			pattern = f.Rule.Pattern
		}
		if plain := strings.ReplaceAll(pattern, `\`, ""); len(to) >= 3 && strings.Contains(plain, to) {
			return true
		}
	}
	return false
}

// spelledOut reports whether rules or grants allow every command by two words or more, as in "gh pr create *": who wrote that
// named the operation, and with it the place that it goes to where the command names none.
func spelledOut(v Verdict) (named bool) {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Subject.DeniesOnly || f.Subject.Kind != tools.KindShell || !f.Subject.Risk.Exceeds(permissions.Write) {
			continue
		}
		pattern := ""
		switch {
		case f.Grant != nil:
			pattern = f.Grant.Pattern
		case f.Rule != nil && f.Action == permissions.Allow:
			pattern = f.Rule.Pattern
		}
		literal, _, _ := strings.Cut(pattern, "*")
		if len(strings.Fields(literal)) < 2 || strings.ContainsAny(literal, "?[{(!") {
			return false
		}
		named = true
	}
	return named
}

// destinationRule returns the rule for the call's effect that is about a destination, nil when none is. Of the file's the
// last that matches counts; a deny of the agent's profile is a veto.
func (j *Judge) destinationRule(call Call, a *tools.Analysis, to string) *permissions.Rule {
	if !j.rulesDestinations() {
		return nil
	}
	effect := outgoingOf(call, a).effect
	last := func(rules []permissions.Rule) *permissions.Rule {
		for i := len(rules) - 1; i >= 0; i-- {
			r := &rules[i]
			if r.Tool != effect || !slices.Contains(permissions.EffectKeys, r.Tool) {
				continue
			}
			if glob, err := permissions.CompileGlob(r.Pattern); err == nil && (glob.Match(to) || glob.Match(strings.ToLower(to))) {
				return r
			}
		}
		return nil
	}
	agent, file := last(j.Policy.Agent), last(j.Policy.File)
	if file == nil || agent != nil && agent.Action == permissions.Deny {
		return agent
	}
	return file
}

// rulesDestinations reports whether a rule is about the destinations of an effect.
func (j *Judge) rulesDestinations() bool {
	about := func(r permissions.Rule) bool { return slices.Contains(permissions.EffectKeys, r.Tool) }
	return j.Policy != nil && (slices.ContainsFunc(j.Policy.File, about) || slices.ContainsFunc(j.Policy.Agent, about))
}

// destinationDenials is the part of phase 1 that the rules for an effect decide: any destination's deny is final.
func (j *Judge) destinationDenials(v Verdict, call Call) (Verdict, bool) {
	if !j.rulesDestinations() {
		return v, false
	}
	o := outgoingOf(call, v.Analysis)
	places := o.to
	if len(places) == 0 {
		places = []string{""} // only a rule for every destination is about it
	}
	for _, to := range places {
		if r := j.destinationRule(call, v.Analysis, to); r != nil && r.Action == permissions.Deny {
			return v.deny(DecidedDenied, "rule", r.String(), fmt.Sprintf("The rule %s matches the destination %s.", r, shown(to))), true
		}
	}
	return v, false
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

// trustsSource reports whether a person trusts the results of a tool.
func (j *Judge) trustsSource(tool string) bool {
	return j.granted(grantSource, tool, Call{}, permissions.ReadOnly)
}

// granted looks for a grant of flow.
func (j *Judge) granted(what, text string, call Call, risk permissions.Risk) bool {
	if j.Policy == nil {
		return false
	}
	for i := range j.Policy.Grants {
		g := &j.Policy.Grants[i]
		if g.Tool != what || risk.Exceeds(g.Risk) || !g.Expires.IsZero() && g.Expires.Before(j.Now) {
			continue
		}
		if call.Tool != nil && (g.Server != "" && g.Server != call.Tool.Server || g.Workspace != "" && !inFolder(g.Workspace, call.Place.Dir)) {
			continue
		}
		if glob, err := permissions.CompileGlob(g.Pattern); err == nil && glob.Match(text) {
			return true
		}
	}
	return false
}

func inFolder(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
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

// originOf says what the result of a call will be.
func originOf(call Call, a *tools.Analysis) (o origin) {
	t := call.Tool
	labels := func() {
		for _, r := range t.Labels.Returns {
			switch r {
			case tools.ReturnsPrivate:
				o.label |= flow.Private
			case tools.ReturnsUntrusted:
				o.label |= flow.Untrusted
			case tools.ReturnsSecret:
				o.label |= flow.Secret | flow.Private
			}
		}
		if o.label == flow.Private {
			o.own = flow.Record
		}
	}
	switch {
	case t == nil:
	case t.Kind == tools.KindFetch:
		o.label = flow.Untrusted
	case len(a.Commands) > 0:
		for _, c := range a.Commands {
			switch {
			case c.Risk == permissions.Network || c.Risk == permissions.Unknown && len(c.Argv) > 0 && about(program(c)).Has(programs.CanSend):
				o.label |= flow.Untrusted
				if len(c.Argv) > 0 && !plainFetch[program(c)] {
					o.label |= flow.Private
				}
			case dumpsEnvironment(c):
				o.label |= flow.Secret | flow.Private
			}
		}
		o.ofPaths(call, a)
	case t.Bound && isFileKind(t.Kind) || t.Kind == tools.KindGlob || t.Kind == tools.KindGrep:
		o.ofPaths(call, a)
	case t.Kind == tools.KindPrompt, t.Kind == tools.KindSampling:
		labels()
	case len(t.Labels.Returns) > 0 || t.Labels.Effect != "":
		labels()
	case t.Kind == tools.KindProcessInput, t.Kind == tools.KindShell, t.Kind == tools.KindConnect:
	default:
		o.label = flow.Private | flow.Untrusted
	}
	return o
}

var plainFetch = wordsOf("curl wget wget2 http https xh xhs httpie aria2c dig nslookup host ping")

// ofPaths says what files are: those of the workspace are the user's side, unless others wrote them.
func (o *origin) ofPaths(call Call, a *tools.Analysis) {
	inside := len(a.Paths) > 0
	for _, p := range a.Paths {
		switch {
		case tools.CredentialStore(p) != "" && !template(p):
			o.label |= flow.Secret | flow.Private
			inside = false
		case foreign.MatchString(filepath.ToSlash(p)):
			o.label |= flow.Untrusted
			inside = false
		case !call.Place.Holds(p):
			o.label |= flow.Private
			inside = false
		}
	}
	if inside && o.label == 0 {
		o.own = flow.Files
	}
}

// foreign are folders whose files others wrote.
var foreign = regexp.MustCompile(`(?i)/(?:node_modules|bower_components|vendor|third_party|site-packages|dist-packages|\.venv|\.cargo/registry|go/pkg/mod|Downloads|Attachments)(?:/|$)`)

// will notes what an allowed call is about to give, and what it makes.
func (s *Session) will(call Call, v *Verdict) {
	if s.flow.off || v.Analysis == nil {
		return
	}
	s.flow.before(call, v.Analysis)
	if v.Decision == DecidedApproved {
		out := outgoingOf(call, v.Analysis)
		s.flow.memory.Said(flow.Answer, slices.Concat(out.to, out.packages)...)
	}
}

// before notes what a call is about to give, and what it makes.
func (p *provenance) before(call Call, a *tools.Analysis) {
	o := originOf(call, a)
	p.mu.Lock()
	for _, path := range a.Paths {
		if from, ok := p.madeOf(path); ok {
			o.label |= from.Label
			o.own = 0
		}
	}
	if p.results == nil || len(p.results) >= 4096 { // calls whose end nobody told
		p.results = map[string]origin{}
	}
	p.results[call.ID] = o
	p.mu.Unlock()
	p.makes(call, a, o)
}

// makes notes the files that a call makes of untrusted text: what it fetches, and what it writes of a result.
func (p *provenance) makes(call Call, a *tools.Analysis, o origin) {
	if len(a.Writes) == 0 {
		return
	}
	from, made := flow.Source{}, false
	if _, armed := p.memory.Seen(flow.Untrusted, nil); armed {
		for _, v := range argumentsOf(call.Arguments) {
			if c, ok := p.memory.Carry(v.text, flow.Untrusted); ok && (len(c.Text) >= 24 || 2*len(c.Text) >= len(v.text)) {
				from, made = c.From, true
				break
			}
		}
	}
	if !made && len(a.Commands) > 0 && o.label&flow.Untrusted != 0 {
		from, made = flow.Source{Call: call.ID, Tool: call.Tool.Qualified, Server: call.Tool.Server, At: time.Now(), Label: flow.Untrusted}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range a.Writes {
		if !made {
			continue
		}
		if p.made == nil {
			p.made = map[string]flow.Source{}
		}
		if len(p.made) < 4096 {
			p.made[filepath.Clean(w.Path)] = from
		}
	}
}

// madeOf returns what a file, or a folder above it, was made of; the caller holds mu.
func (p *provenance) madeOf(path string) (flow.Source, bool) {
	if len(p.made) == 0 {
		return flow.Source{}, false
	}
	for path = filepath.Clean(path); ; {
		if from, ok := p.made[path]; ok {
			return from, true
		}
		up := filepath.Dir(path)
		if up == path {
			return flow.Source{}, false
		}
		path = up
	}
}

// runsMade returns a file that the call runs and that the session made of untrusted text.
func (p *provenance) runsMade(a *tools.Analysis, trusted func(string) bool) (string, flow.Source, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var files []string
	for i := range a.Subjects {
		files = append(files, a.Subjects[i].Runs...)
	}
	for _, c := range a.Commands {
		if c.Risk == permissions.Unknown {
			files = append(files, c.Reads...)
		}
	}
	if a.Builds && a.Dir != "" {
		files = append(files, a.Dir)
	}
	for _, f := range files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(a.Dir, f)
		}
		if from, ok := p.madeOf(f); ok && !trusted(from.Tool) {
			return f, from, true
		}
	}
	return "", flow.Source{}, false
}

// Heard takes what the user said to the host of a session. It holds for all sessions that were begun in the same
// folder: a host has one for its own tools and one for those of MCP.
func (g *Gate) Heard(s *Session, text string) {
	s.Prompt(text)
	folder := s.Origin().Folder
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, other := range g.sessions {
		if other != s && folder != "" && other.Origin().Folder == folder {
			other.Prompt(text)
		}
	}
}

// Prompt is Session.Prompt for the session with that id.
func (g *Gate) Prompt(sessionID, text string) error {
	s, err := g.session(sessionID)
	if err == nil {
		s.Prompt(text)
	}
	return err
}

// Prompt tells the session what its user said to the model: what the user names may be written to and sent to.
func (s *Session) Prompt(text string) { s.flow.prompted(text) }

func (p *provenance) prompted(text string) {
	if !p.off {
		p.memory.Said(flow.Prompt, text)
	}
}

// taken returns what the result of a call is, and forgets it.
func (p *provenance) taken(call Call) origin {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.results[call.ID]
	delete(p.results, call.ID)
	return o
}

// saw takes over a result.
func (p *provenance) saw(call Call, o origin, result []byte) {
	switch {
	case o.label != 0:
		if o.label&flow.Untrusted != 0 && orders(result) {
			o.label |= flow.Orders
		}
		p.memory.Saw(flow.Source{Call: call.ID, Tool: call.Tool.Qualified, Server: call.Tool.Server, At: time.Now(), Label: o.label}, jsonx.Strings(result))
	case o.own == 0:
		return
	}
	if o.own != 0 {
		p.memory.Said(o.own, slices.Collect(jsonx.Strings(result))...)
	}
}

// sendsOut reports whether a call lets others have something, by its labels or by what its commands are for.
func sendsOut(call Call, a *tools.Analysis) bool {
	t := call.Tool
	if t == nil {
		return false
	}
	if t.Bound && t.Kind == "" && (t.Labels.Effect == tools.EffectOutside || t.Labels.Effect == tools.EffectMoney) {
		return true
	}
	return slices.ContainsFunc(a.Commands, func(c tools.CommandView) bool { return c.Sends })
}

// unguided says why level GUIDED asks about the call; "" lets it run. Everything that is known runs when it reads, when it
// changes what is the user's own and can be taken back, and when it sends where the user's side or a rule names the
// destination.
func (j *Judge) unguided(v Verdict, call Call) string {
	if !slices.ContainsFunc(v.Findings, func(f permissions.Finding) bool { return !f.Subject.DeniesOnly && f.Grant == nil }) {
		return "" // an earlier "always" lets all of it run
	}
	a, t := v.Analysis, call.Tool
	o := outgoingOf(call, a)
	nowhere := func(strictly bool) string {
		if len(o.to) == 0 && !o.optional {
			return "the call does not say where"
		}
		for _, to := range o.to {
			if !j.named(v, call, to, strictly) {
				return fmt.Sprintf("neither you nor a rule named %s", shown(to))
			}
		}
		return ""
	}
	switch {
	case t == nil, a.Risk == permissions.Escalation:
		return "Nobody knows what it does."
	case len(a.Commands) > 0:
		return j.unguidedCommands(v, call, o)
	case t.Kind == tools.KindFetch && t.Bound:
		return j.unguidedFetch(v, call, o.to)
	case t.Bound && isFileKind(t.Kind):
		switch {
		case a.Risk == permissions.Destructive:
			return "It deletes for good."
		case a.Risk.Exceeds(permissions.ReadOnly):
			for _, w := range a.Writes {
				if !call.Place.Holds(w.Path) {
					return fmt.Sprintf("It writes %s, outside of the workspace.", tools.Visible(w.Path))
				}
			}
		}
	case a.Risk == permissions.ReadOnly:
	case t.Outgrown:
		return "Its arguments are not those that were labelled (callgate tools label)."
	case !t.Bound || t.Labels.Effect == "":
		return "Nobody said what the tool does (callgate tools label)."
	case a.Risk == permissions.Unknown && t.Risk() != permissions.Unknown:
		return "It does more than its label says."
	case o.effect == tools.EffectDeletes:
		return "It deletes for good."
	case o.effect == tools.EffectAccess:
		return "It changes who may do what."
	case o.effect == tools.EffectMoney:
		if why := nowhere(true); why != "" || len(o.to) == 0 {
			return "It pays, and " + cmp.Or(why, "the call does not say whom") + "."
		}
	case o.effect == tools.EffectOutside:
		if why := nowhere(false); why != "" {
			return "It sends, and " + why + "."
		}
	}
	return ""
}

// unguidedFetch is unguided for what asks for pages: an address that neither anybody named nor a result holds was put
// together, and can carry what the session knows.
func (j *Judge) unguidedFetch(v Verdict, call Call, addresses []string) string {
	for _, to := range addresses {
		if j.named(v, call, to, false) {
			continue
		}
		sawSecret := false
		if j.flow != nil {
			if j.flow.memory.Know(to).In != 0 {
				continue
			}
			_, sawSecret = j.flow.memory.Seen(flow.Secret, nil)
		}
		switch {
		case carriesCode(to):
			return fmt.Sprintf("It asks for %s, which nobody named and which holds a code.", shown(to))
		case sawSecret && carriesData(to):
			return fmt.Sprintf("It asks for %s, which nobody named, after secrets were read.", shown(to))
		}
	}
	return ""
}

// unguidedCommands is unguided for a shell text.
func (j *Judge) unguidedCommands(v Verdict, call Call, o outgoing) string {
	a := v.Analysis
	for _, c := range a.Commands {
		if c.Risk == permissions.Unknown || c.Risk == permissions.Destructive || c.Risk == permissions.Escalation {
			return fmt.Sprintf("%s risk asks under autonomy GUIDED.", c.Risk)
		}
	}
	if a.Risk == permissions.Unknown || a.Risk == permissions.Destructive {
		return fmt.Sprintf("%s risk asks under autonomy GUIDED.", a.Risk)
	}
	for _, w := range a.Writes {
		if !call.Place.Holds(w.Path) && !strings.HasPrefix(w.Path, "/dev/") {
			return fmt.Sprintf("It writes %s, outside of the workspace.", tools.Visible(w.Path))
		}
	}
	if o.effect != tools.EffectOutside {
		return ""
	}
	if len(o.to) == 0 {
		return "It sends, and the call does not say where."
	}
	for _, to := range o.to {
		if !j.named(v, call, to, false) {
			return fmt.Sprintf("It sends, and neither you nor a rule named %s.", shown(to))
		}
	}
	return ""
}

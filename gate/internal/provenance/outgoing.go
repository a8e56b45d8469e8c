package provenance

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/internal/facts"
	"callgate/gate/internal/floor"
	"callgate/gate/tools"
	"callgate/internal/address"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// Outgoing is what a call does, as the flow checks see it.
type Outgoing struct {
	effect   string   // an effect of tools.Labels, effectFetch, effectUnknown, or "" for none
	To       []string // destinations
	names    bool     // the tool has arguments for destinations, or always has a destination
	optional bool     // no destination was given, and none is required
	loses    bool     // the tool deletes for good, or changes who may do what
	content  []string // what goes there
	packages []string // what is installed
	commands []string // what is run
	amounts  []string
}

// effectFetch is the effect of a call that asks for an address and sends nothing else.
const effectFetch = "fetches"

// effectUnknown is the effect of an unlabelled tool. It counts as sending only if an argument names a destination.
const effectUnknown = "unknown"

// leaves reports whether the call gives others something.
func (o *Outgoing) leaves() bool {
	return o.effect == tools.EffectOutside || o.effect == tools.EffectMoney || o.effect == effectUnknown
}

// outgoingOf returns what a call does.
func outgoingOf(call *facts.Call, a *tools.Analysis) (o Outgoing) {
	t := call.Tool
	switch {
	case t == nil, tools.OpensSandbox(t.Kind):
	case len(a.Commands) > 0:
		o.ofCommands(a)
	case t.Kind == tools.KindFetch:
		o.effect, o.names = effectFetch, true
		for _, v := range call.Values() {
			if v.LooksLikeAddress() {
				o.To = append(o.To, v.Text)
			}
		}
		for i := range a.Subjects { // an address within a text, or one with blanks
			if s := &a.Subjects[i]; s.Kind == tools.KindFetch && !slices.Contains(o.To, s.Value) {
				o.To = append(o.To, unspaced(s.Value))
			}
		}
	case t.Labels.Effect == tools.EffectNone, t.Bound && facts.FileKind(t.Kind), a.Risk == permissions.ReadOnly:
		o.ofHome(call, a)
	case opensAddress(call):
		o.OfReading(call)
	case t.Labels.Effect != "":
		o.ofLabels(call, &t.Labels)
	case t.Reads() && !t.Bound:
	default:
		o.ofUnlabelled(call)
	}
	return o
}

// ofHome reads a call that gives nobody anything except perhaps an address.
func (o *Outgoing) ofHome(call *facts.Call, a *tools.Analysis) {
	t := call.Tool
	if t.Bound && facts.FileKind(t.Kind) && a.Risk.Exceeds(permissions.ReadOnly) {
		o.effect = tools.EffectOwn
	}
	if t.Kind == "" || a.Fetches() {
		o.OfReading(call)
	}
	if t.Kind == "" && t.Bound && o.effect == "" && a.Risk == permissions.Network { // a search of public data
		o.effect = effectFetch
		for _, v := range call.Values() {
			o.content = append(o.content, v.Text)
		}
	}
}

// ofUnlabelled reads a call of a tool that nobody labelled. Its name can only add questions, because the tool may send
// whatever it is given.
func (o *Outgoing) ofUnlabelled(call *facts.Call) {
	var l tools.Labels
	if !call.Tool.Bound {
		l, _ = call.Tool.Suspected()
	}
	if l.Effect != "" && len(l.Destination) > 0 {
		o.ofLabels(call, &l)
		return
	}
	o.effect, o.loses = effectUnknown, l.Loses()
	if l.Effect == tools.EffectMoney {
		o.effect = l.Effect
	}
	// An argument named for people or accounts holds a destination. So does any argument with a page or a mail address.
	values := call.Values()
	receives := receiver(values)
	for _, v := range values {
		switch {
		case v.LooksLikePage():
			o.To = append(o.To, unspaced(v.Text))
		case v.LooksLikeAddress() && strings.Contains(v.Text, "@"), v.IsIBAN(), receives(v):
			o.To = append(o.To, v.Text)
		default:
			o.content = append(o.content, v.Text)
		}
	}
}

// receiver returns a function that reports whether a value among these is named as the receiver of something. Numbers in
// "from" and "to" are the ends of a range. So are days, units and short names, unless a text goes along.
func receiver(values []facts.Value) func(facts.Value) bool {
	common := func(text string) bool { return !facts.IsDistinctive(text) || facts.IsDate(text) }
	from := slices.IndexFunc(values, func(v facts.Value) bool { return v.Name == "from" })
	numbers := from >= 0 && values[from].Number
	names := from >= 0 && common(values[from].Text) && !slices.ContainsFunc(values, func(v facts.Value) bool { return len(v.Text) > 32 })
	return func(v facts.Value) bool {
		if v.Text == "" || !tools.NamesReceiver(v.Name) {
			return false
		}
		if v.Number {
			return !numbers && !isPart(v.Text)
		}
		return !(names && common(v.Text)) && !nobody.MatchString(v.Text)
	}
}

// nobody matches what "to" names in other tools: the language of a translation, and the present as the end of a range.
var nobody = lazyregexp.New(`^(?:[a-z]{2}(?:[-_][A-Z]{2})?|now)$`)

// OfReading reads a call of a tool that only looks. An address that the tool is given tells the place something.
func (o *Outgoing) OfReading(call *facts.Call) {
	places := call.Tool.Labels.Destination
	for _, v := range call.Values() {
		if facts.OfWeb(v.Text) || v.Under(places) && v.LooksLikePage() {
			o.effect, o.names = effectFetch, true
			o.To = append(o.To, unspaced(v.Text))
		}
	}
}

// opensAddress reports whether a call opens a page: its tool is labelled as reaching others and returning what stands
// there, and every argument is the address of a page.
func opensAddress(call *facts.Call) bool {
	l := &call.Tool.Labels
	if l.Effect != tools.EffectOutside || len(l.Content) > 0 || !slices.Contains(l.Returns, tools.ReturnsUntrusted) && !slices.Contains(l.Returns, tools.ReturnsPublic) {
		return false
	}
	list := call.Values()
	return len(list) > 0 && !slices.ContainsFunc(list, func(v facts.Value) bool { return !v.Under(l.Destination) || !v.LooksLikePage() })
}

// ofLabels reads a call of a labelled tool. Without labels of content, all but the destinations is content.
func (o *Outgoing) ofLabels(call *facts.Call, l *tools.Labels) {
	o.effect, o.names, o.loses = l.Effect, len(l.Destination) > 0, l.Loses()
	own := false
	for _, v := range call.Values() {
		switch {
		case v.Under(l.Destination):
			if slices.Contains(l.Own, v.Text) {
				own = true
			} else if v.Text != "" {
				o.To = append(o.To, v.Text)
			}
		case v.Under(l.Content) || len(l.Content) == 0:
			o.content = append(o.content, v.Text)
			if v.Number && l.Effect == tools.EffectMoney {
				o.amounts = append(o.amounts, v.Text)
			}
		case v.Number && l.Effect == tools.EffectMoney:
			o.amounts = append(o.amounts, v.Text)
		case strings.Contains(v.Text, "://"): // where people are sent on to, for instance
			o.content = append(o.content, v.Text)
		}
	}
	switch {
	case !o.names || len(o.To) > 0 || o.effect != tools.EffectOutside:
	case own:
		o.effect = tools.EffectOwn
	default:
		o.optional = !requires(call.Tool.Definition, l.Destination)
	}
	// A number is only part of a place: issue 12 of the repository that the user named is as good as the repository.
	if named := slices.DeleteFunc(slices.Clone(o.To), isPart); len(named) > 0 {
		o.To = named
	}
}

// isPart reports whether a value is a number, but not one as long as those of telephones and accounts.
func isPart(value string) bool { return len(value) < 8 && strings.Trim(value, "0123456789.") == "" }

// commandEffects lists the effects of commands, the gravest last. A shell text has the effect of its gravest command.
var commandEffects = []string{"", tools.EffectOwn, effectFetch, tools.EffectDeletes, tools.EffectOutside}

func (o *Outgoing) ofCommands(a *tools.Analysis) {
	remotes, others := false, false
	for _, c := range a.Commands {
		if len(c.Argv) == 0 || c.Risk == permissions.ReadOnly || c.Risk == permissions.BuildTest {
			continue
		}
		text := strings.Join(c.Argv, " ")
		effect := commandEffect(c, text)
		if slices.Index(commandEffects, effect) > slices.Index(commandEffects, o.effect) {
			o.effect = effect
		}
		if effect == tools.EffectOutside {
			git := floor.About(floor.Program(c)).Has(programs.VersionControl) // a remote by its name goes where the repository's settings say
			remotes, others = remotes || git, others || !git
		}
		o.ofWords(c)
		if c.Risk.Exceeds(permissions.Network) || o.effect == tools.EffectOutside {
			o.commands = append(o.commands, text)
		}
		o.content = append(o.content, text)
	}
	o.names, o.optional = len(o.To) > 0, remotes && !others
}

func commandEffect(c tools.CommandView, text string) string {
	anything := c.Risk == permissions.Unknown && floor.About(floor.Program(c)).Has(programs.SometimesSends) // a program that sometimes sends may do so here
	switch {
	case c.Sends || len(c.Connects) > 0 || anything || uploads.MatchString(text):
		return tools.EffectOutside
	case c.Risk == permissions.Destructive:
		return tools.EffectDeletes
	case c.Risk == permissions.Write:
		return tools.EffectOwn
	}
	return effectFetch
}

// ofWords finds the places and the packages that a command names.
func (o *Outgoing) ofWords(c tools.CommandView) {
	o.To = append(o.To, c.Connects...)
	for i, word := range c.Argv[1:] {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") && facts.OfWeb(value) {
			word = value
		}
		switch v := (facts.Value{Text: word}); {
		case v.LooksLikeAddress(), facts.OfWeb(word):
			o.To = append(o.To, unspaced(word))
		case installs(c.Argv) && i > 0 && !strings.HasPrefix(word, "-"):
			o.packages = append(o.packages, word)
		}
	}
}

// unspaced returns an address as one word, as programs send it.
func unspaced(given string) string {
	return strings.ReplaceAll(address.Unbroken(strings.TrimSpace(given)), " ", "%20")
}

// uploads matches commands that make a fetching program send.
var uploads = lazyregexp.New(`^(?:curl|wget|xh|http|https|httpie)\b.* (?:-d|-F|-T|--data\S*|--form\S*|--upload-file|--json|--post-\S+|--body-\S+|-X ?(?:POST|PUT|PATCH))`)

// installs reports whether a command brings packages in.
func installs(argv []string) bool {
	if len(argv) < 2 {
		return false
	}
	about := floor.About(floor.Program(tools.CommandView{Argv: argv}))
	switch argv[1] {
	case "install", "i", "add", "get", "tool", "require", "dlx", "exec", "x":
		return about.Has(programs.PackageManager)
	}
	return about.Wrapper != nil && about.Wrapper.Role == "download"
}

// requires reports whether the schema of a definition requires one of the arguments. A schema that cannot be read does.
func requires(definition []byte, names []string) bool {
	var d struct {
		InputSchema struct {
			Properties map[string]jsontext.Value `json:"properties"`
			Required   []string                  `json:"required"`
		} `json:"inputSchema"`
	}
	if json.Unmarshal(definition, &d) != nil || d.InputSchema.Properties == nil {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(d.InputSchema.Required, n) })
}

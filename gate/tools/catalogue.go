package tools

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/gate/tools/definitions"
	"callgate/gate/tools/kinds"
	"callgate/permissions"
)

// Labels says what a known server's tool returns and where it reaches.
type Labels struct {
	Returns []string `json:"returns,omitempty"` // labels of its results: "private", "untrusted", "secret", "public"
	// Fields holds the labels of some fields of its JSON results, instead of Returns: a.b is a member within a, also of
	// each element of a list. Everything outside these fields, and text that is not JSON, has the labels of Returns.
	Fields      map[string][]string `json:"fields,omitempty"`
	Effect      string              `json:"effect,omitempty"`      // one of the Effect constants; "" if the call decides, as for a shell
	Destination []string            `json:"destination,omitempty"` // arguments that name where things go; a.b is a member within, also of each element of a list
	Content     []string            `json:"content,omitempty"`     // arguments that carry text there
	Own         []string            `json:"own,omitempty"`         // values of destinations that mean the user's own place: "primary"
	Undo        string              `json:"undo,omitempty"`        // the tool of the same server that undoes it
}

// What a call of a tool does beyond giving an answer.
const (
	EffectNone    = "none"
	EffectOwn     = "own"     // changes what belongs to the user, in a way that can be undone
	EffectOutside = "outside" // others see it, or it starts something elsewhere
	EffectMoney   = "money"
	EffectDeletes = "deletes"
	EffectAccess  = "access" // who may do what
)

// Effects returns what Labels.Effect may be, from the mildest to the gravest.
func Effects() []string {
	return []string{EffectNone, EffectOwn, EffectOutside, EffectMoney, EffectDeletes, EffectAccess}
}

// What a tool returns.
const (
	ReturnsPrivate   = "private"   // the user's own
	ReturnsUntrusted = "untrusted" // what others wrote
	ReturnsSecret    = "secret"    // credentials
	ReturnsPublic    = "public"    // what anybody may read
)

// Check returns what is wrong with labels that somebody wrote, or nil. An empty Effect means none.
func (l *Labels) Check() error {
	if l.Effect != "" && !slices.Contains(Effects(), l.Effect) {
		return fmt.Errorf("unknown effect %q: use one of %s", l.Effect, strings.Join(Effects(), ", "))
	}
	for _, r := range slices.Concat(append(slices.Collect(maps.Values(l.Fields)), l.Returns)...) {
		if !slices.Contains([]string{ReturnsPrivate, ReturnsUntrusted, ReturnsSecret, ReturnsPublic}, r) {
			return fmt.Errorf("unknown label %q of what it returns: use private, untrusted, secret or public", r)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(l.Fields)) {
		if field == "" || len(l.Fields[field]) == 0 {
			return fmt.Errorf("the field %q needs a name and labels: use private, untrusted, secret or public", field)
		}
		for _, r := range l.Fields[field] {
			if r != ReturnsPublic && !l.mayReturn(r) {
				return fmt.Errorf("the field %q is %s, and the whole is not: returns says the gravest", field, r)
			}
		}
	}
	return nil
}

// mayReturn reports whether the labels of the whole result have the label. A secret result is private too.
func (l *Labels) mayReturn(label string) bool {
	return slices.Contains(l.Returns, label) || label == ReturnsPrivate && slices.Contains(l.Returns, ReturnsSecret)
}

// effectRisk is the class of a tool without kind, unless its file says another.
var effectRisk = map[string]permissions.Risk{
	EffectNone: permissions.ReadOnly, EffectOwn: permissions.Write, EffectOutside: permissions.Network,
	EffectMoney: permissions.Destructive, EffectDeletes: permissions.Destructive, EffectAccess: permissions.Destructive,
}

// Loses reports whether a tool with the labels deletes for good, or changes who may do what.
func (l *Labels) Loses() bool { return l.Effect == EffectDeletes || l.Effect == EffectAccess }

// GivesSecrets reports whether a tool with the labels returns credentials.
func (l *Labels) GivesSecrets() bool { return slices.Contains(l.Returns, ReturnsSecret) }

// risk returns the class of a tool without kind that has the labels. Handing out credentials is more than reading.
func (l *Labels) risk() permissions.Risk {
	if l.Effect == EffectNone && l.GivesSecrets() {
		return permissions.Unknown
	}
	return effectRisk[l.Effect]
}

// kindEffect is the effect of the kinds that always have the same one.
var kindEffect = map[string]string{
	KindReadFile: EffectNone, KindGlob: EffectNone, KindGrep: EffectNone, KindWriteFile: EffectOwn, KindEditFile: EffectOwn,
	KindMoveFile: EffectOwn, KindDeleteFile: EffectDeletes, KindFetch: EffectOutside,
}

// serverFile is one file of the folder servers: what is known of one server. schema.json there is for editors.
type serverFile struct {
	Schema string `json:"$schema"`
	Name   string `json:"name"`
	// Packages lists the names that identify this server in a configured command or URL: of packages, binaries,
	// modules, container images and hosts.
	Packages []string `json:"packages"`
	Source   string   `json:"source"`          // where the list of tools and arguments comes from
	Local    bool     `json:"local,omitempty"` // what it changes is on this machine
	// Reading lists plain arguments that every tool of effect "none" may have: ids and filters, by any of the names
	// that versions of the server give them. An address, a path on this machine or a statement MUST NOT stand here.
	Reading []string              `json:"reading,omitempty"`
	Tools   map[string]serverTool `json:"tools"`
}

type serverTool struct {
	Labels
	Kind      string              `json:"kind,omitempty"`
	Arguments map[string][]string `json:"arguments,omitempty"` // by role
	Risk      string              `json:"risk,omitempty"`      // the class, if neither effect nor kind gives it
	Category  string              `json:"category,omitempty"`
	Remote    bool                `json:"remote,omitempty"`
	// Shapes lists the shapes of the labelled definitions, see definitions.Shape. A definition with another shape has
	// no labels. Without Shapes the arguments decide: a call with one that is not listed asks.
	Shapes []string `json:"shapes,omitempty"`
}

// entry is what the catalogue knows of one tool: its kind, the role of every argument that it takes, and
// what the kind does not say.
type entry struct {
	kind     string
	roles    roles
	risk     permissions.Risk // of a tool without kind; at least this for one with a kind
	category string           // of a tool without kind
	remote   bool             // paths and commands are another machine's; rules for this machine only tighten
	labels   Labels
	shapes   []string
	local    bool // nothing of it leaves this machine
}

// isLabelled reports whether the definition is one of those that were labelled. It is true without a definition,
// because each argument of a call is looked at all the same.
func (e *entry) isLabelled(definition []byte) bool {
	return len(e.shapes) == 0 || definition == nil || slices.Contains(e.shapes, definitions.Shape(definition))
}

type roles map[string]Role

func (f *serverFile) entries() (map[string]entry, error) {
	list := make(map[string]entry, len(f.Tools))
	for name, t := range f.Tools {
		e, err := f.entry(t)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", name, err)
		}
		if t.Undo != "" {
			if _, ok := f.Tools[t.Undo]; !ok {
				return nil, fmt.Errorf("tool %s: it is undone by %q, which is not a tool", name, t.Undo)
			}
		}
		list[name] = e
	}
	return list, nil
}

// categoryOf returns the category of a server's tool that does not name one.
func (f *serverFile) categoryOf(effect string) string {
	switch {
	case effect == EffectNone:
		return kinds.CategoryRead
	case f.Local && effect != EffectOutside:
		return kinds.CategoryWrite
	}
	return CategoryNetwork
}

// add adds the arguments of each role in a file.
func (r roles) add(arguments map[string][]string) error {
	for name, list := range arguments {
		role, err := ParseRole(name)
		if err != nil {
			return err
		}
		for _, argument := range list {
			if r[argument] != Unmapped {
				return fmt.Errorf("the argument %s has two roles", argument)
			}
			if strings.Contains(argument, ".") && !role.IsStatement() {
				return fmt.Errorf("%s is a member of an argument: only statements can be", argument)
			}
			r[argument] = role
		}
	}
	return nil
}

func (f *serverFile) entry(t serverTool) (e entry, err error) {
	e = entry{kind: t.Kind, category: t.Category, remote: t.Remote, labels: t.Labels, shapes: t.Shapes, local: f.Local && !t.Remote && t.Effect != EffectOutside, roles: roles{}}
	if err := e.roles.add(t.Arguments); err != nil {
		return e, err
	}
	if t.Kind != "" {
		if _, ok := kinds.Of[t.Kind]; !ok {
			return e, fmt.Errorf("unknown kind %q", t.Kind)
		}
		e.labels.Effect = cmp.Or(e.labels.Effect, kindEffect[t.Kind])
	} else {
		if _, ok := effectRisk[t.Effect]; !ok {
			return e, fmt.Errorf("unknown effect %q", t.Effect)
		}
		if e.risk = t.Labels.risk(); e.category == "" {
			e.category = f.categoryOf(t.Effect)
		}
		if t.Effect == EffectNone {
			for _, name := range f.Reading {
				if e.roles[name] == Unmapped {
					e.roles[name] = Plain
				}
			}
		}
	}
	if kinds.CategoryOrder[e.category] == 0 && e.category != "" {
		return e, fmt.Errorf("unknown category %q", e.category)
	}
	if t.Risk != "" {
		if e.risk, err = permissions.ParseRisk(t.Risk); err != nil {
			return e, err
		}
	}
	if err := t.Check(); err != nil {
		return e, err
	}
	for _, name := range slices.Concat(t.Destination, t.Content) {
		if top, _, _ := strings.Cut(name, "."); e.roles[top] == Unmapped {
			return e, fmt.Errorf("it has no argument %q", name)
		}
	}
	return e, nil
}

// Package source reads and checks the YAML files of package programs, and writes the compiled table.
//
// Only go generate and tests use it.
package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"callgate/shellparse/programs"
)

// Entry is one entry of a file: commands with the same properties.
type Entry struct {
	Of          string        `yaml:"of"`    // the program that the names are subcommands of
	Names       string        `yaml:"names"` // separated by blanks
	Aliases     string        `yaml:"aliases"`
	Options     *string       `yaml:"options"`
	Operands    string        `yaml:"operands"`
	Default     string        `yaml:"default"`
	Style       string        `yaml:"style"`
	Subcommands string        `yaml:"subcommands"`
	Effect      string        `yaml:"effect"`
	Wrapper     *wrapperEntry `yaml:"wrapper"`
	Language    *language     `yaml:"language"`
	Transfer    *string       `yaml:"transfer"`
	Arity       uint8         `yaml:"arity"`
	Operation   uint8         `yaml:"operation"`
	Handler     string        `yaml:"handler"`
	Inspector   string        `yaml:"inspector"`
	Passes      string        `yaml:"passes"`
	Is          string        `yaml:"is"`
	Risk        string        `yaml:"risk"`
	Worse       []worseEntry  `yaml:"worse"`
	Recursive   string        `yaml:"recursive"`
	Dumps       string        `yaml:"dumps"`
	Like        string        `yaml:"like"`
	Shows       string        `yaml:"shows"`
	Wipes       string        `yaml:"wipes"`
	Archive     *archive      `yaml:"archive"`
	Keeps       *keeps        `yaml:"keeps"`
	Destroys    yaml.Node     `yaml:"destroys"` // sentences, each with its acts
	Examples    yaml.Node     `yaml:"examples"` // command lines with the expected findings

	at string // file and line
}

type wrapperEntry struct {
	Options string `yaml:"options"`
	Skip    int    `yaml:"skip"`
	Assigns bool   `yaml:"assigns"`
	Script  bool   `yaml:"script"`
	Role    string `yaml:"role"`
	Style   string `yaml:"style"`
	Effect  string `yaml:"effect"`
}

type language struct {
	Options string `yaml:"options"`
	Python  bool   `yaml:"python"`
}

type archive struct {
	Shows  string `yaml:"shows"`
	Makes  string `yaml:"makes"`
	Copies bool   `yaml:"copies"`
	File   string `yaml:"file"`
}

type keeps struct {
	When   string `yaml:"when"`
	Unless string `yaml:"unless"`
	Folder string `yaml:"folder"`
	Query  bool   `yaml:"query"`
}

type worseEntry struct {
	When   string `yaml:"when"`
	Unless string `yaml:"unless"`
	To     string `yaml:"to"`
}

// Example is a command line with its expected findings.
type Example struct{ At, Command, Want string }

// Table is the contents of the files.
type Table struct {
	Commands []programs.Command // sorted by name
	Aliases  map[string]string
	Examples []Example
}

// Load reads every YAML file of a folder. The error lists every mistake with its place.
func Load(folder fs.FS) (*Table, error) {
	files, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	l := loader{table: &Table{Aliases: map[string]string{}}, places: map[string]string{}, shared: map[string]string{}}
	docs := make([]document, len(files))
	for i, name := range files {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		l.read(&docs[i], name, text)
	}
	for i := range docs {
		l.file(files[i], &docs[i])
	}
	l.whole()
	return l.table, errors.Join(l.errs...)
}

// document is one file: lists that entries share, and the entries.
type document struct {
	Shared   map[string]string `yaml:"shared"`
	Programs []yaml.Node       `yaml:"programs"`
}

type loader struct {
	table  *Table
	shared map[string]string
	places map[string]string // the file and line of each command or alias
	errs   []error
}

func (l *loader) fail(at, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

func (l *loader) read(doc *document, name string, text []byte) {
	in := yaml.NewDecoder(bytes.NewReader(text))
	in.KnownFields(true)
	if err := in.Decode(doc); err != nil {
		l.fail(name, "%v", err)
	}
	for key, list := range doc.Shared {
		if l.shared[key] != "" {
			l.fail(name, "shared %q stands in another file too", key)
		}
		l.shared[key] = list
	}
}

// file adds the entries of one file.
func (l *loader) file(name string, doc *document) {
	for i := range doc.Programs {
		e := Entry{at: fmt.Sprintf("%s:%d", name, doc.Programs[i].Line)}
		raw, err := yaml.Marshal(&doc.Programs[i])
		if err == nil {
			in := yaml.NewDecoder(bytes.NewReader(raw))
			in.KnownFields(true)
			err = in.Decode(&e)
		}
		if err != nil {
			l.fail(e.at, "%v", err)
			continue
		}
		l.entry(&e, l.shared)
	}
}

// entry adds the commands of one entry.
func (l *loader) entry(e *Entry, shared map[string]string) {
	c, err := e.command(shared)
	if err != nil {
		l.fail(e.at, "%v", err)
		return
	}
	names := strings.Fields(e.Names)
	if len(names) == 0 {
		l.fail(e.at, "it has no names")
	}
	if e.Aliases != "" && (len(names) != 1 || e.Of != "") {
		l.fail(e.at, "only an entry of one program can have aliases")
	}
	for _, name := range names {
		if e.Of != "" {
			name = e.Of + " " + name
		}
		l.place(name, e.at)
		c.Name = name
		l.table.Commands = append(l.table.Commands, c)
	}
	for other := range strings.FieldsSeq(e.Aliases) {
		l.place(other, e.at)
		l.table.Aliases[other] = names[0]
	}
	for i := 0; i+1 < len(e.Examples.Content); i += 2 {
		l.table.Examples = append(l.table.Examples, Example{e.at, e.Examples.Content[i].Value, e.Examples.Content[i+1].Value})
	}
}

func (l *loader) place(name, at string) {
	if before, ok := l.places[name]; ok {
		l.fail(at, "%q stands in %s too", name, before)
	}
	l.places[name] = at
}

// command compiles an entry, without its name.
func (e *Entry) command(shared map[string]string) (c programs.Command, err error) {
	list := func(text string) *programs.Options {
		words, unknown := expand(text, shared)
		set, bad := programs.CompileOptions(strings.Join(words, " "))
		err = cmp.Or(err, unknown, bad)
		return set
	}
	style := func(name string) programs.Style {
		st, ok := programs.Styles[name]
		if !ok {
			err = cmp.Or(err, fmt.Errorf("unknown style %q", name))
		}
		return st
	}
	c.Recursive, c.Dumps, c.Like, c.Shows, c.Wipes = strings.Fields(e.Recursive), strings.Fields(e.Dumps), e.Like, e.Shows, e.Wipes
	if !slices.Contains(programs.Showings, e.Shows) || !slices.Contains(programs.Wipings, e.Wipes) {
		err = fmt.Errorf("unknown shows %q or wipes %q", e.Shows, e.Wipes)
	}
	if a := e.Archive; a != nil {
		c.Archive = &programs.Archive{Shows: strings.Fields(a.Shows), Makes: strings.Fields(a.Makes), Copies: a.Copies, File: a.File}
	}
	if k := e.Keeps; k != nil {
		c.Keeps = &programs.Keeps{When: strings.Fields(k.When), Unless: strings.Fields(k.Unless), Folder: strings.Fields(k.Folder), Query: k.Query}
	}
	c.Arity, c.Operation, c.Handler, c.Inspector, c.Passes = e.Arity, e.Operation, e.Handler, e.Inspector, strings.Fields(e.Passes)
	if e.Options != nil || e.Operands+e.Default+e.Subcommands+e.Effect != "" {
		c.Row = e.row(list(*cmp.Or(e.Options, new(""))), style(e.Style))
		if !slices.Contains([]string{"", "r", "1r", "w", "rw", "mv", "2w", "wr", "1w"}, e.Operands) {
			err = cmp.Or(err, fmt.Errorf("unknown operands %q", e.Operands))
		}
	} else if e.Style != "" {
		err = errors.New("a style without options")
	}
	if w := e.Wrapper; w != nil {
		if !slices.Contains(programs.Roles, w.Role) {
			err = cmp.Or(err, fmt.Errorf("unknown role %q", w.Role))
		}
		c.Wrapper = &programs.Wrapper{Options: list(w.Options), Skip: w.Skip, Assigns: w.Assigns, Script: w.Script, Role: w.Role, Style: style(cmp.Or(w.Style, "posix")), Effect: w.Effect}
	}
	if e.Language != nil {
		c.Language = &programs.Language{Options: list(e.Language.Options), Python: e.Language.Python}
	}
	if e.Transfer != nil {
		c.Transfer = list(*e.Transfer)
	}
	for name := range strings.FieldsSeq(e.Is) {
		t, ok := programs.Traits[name]
		if !ok {
			err = cmp.Or(err, fmt.Errorf("unknown trait %q", name))
		}
		c.Is |= t
	}
	err = cmp.Or(err, e.risk(&c, shared))
	if e.Arity > 4 {
		err = cmp.Or(err, fmt.Errorf("arity %d is more than 4", e.Arity))
	}
	return c, err
}

// expand returns the words of a text, and replaces @name by the words of a shared list.
func expand(text string, shared map[string]string) (words []string, err error) {
	for word := range strings.FieldsSeq(text) {
		if name, ok := strings.CutPrefix(word, "@"); ok {
			if word, ok = shared[name]; !ok {
				err = cmp.Or(err, fmt.Errorf("no shared list is called %q", name))
			}
		}
		words = append(words, strings.Fields(word)...)
	}
	return words, err
}

func (e *Entry) row(options *programs.Options, style programs.Style) *programs.Row {
	row := &programs.Row{Options: options, Operands: e.Operands, Default: e.Default, Style: style, Subcommands: strings.Fields(e.Subcommands), Effect: e.Effect}
	slices.Sort(row.Subcommands)
	if row.Style == programs.GNU && len(row.Subcommands) > 0 {
		row.Style = programs.POSIX
	}
	return row
}

func (e *Entry) risk(c *programs.Command, shared map[string]string) error {
	var ok bool
	if c.Risk, ok = programs.Risks[e.Risk]; !ok {
		return fmt.Errorf("unknown risk %q", e.Risk)
	}
	for _, w := range e.Worse {
		to, ok := programs.Risks[w.To]
		words, err := expand(w.When, shared)
		switch {
		case err != nil:
			return err
		case !ok || to <= c.Risk || c.Risk == programs.NoRisk:
			return fmt.Errorf("%q is not worse than %q", w.To, e.Risk)
		case len(words) == 0:
			return errors.New("it is worse, and nothing says when")
		}
		c.Worse = append(c.Worse, programs.Worse{When: words, Unless: strings.Fields(w.Unless), To: to,
			OnlyOptions: !slices.ContainsFunc(words, func(w string) bool { return len(w) < 2 || w[0] != '-' })})
	}
	for i := 0; i+1 < len(e.Destroys.Content); i += 2 {
		why, acts := e.Destroys.Content[i].Value, e.Destroys.Content[i+1].Value
		if name, ok := strings.CutPrefix(acts, "@"); ok {
			if acts, ok = shared[name]; !ok {
				return fmt.Errorf("no shared acts are called %q", name)
			}
		}
		list, err := compileActs(why, acts)
		if err != nil {
			return err
		}
		c.Destroys = append(c.Destroys, list...)
	}
	return nil
}

// compileActs parses alternatives separated by ";". All terms of an alternative have to hold.
func compileActs(why, text string) (list []programs.Act, err error) {
	if why == "" || strings.HasSuffix(why, ".") {
		return nil, fmt.Errorf("%q is not the end of a sentence", why)
	}
	if strings.ContainsAny(text, `"'\\`) {
		return nil, fmt.Errorf("the acts %q have quotes", text)
	}
	for alternative := range strings.SplitSeq(text, ";") {
		if text != "" && strings.TrimSpace(alternative) == "" {
			return nil, fmt.Errorf("an empty alternative of %q would always hold", text)
		}
		act := programs.Act{Why: why}
		for term := range strings.FieldsSeq(alternative) {
			switch {
			case strings.HasPrefix(term, "!"):
				act.Without = append(act.Without, term[1:])
			case len(term) > 1 && term[0] == '-':
				act.Options = append(act.Options, term)
			default:
				act.Operands = append(act.Operands, strings.ToLower(term))
			}
		}
		list = append(list, act)
	}
	return list, nil
}

// whole checks constraints between entries.
func (l *loader) whole() {
	slices.SortFunc(l.table.Commands, func(x, y programs.Command) int { return strings.Compare(x.Name, y.Name) })
	judged := map[string]bool{}
	for i := range l.table.Commands {
		c := &l.table.Commands[i]
		for name, _, sub := cutLast(c.Name); sub && c.Risk != programs.NoRisk; name, _, sub = cutLast(name) {
			judged[name] = true
		}
	}
	for i := range l.table.Commands {
		c := &l.table.Commands[i]
		c.Parent = judged[c.Name]
		parent, _, sub := cutLast(c.Name)
		if _, ok := l.places[parent]; sub && !ok {
			l.fail(l.places[c.Name], "%q is a subcommand, and %q has no entry", c.Name, parent)
		}
		first, _, _ := strings.Cut(c.Name, " ")
		if of, ok := l.table.Aliases[first]; ok {
			l.fail(l.places[c.Name], "%q begins with an alias of %q", c.Name, of)
		}
		for _, p := range c.Passes {
			if _, ok := l.places[strings.ReplaceAll(p, ":", " ")]; !ok {
				l.fail(l.places[c.Name], "it passes words to %q, which has no entry", p)
			}
		}
		if (c.Inspector == "archiver") != (c.Archive != nil) {
			l.fail(l.places[c.Name], "archive and its inspector go together")
		}
		switch _, ok := l.places[c.Like]; {
		case c.Like == "":
		case !ok:
			l.fail(l.places[c.Name], "it is like %q, which has no entry", c.Like)
		case c.Risk != programs.NoRisk:
			l.fail(l.places[c.Name], "it has a risk that %q hides", c.Like)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.table.Aliases)) {
		if of := l.table.Aliases[name]; l.table.Aliases[of] != "" {
			l.fail(l.places[name], "%q is an alias of %q, which is one itself", name, of)
		}
	}
}

// cutLast cuts the last word off a name.
func cutLast(name string) (before, last string, ok bool) {
	i := strings.LastIndexByte(name, ' ')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

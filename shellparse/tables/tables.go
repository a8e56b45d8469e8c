// Package tables merges the built-in knowledge of programs and variables with the rows that a configuration adds.
package tables

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// Program is a row of the program table: what options and operands of a program do. programs/README.md describes
// Options.
type Program struct {
	Name    string // "sort", or with its subcommand "git log"
	Options string
	// Operands says what the operands are: "" nothing, "r" files read, "1r" files read after one word that is no file,
	// "w" files written, "rw" the last written and the others read, "2w" the second written and the first read, "wr"
	// the first written and the others read, "1w" all but the first written.
	Operands string
	// Default replaces the operands if there are none.
	Default string
	// Style is how the program reads its words: "" like GNU getopt; "posix": the first operand ends the options; "go":
	// -long options, ended by the first operand; "long": -long options anywhere.
	Style string
	// Subcommands, if not "", means that the Options stand before a subcommand, which has its own row. "*" accepts any
	// word. With a list, any other word counts as an effect: it may name a plugin.
	Subcommands string
	// Effect is an effect that the command always has.
	Effect string
	// Arity is how many words name the command, itself included: 2 for git push, at most 3. 0 means the value of the
	// built-in table, or 1 if it has none.
	Arity int
}

// Wrapper is a row of the wrapper table: a program that runs another program named by its operands.
type Wrapper struct {
	Name    string // "nice", or with its subcommand "uv run"
	Options string // as in Program; an option that is not listed makes the operands uncertain
	Skip    int    // operands before the program, such as the duration of timeout
	Assigns bool   // NAME=value operands before the program are its environment
	// Role is what the wrapper means for rules. "": it needs no rule (nice). "escalates": it gains privileges (sudo).
	// "also": it needs a rule beside the one for the inner command (ssh). "instead": the inner words are part of the
	// wrapper's own command (uv run). "download": as "instead", and the program can come from a registry (npx).
	Role string
	// Script means that the operands are shell text, not words.
	Script bool
	// Style is as in Program; "" means that the first operand ends the options.
	Style  string
	Effect string
}

// Env is a row of the environment table.
type Env struct {
	Name string // a name, or a pattern with one * at either end
	// Harmless means that the variable has no effect. A harmless row wins over the others.
	Harmless bool
	// Values lists the harmless values of a variable that is not Harmless, separated by blanks: "cat less".
	Values string
	// Writes means that the value is a file or a folder that programs write to, and from which they run nothing.
	Writes bool
	// Loads lists, separated by blanks, the project folders from which programs may load code through the variable. The
	// variable's value is a list of folders separated by colons.
	Loads string
}

// Tables holds what is known of programs and variables: built-in and added rows. Use New; the zero value does not work.
type Tables struct {
	rows     map[string]*programs.Row // of added programs
	wrappers map[string]*programs.Wrapper
	Arities  map[string]int  // of added rows that set one; tables.Operation and Wanted take it as own
	own      map[string]bool // the programs that added rows describe
	env      map[string]*Env
	envGlobs []*Env
}

// Builtin returns the built-in tables. All callers share them and MUST NOT change them.
var Builtin = sync.OnceValue(func() *Tables {
	t, err := New(nil, nil, nil)
	if err != nil {
		panic(err) // nothing is added
	}
	return t
})

// New returns the built-in tables with rows added. A row replaces a built-in row of the same name.
func New(list []Program, wrappers []Wrapper, env []Env) (*Tables, error) {
	t := &Tables{Arities: map[string]int{}, rows: map[string]*programs.Row{}, wrappers: map[string]*programs.Wrapper{}, own: map[string]bool{}, env: map[string]*Env{}}
	for _, p := range list {
		if err := t.addProgram(p); err != nil {
			return nil, err
		}
	}
	for _, w := range wrappers {
		if err := t.addWrapper(w); err != nil {
			return nil, err
		}
	}
	for _, list := range [][]Env{EnvRows, env} {
		for i := range list {
			e := list[i]
			for name := range strings.FieldsSeq(e.Name) {
				row := e
				row.Name = name
				if strings.Contains(name, "*") {
					t.envGlobs = append(t.envGlobs, &row)
				} else {
					t.env[name] = &row
				}
			}
		}
	}
	return t, nil
}

// Row returns the program row for the words of a command, or nil if there is none.
func (t *Tables) Row(words ...string) *programs.Row {
	if t.own[words[0]] {
		if r := t.rows[strings.Join(words, " ")]; r != nil {
			return r
		}
	}
	return programs.Find(words...).Row
}

// Wrapper returns the wrapper row for the words of a command, or nil if it runs no other command.
func (t *Tables) Wrapper(words ...string) *programs.Wrapper {
	if t.own[words[0]] {
		if w := t.wrappers[strings.Join(words, " ")]; w != nil {
			return w
		}
	}
	return programs.Find(words...).Wrapper
}

// ownCommand records the program of an added row and returns the command in the table's spelling: a row for podman
// becomes one for docker and its equivalents.
func (t *Tables) ownCommand(command string) string {
	program, rest, _ := strings.Cut(command, " ")
	known := programs.Canonical(program)
	t.own[known] = true
	return known + command[len(command)-len(rest)-min(len(rest), 1):]
}

func (t *Tables) addProgram(p Program) error {
	set, err := programs.CompileOptions(p.Options)
	if err != nil {
		return fmt.Errorf("shellparse: program %q: %w", p.Name, err)
	}
	st, ok := programs.Styles[p.Style]
	if !ok {
		return fmt.Errorf("shellparse: program %q: unknown style %q", p.Name, p.Style)
	}
	if p.Arity < 0 || p.Arity > 3 {
		return fmt.Errorf("shellparse: program %q: arity %d is not between 0 and 3", p.Name, p.Arity)
	}
	row := &programs.Row{Options: set, Style: st, Operands: p.Operands, Default: p.Default, Effect: p.Effect, Subcommands: strings.Fields(p.Subcommands)}
	slices.Sort(row.Subcommands)
	if p.Subcommands != "" && st == programs.GNU {
		row.Style = programs.POSIX
	}
	for n := range strings.SplitSeq(p.Name, "|") {
		n = t.ownCommand(n)
		if t.rows[n] = row; p.Arity > 0 {
			t.Arities[n] = p.Arity
		}
	}
	return nil
}

func (t *Tables) addWrapper(w Wrapper) error {
	set, err := programs.CompileOptions(w.Options)
	if err != nil {
		return fmt.Errorf("shellparse: wrapper %q: %w", w.Name, err)
	}
	st, ok := programs.Styles[w.Style]
	if !ok {
		return fmt.Errorf("shellparse: wrapper %q: unknown style %q", w.Name, w.Style)
	}
	if w.Style == "" {
		st = programs.POSIX
	}
	if !slices.Contains(programs.Roles, w.Role) {
		return fmt.Errorf("shellparse: wrapper %q: unknown role %q", w.Name, w.Role)
	}
	for n := range strings.SplitSeq(w.Name, "|") {
		t.wrappers[t.ownCommand(n)] = &programs.Wrapper{Options: set, Style: st, Skip: w.Skip, Assigns: w.Assigns, Script: w.Script, Role: w.Role, Effect: w.Effect}
	}
	return nil
}

// EnvWrites reports whether a variable only names what programs write.
func (t *Tables) EnvWrites(name string) bool { return t.env[name] != nil && t.env[name].Writes }

// EnvLoadsOwn reports whether the value of a variable names only code folders of the project. source is the value as
// written: src:$PWD/lib:$PYTHONPATH.
func (t *Tables) EnvLoadsOwn(name, source string) bool {
	row := t.env[name]
	if row == nil || row.Loads == "" || strings.Count(source, `"`) == 1 {
		return false
	}
	for folder := range strings.SplitSeq(strings.Trim(source, `"`), ":") {
		if folder == "$"+name || folder == "${"+name+"}" {
			continue
		}
		for _, here := range []string{"./", "$PWD", "${PWD}", "$(pwd)"} {
			if rest, found := strings.CutPrefix(folder+"/", strings.TrimSuffix(here, "/")+"/"); found {
				folder = rest
				break
			}
		}
		if folder == "/" {
			return false
		}
		if folder = strings.TrimSuffix(folder, "/"); folder != "" && !slices.Contains(strings.Fields(row.Loads), folder) {
			return false
		}
	}
	return true
}

// EnvEffect returns the effect of setting a variable, such as making a program execute something, or "".
func (t *Tables) EnvEffect(name string, v script.Word) string {
	if row := t.env[name]; row != nil {
		return row.effect(name, v)
	}
	for _, row := range t.envGlobs {
		if globMatch(row.Name, name) && row.Harmless {
			return ""
		}
	}
	for _, row := range t.envGlobs {
		if globMatch(row.Name, name) {
			return row.effect(name, v)
		}
	}
	if upper := strings.ToUpper(name); upper != name && anyCase(upper) {
		return t.EnvEffect(upper, v)
	}
	return ""
}

// EnvRemoteEffect returns an effect if the value of a variable is the address of another machine: many programs take
// from it where to send credentials, or where to load code from. It returns "" for a variable that the table calls
// harmless.
func (t *Tables) EnvRemoteEffect(name string, v script.Word) string {
	switch row := t.env[name]; {
	case row != nil && row.Harmless || !v.Known:
		return ""
	case remote(v.Value), hostNames[strings.ToUpper(name[strings.LastIndexByte(name, '_')+1:])] && elsewhere(v.Value):
		return "env " + name
	}
	return ""
}

// hostNames lists the words that end, after the last "_", the names of variables that hold a host by convention.
var hostNames = map[string]bool{"HOST": true, "HOSTNAME": true, "PGHOST": true, "ADDR": true, "ADDRESS": true, "SERVER": true, "SERVERS": true}

// elsewhere reports whether a comma-separated list has a host name with a dot, which may belong to another network.
func elsewhere(value string) bool {
	return slices.ContainsFunc(strings.Split(value, ","), func(host string) bool {
		return !loopback(host) && strings.IndexByte(host, '.') > 0 && !strings.ContainsAny(host, "/\\ ")
	})
}

// EnvHarmless reports whether the table calls a variable harmless.
func (t *Tables) EnvHarmless(name string) bool { return t.env[name] != nil && t.env[name].Harmless }

// EnvKnown reports whether the table has a row for a variable, so that EnvEffect returns all that setting it does.
func (t *Tables) EnvKnown(name string) bool { return t.env[name] != nil }

// holdsData lists the words before _DIR in the names of variables whose folders hold no code.
var holdsData = map[string]bool{
	"ARTIFACT": true, "ARTIFACTS": true, "BACKUP": true, "CACHE": true, "COVERAGE": true, "DATA": true, "DOWNLOAD": true,
	"LOG": true, "LOGS": true, "OUT": true, "OUTPUT": true, "REPORT": true, "REPORTS": true, "RESULTS": true, "STATE": true,
	"STORAGE": true, "TEMP": true, "TEST": true, "TMP": true, "UPLOAD": true, "UPLOADS": true, "WORK": true,
}

// EnvLocatesCode reports whether, by convention, programs look for code in the folder that a variable names. It is for
// variables without a row.
func (t *Tables) EnvLocatesCode(name string) bool {
	if t.env[name] != nil || slices.ContainsFunc(t.envGlobs, func(row *Env) bool { return globMatch(row.Name, name) }) {
		return false
	}
	i := strings.LastIndexByte(name, '_')
	switch name[i+1:] {
	case "HOME", "ROOT":
		return i > 0
	case "DIR":
		return i > 0 && !holdsData[name[strings.LastIndexByte(name[:i], '_')+1:i]]
	}
	return false
}

// anyCase reports whether programs read a variable whatever its case. upper is its name in capitals.
func anyCase(upper string) bool {
	return upper == "PROXY" || strings.HasSuffix(upper, "_PROXY") || strings.HasPrefix(upper, "NPM_CONFIG_") ||
		strings.HasPrefix(upper, "YARN_") || strings.HasPrefix(upper, "PNPM_")
}

// addresses normalizes what stands before a host: programs also accept http:/x and \\x.
var addresses = strings.NewReplacer(`\`, "/", "http:", "http:/", "https:", "https:/", "HTTP:", "http:/", "HTTPS:", "https:/", "@//", "://")

// remote reports whether a value holds the address of another machine.
func remote(value string) bool {
	if strings.Contains(value, "://") && strings.Contains(value, `\`) {
		return true // programs differ about where the host ends
	}
	for _, p := range localAddresses {
		if file, found := strings.CutPrefix(value, p); found {
			return strings.HasPrefix(file, "/") || strings.ContainsAny(file, "~?&:") || strings.Contains(file, "..")
		}
	}
	if strings.Contains(value, ":/") && slices.ContainsFunc(otherHosts, func(p string) bool { return strings.Contains(strings.ToLower(value), p) }) {
		return true
	}
	value = addresses.Replace(value)
	if strings.HasPrefix(value, "//") {
		value = ":" + value
	}
	for {
		_, rest, found := strings.Cut(value, ":/")
		if !found {
			return false
		}
		value = strings.TrimLeft(rest, "/")
		authority, _, _ := strings.Cut(value, "/")
		if !loopback(authority[strings.LastIndexByte(authority, '@')+1:]) {
			return true
		}
	}
}

// loopback reports whether a host is this machine, or a name of its own network, which nobody else can have.
func loopback(host string) bool {
	if end := strings.IndexByte(host, ']'); strings.HasPrefix(host, "[") && end > 0 {
		return host[:end+1] == "[::1]"
	}
	host, _, _ = strings.Cut(host, ":")
	switch host {
	case "", "localhost", "127.0.0.1", "0.0.0.0", "host.docker.internal":
		return true
	}
	letter := host[0]|0x20 >= 'a' && host[0]|0x20 <= 'z'
	return letter && strings.IndexFunc(host, func(r rune) bool { return r == '.' || r >= 0x80 }) < 0 || strings.HasSuffix(host, ".localhost")
}

func (e *Env) effect(name string, v script.Word) string {
	if e.Harmless {
		return ""
	}
	if v.Known && e.Values != "" && harmlessValue(e.Values, v.Value) {
		return ""
	}
	return "env " + name
}

// harmlessValue reports whether every blank-separated part of a value is on the list. An entry with a * covers parts
// with that prefix and suffix, as long as no path or shell syntax stands in between.
func harmlessValue(list, v string) bool {
	for part := range strings.FieldsSeq(v) {
		ok := false
		for l := range strings.FieldsSeq(list) {
			p, end, star := strings.Cut(l, "*")
			rest, begins := strings.CutPrefix(part, p)
			if part == l || star && begins && strings.HasSuffix(rest, end) && !strings.ContainsAny(rest, "/\\;|&$`") {
				ok = true
				break
			}
		}
		if !ok {
			return false
		}
	}
	return strings.TrimSpace(v) != ""
}

// globMatch matches a pattern with a * at the beginning, the end, or both.
func globMatch(pattern, s string) bool {
	pre, lead := strings.CutPrefix(pattern, "*")
	mid, trail := strings.CutSuffix(pre, "*")
	switch {
	case lead && trail:
		return strings.Contains(s, mid)
	case lead:
		return strings.HasSuffix(s, pre)
	case trail:
		return strings.HasPrefix(s, mid)
	}
	return pattern == s
}

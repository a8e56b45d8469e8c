package permissions

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"callgate/permissions/internal/jsonc"
	"callgate/permissions/internal/pattern"
)

// File is the content of a permissions.jsonc.
type File struct {
	Rules  []Rule  // in file order
	Grants []Grant // "$always", in file order
}

// AlwaysKey is the member that holds the grants.
const AlwaysKey = "$always"

// Limits on a file: its size in bytes, and its brackets, which bound how deep the text can nest.
const (
	MaxFile         = 1 << 20
	maxFileBrackets = 1 << 16
)

// FileError says what is wrong with a permissions file, where, and how to fix it. Line and Column (bytes) count from 1.
type FileError struct {
	Path         string
	Line, Column int
	Message      string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Message)
}

// ParseFile parses the text of a permissions.jsonc. path names it in errors and sources. home replaces a leading `~` or
// `$HOME`; if it is "", their use is an error. The error is a *FileError, and then File is nil: ParseFile never returns
// a half-read file.
func ParseFile(path string, data []byte, home string) (*File, error) {
	p := &fileParser{path: path, data: data, home: home}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	f := new(File)
	err = p.members(root, func(name string, key, value *hujson.Value) (err error) {
		switch {
		case name == AlwaysKey:
			f.Grants, err = p.grants(value)
			return err
		case strings.HasPrefix(name, "$"):
			return p.errorf(key, "unknown key %q: keys that begin with $ are callgate's own, and %q is the only one", name, AlwaysKey)
		}
		rules, err := p.rules(name, key, value)
		f.Rules = append(f.Rules, rules...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ExpandHome returns a pattern with `~/` or `$HOME/` replaced by home, at its start, behind its `!`, or at the start
// of the value of an "arg=glob". ParseFile does this. Rules from elsewhere MUST go through it before NewPolicy.
func ExpandHome(text, home string) (string, error) {
	name := pattern.ArgumentName(text)
	if err := checkWorkspace(text); err != nil {
		return "", err
	}
	if strings.HasPrefix(text[len(name):], "!") {
		name += "!"
	}
	rest, ok := cutHome(text[len(name):])
	if !ok {
		return text, nil
	}
	if _, err := pattern.CompileValue(text); err != nil { // so that the error quotes what the person wrote
		return "", err
	}
	if home == "" {
		return "", fmt.Errorf("pattern %q: the home directory is not known; write the path out", pattern.Abbreviate(text))
	}
	return name + QuoteGlob(strings.TrimSuffix(filepath.ToSlash(home), "/")) + "/" + rest, nil
}

func cutHome(s string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(s, "~/"); ok {
		return rest, true
	}
	return strings.CutPrefix(s, "$HOME/")
}

// WorkspaceVariable at the start of a pattern, before a "/", means the workspace of the call. A subject for a path in
// the workspace MUST have a spelling in Decides that begins with it; a subject for any other path MUST NOT.
const WorkspaceVariable = "$WORKSPACE"

// checkWorkspace refuses patterns in which $WORKSPACE would not stand for the workspace.
func checkWorkspace(text string) error {
	name := pattern.ArgumentName(text)
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text[len(name):], "!"), WorkspaceVariable)
	switch {
	case !ok:
	case name != "":
		return fmt.Errorf("pattern %q: %s means a folder in patterns of paths, not of arguments: map the tool to a kind in the configuration", pattern.Abbreviate(text), WorkspaceVariable)
	case rest != "" && rest[0] != '/':
		return fmt.Errorf("pattern %q: write %s/ for what is in the workspace", pattern.Abbreviate(text), WorkspaceVariable)
	}
	return nil
}

// fileParser parses one file. Its methods return errors with the place in the file.
type fileParser struct {
	path string
	data []byte
	home string
}

func (p *fileParser) errorf(at *hujson.Value, format string, args ...any) error {
	return p.errorAt(at.StartOffset, format, args...)
}

func (p *fileParser) errorAt(offset int, format string, args ...any) error {
	before := p.data[:min(offset, len(p.data))]
	return &FileError{
		Path:    p.path,
		Line:    1 + bytes.Count(before, []byte("\n")),
		Column:  len(before) - bytes.LastIndexByte(before, '\n'),
		Message: fmt.Sprintf(format, args...),
	}
}

func (p *fileParser) source(at *hujson.Value) string {
	return fmt.Sprintf("%s:%d", p.path, 1+bytes.Count(p.data[:at.StartOffset], []byte("\n")))
}

// parse returns the root of the file, which is an object.
func (p *fileParser) parse() (*hujson.Value, error) {
	switch {
	case len(p.data) > MaxFile:
		return nil, p.errorAt(0, "the file is larger than %d bytes", MaxFile)
	case bytes.Count(p.data, []byte("{"))+bytes.Count(p.data, []byte("[")) > maxFileBrackets:
		return nil, p.errorAt(0, "the file has more than %d brackets", maxFileBrackets)
	case bytes.HasPrefix(p.data, []byte("\uFEFF")):
		return nil, p.errorAt(0, "the file begins with a byte order mark: save it as plain UTF-8")
	case len(bytes.TrimSpace(p.data)) == 0:
		return nil, p.errorAt(0, `the file is empty: write at least {"*": "ask"}`)
	}
	if i := invalidUTF8(p.data); i >= 0 {
		return nil, p.errorAt(i, "not valid UTF-8: save the file as UTF-8")
	}
	root, err := jsonc.Parse(p.data)
	if err != nil {
		return nil, p.syntaxError(err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, p.errorf(&root, `a permissions file is an object: write {"*": "ask"}`)
	}
	return &root, nil
}

// syntaxError turns hujson's error, whose text begins with its place, into a FileError.
func (p *fileParser) syntaxError(err error) error {
	const cure = "look for a missing comma, quote or bracket there or just before"
	_, message, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	fault := &FileError{Path: p.path, Message: message + ": " + cure}
	_, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &fault.Line, &fault.Column)
	if lines := 1 + bytes.Count(p.data, []byte("\n")); scanErr != nil || fault.Line > lines {
		// The place is the end of the file, or past the line break that jsonc.Parse added.
		return p.errorAt(len(p.data), "%s", fault.Message)
	}
	return fault
}

// members calls visit for each member of an object, in order. A name that occurs twice is an error.
func (p *fileParser) members(object *hujson.Value, visit func(name string, key, value *hujson.Value) error) error {
	seen := make(map[string]*hujson.Value)
	members := object.Value.(*hujson.Object).Members
	for i := range members {
		key, value := &members[i].Name, &members[i].Value
		name := jsonc.Name(&members[i])
		if first, ok := seen[name]; ok {
			return p.errorf(key, "duplicate key %q, first at %s: merge the two", name, p.source(first))
		}
		seen[name] = key
		if err := visit(name, key, value); err != nil {
			return err
		}
	}
	return nil
}

// rules parses the member of one tool.
func (p *fileParser) rules(tool string, key, value *hujson.Value) ([]Rule, error) {
	glob, err := CompileGlob(tool)
	if err != nil {
		return nil, p.errorf(key, "tool %v", err)
	}
	if _, ok := value.Value.(*hujson.Object); !ok {
		r, err := p.rule(glob, "*", key, value)
		return []Rule{r}, err
	}
	var rules []Rule
	err = p.members(value, func(pattern string, key, value *hujson.Value) error {
		r, err := p.rule(glob, pattern, key, value)
		rules = append(rules, r)
		return err
	})
	return rules, err
}

func (p *fileParser) rule(tool *Glob, text string, key, value *hujson.Value) (Rule, error) {
	r := Rule{Tool: tool.String(), Layer: LayerFile, Source: p.source(key), tool: tool}
	action, examples, err := p.detailed(value, &r)
	if err != nil {
		return Rule{}, err
	}
	literal, ok := action.Value.(hujson.Literal)
	if !ok || literal.Kind() != '"' {
		return Rule{}, p.errorf(action, `an action is expected: "allow", "ask", "confirm" or "deny"`)
	}
	if r.Action, err = ParseAction(literal.String()); err != nil {
		return Rule{}, p.errorf(action, "%v", err)
	}
	if r.Capped && r.Action != Allow {
		return Rule{}, p.errorf(action, `"risk" is the worst class that an allow covers: leave it out of a rule that says %q`, r.Action)
	}
	if r.Approvers > 0 {
		if r.Action != Ask && r.Action != Confirm {
			return Rule{}, p.errorf(action, `"approvers" go with "confirm": leave them out of a rule that says %q`, r.Action)
		}
		r.Action = Confirm // a grant cannot replace several persons
	}
	if r.Pattern, err = ExpandHome(text, p.home); err != nil {
		return Rule{}, p.errorf(key, "%v", err)
	}
	if err = r.compilePattern(); err != nil {
		return Rule{}, p.errorf(key, "%v", err)
	}
	return r, p.check(&r, examples)
}

// grants parses "$always".
func (p *fileParser) grants(value *hujson.Value) ([]Grant, error) {
	array, ok := value.Value.(*hujson.Array)
	if !ok {
		return nil, p.errorf(value, "%q is an array of grants: write [] for none", AlwaysKey)
	}
	var grants []Grant
	for i := range array.Elements {
		g, err := p.grant(&array.Elements[i])
		if err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// grant parses one grant. An unknown field, which might be meant to narrow the grant, is an error, as is a missing
// ceiling.
func (p *fileParser) grant(value *hujson.Value) (Grant, error) {
	if _, ok := value.Value.(*hujson.Object); !ok {
		return Grant{}, p.errorf(value, `a grant is an object: {"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"}`)
	}
	g := Grant{Layer: LayerAlways, Source: p.source(value)}
	var hasRisk bool
	err := p.members(value, func(name string, key, value *hujson.Value) error {
		literal, ok := value.Value.(hujson.Literal)
		if !ok || literal.Kind() != '"' {
			return p.errorf(value, "%q of a grant is a string", name)
		}
		text := literal.String()
		var err error
		switch name {
		case "tool":
			g.Tool = text
			g.tool, err = CompileGlob(text)
		case "pattern":
			if g.Pattern, err = ExpandHome(text, p.home); err == nil {
				g.pattern, err = pattern.CompileValue(g.Pattern)
			}
		case "risk":
			hasRisk = true
			g.Risk, err = ParseRisk(text)
		case "server":
			g.Server, err = nonEmpty(text)
		case "workspace":
			g.Workspace, err = p.directory(text)
		case "content":
			g.Content, err = nonEmpty(text)
		case "folder":
			g.Folder, err = nonEmpty(text)
		case "denied":
			g.Denied, err = nonEmpty(text)
		case "by":
			g.By = text
		case "at":
			g.At, err = parseTime(text)
		case "expires":
			g.Expires, err = parseTime(text)
		default:
			return p.errorf(key, "unknown key %q in a grant: use tool, pattern, risk, server, workspace, content, folder, denied, by, at, expires", name)
		}
		if err != nil {
			return p.errorf(value, "%q of a grant: %v", name, err)
		}
		return nil
	})
	if err == nil {
		err = p.complete(value, &g, hasRisk)
	}
	if err != nil {
		return Grant{}, err
	}
	return g, nil
}

// complete returns an error if the grant lacks a required field.
func (p *fileParser) complete(value *hujson.Value, g *Grant, hasRisk bool) error {
	switch {
	case g.tool == nil:
		return p.errorf(value, `a grant needs "tool"`)
	case g.pattern == nil:
		return p.errorf(value, `a grant needs "pattern": "*" for every value`)
	case !hasRisk:
		return p.errorf(value, `a grant needs "risk", the worst class that it lets run: "WRITE" for instance`)
	}
	return nil
}

// directory parses a workspace: an absolute directory, in which `~` means home.
func (p *fileParser) directory(text string) (string, error) {
	if rest, ok := cutHome(text + "/"); ok {
		if p.home == "" {
			return "", errors.New("the home directory is not known: write the path out")
		}
		text = filepath.Join(p.home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(text) {
		return "", fmt.Errorf("%q is not an absolute directory", text)
	}
	return filepath.Clean(text), nil
}

func nonEmpty(text string) (string, error) {
	if text == "" {
		return "", errors.New("is empty: leave it out to not restrict the grant")
	}
	return text, nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("%q is not a time: write it as 2026-11-20T10:00:00Z", text)
	case t.IsZero():
		return time.Time{}, errors.New("is the zero time: leave it out instead")
	}
	return t, nil
}

// invalidUTF8 returns the offset of the first byte that is not valid UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

package tools

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/internal/gitfiles"
	"callgate/permissions"
	"callgate/shellparse"
)

// operationAlone reports whether a pattern fixes no word behind the operation, whose name is operation bytes long.
func operationAlone(pattern string, operation int) bool {
	return operation > 0 && strings.HasSuffix(pattern, " *") && !strings.HasSuffix(pattern, "/*") && len(pattern)-2 <= operation
}

// Offers returns the patterns that an approver may grant with "always", for each subject from narrow to broad. A call
// that only a person can release each time gets none, because a grant for its other subjects would not release it. a
// MUST be what Analyze returned for c.
func Offers(c Call, a *Analysis) []Offer {
	if len(a.Marks) > 0 || a.Refuse != "" || a.Risk == permissions.Escalation {
		return nil
	}
	var list []Offer
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if s.DeniesOnly && s.By == nil {
			continue
		}
		var from source
		if i < len(a.sources) {
			from = a.sources[i]
		}
		if from.command != nil && from.command.DenyOnly && !s.DeniesOnly { // for what it does, it needs a grant all the same
			needed := *from.command
			needed.DenyOnly = false
			from.command = &needed
		}
		o := Offer{Tool: s.Tool, Risk: s.Risk, Subject: i}
		if slices.ContainsFunc(s.Effects, func(e permissions.Effect) bool { return e.Named == 0 }) {
			// Where a command runs may be its only effect. A pattern for its words is worth having even so: it
			// holds where the command runs in the workspace, at the risk of the words.
			if from.command == nil || len(s.Effects) != len(from.command.Effects) {
				return nil
			}
			o.Risk, _, _ = commands.Classify(from.command)
		}
		if s.Kind != "" && s.KindBound {
			o.Tool = s.Kind
		}
		choices := patterns(c, a, s, from)
		if len(s.Effects) > 0 && len(choices) == 0 {
			return nil
		}
		for _, p := range choices {
			if o := o.with(p, s, from); !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	return list
}

// with returns the offer of a pattern for a subject.
func (o Offer) with(p shellparse.Pattern, s *permissions.Subject, from source) Offer {
	o.Pattern, o.Default, o.Bound = p.Text, p.Default, p.Bound
	if from.command != nil && !p.Default && operationAlone(p.Text, s.Operation) {
		o.Bound = o.Bound && permissions.Network.Exceeds(s.Risk) // by its name alone it reaches any host or remote
	}
	return o
}

// FolderOffers returns what may be granted for reading folder with the denied files below it: the same program or tool
// may read it again as long as the denied files, whose digest is denied, stay the same.
func FolderOffers(a *Analysis, i int, folder string, files []string, denied string) []Offer {
	s := &a.Subjects[i]
	o := Offer{Tool: s.Tool, Risk: permissions.ReadOnly, Subject: i, Default: true, Folder: folder, Denied: denied, Glob: "*"}
	if s.Kind != "" && s.KindBound {
		o.Tool = s.Kind
	}
	if i < len(a.sources) && a.sources[i].command != nil {
		if s.Operation <= 0 || len(s.Decides) == 0 || s.Operation > len(s.Decides[0]) {
			return nil
		}
		o.Glob = permissions.QuoteGlob(s.Decides[0][:s.Operation]) + " *"
	}
	names := make([]string, 0, 3)
	for _, f := range files[:min(len(files), 3)] {
		names = append(names, filepath.Base(f))
	}
	if more := len(files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	o.Pattern = fmt.Sprintf("%s in %s as it is, with %s", o.Glob, strings.TrimSuffix(folder, string(filepath.Separator)+filepath.Join(".git", gitfiles.IndexName)), strings.Join(names, ", "))
	return []Offer{o}
}

func patterns(c Call, a *Analysis, s *permissions.Subject, from source) []shellparse.Pattern {
	switch {
	case a.Risk == permissions.Destructive && s.Value != "" && (from.command == nil || len(shellparse.Patterns(from.command)) > 0):
		return exactly(s.Value) // nothing that goes along with destruction is granted beyond its text
	case from.command != nil:
		return shellparse.Patterns(from.command)
	case from.path != "" && len(s.Decides) > 0:
		return pathPatterns(c.Place, s, from)
	case s.Kind == KindFetch && s.Risk != permissions.Destructive && len(s.Decides) > 0:
		return urlPatterns(s.Decides[0])
	case s.Value == "" && len(s.Decides) == 0:
		return argumentPatterns(s)
	case len(s.Decides) == 0:
		return nil
	}
	return exactly(s.Decides[0])
}

// maxExact bounds, in bytes, the text of arguments that is offered, because people have to read it.
const maxExact = 1000

// argumentPatterns offers, for a tool without a kind, the arguments as they are, then each of them that says what the
// call is about, and then the tool whatever its arguments are. The last is the default only where the risk is not high.
func argumentPatterns(s *permissions.Subject) []shellparse.Pattern {
	exact, ok := permissions.QuoteArguments(s.Arguments)
	var patterns []shellparse.Pattern
	if ok && exact != permissions.QuoteGlob("{}") && len(exact) <= maxExact {
		patterns = append(patterns, shellparse.Pattern{Text: exact, Default: s.Risk.Exceeds(permissions.Network)})
	}
	if s.Risk == permissions.Destructive {
		return patterns // nothing that goes along with destruction is granted beyond its text
	}
	list, _ := arguments.Members(s.Arguments)
	for _, a := range list {
		value, isText := arguments.Text(a.Value)
		if c := kindOf(a.Value); c == '-' || '0' <= c && c <= '9' {
			value, isText = string(a.Value), true
		}
		if isText && value != "" && len(list) > 1 && len(value) <= maxExact && saysWhere(a.Name) {
			patterns = append(patterns, shellparse.Pattern{Text: a.Name + "=" + permissions.QuoteGlob(value)})
		}
	}
	return append(patterns, shellparse.Pattern{Text: "*", Default: !s.Risk.Exceeds(permissions.Network)})
}

// places lists words in names of arguments that say what a call is about, and not what it does there.
var places = []string{
	"account", "board", "branch", "bucket", "channel", "cluster", "database", "db", "domain", "env", "environment", "host", "hostname", "id",
	"key", "namespace", "org", "organization", "owner", "project", "queue", "region", "repo", "repository", "service", "table", "team", "topic", "workspace",
}

// saysWhere reports whether an argument of that name says what the call is about.
func saysWhere(name string) bool {
	if strings.Trim(name, "_-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || strings.Trim(name[:1], "-0123456789") == "" {
		return false // no pattern can name it
	}
	words := wordsOf(name)
	if role := guessRole(name); role == kinds.ReadPath || role == kinds.URL {
		return true
	}
	return len(words) > 0 && slices.Contains(places, words[len(words)-1])
}

func exactly(value string) []shellparse.Pattern {
	return []shellparse.Pattern{{Text: permissions.QuoteGlob(value), Default: true, Bound: true}}
}

// pathPatterns offers the path and then its folder: relative to the workspace where it lies in one, never a
// folder that holds the workspace, or everything.
func pathPatterns(p Place, s *permissions.Subject, from source) []shellparse.Pattern {
	root, rel, inside := p.InWorkspace(from.path)
	exact := from.path
	if inside && rel != "." {
		exact = rel
	}
	patterns := exactly(portable(exact))
	if s.Risk == permissions.Destructive {
		return patterns
	}
	folder := from.path
	if !from.folder {
		folder = filepath.Dir(from.path)
	}
	var broad string
	switch {
	case inside:
		if _, ok := workspace.Within(root, folder); !ok {
			return patterns
		}
		broad = folder // absolute for files of the root itself: relative it would be "*"
		if folder != root {
			broad, _ = workspace.Within(root, folder)
		}
	case p.Dir == "" || !filepath.IsAbs(folder) || holds(folder, p):
		return patterns
	default:
		broad = folder
	}
	patterns = append(patterns, shellparse.Pattern{Text: permissions.QuoteGlob(portable(broad)) + "/*"})
	if inside && !from.folder && folder != root { // nobody means the whole workspace by one file
		patterns[1].Bound = true
	}
	return patterns
}

// holds reports whether folder is the root of a volume, the home directory, or above one of these or above
// the workspace.
func holds(folder string, p Place) bool {
	if filepath.Dir(folder) == folder {
		return true
	}
	for _, inner := range append(p.Bases(), p.Home) {
		if inner == "" {
			continue
		}
		if _, ok := workspace.Within(folder, inner); ok {
			return true
		}
		if real, _, err := workspace.RealPath(inner); err == nil {
			if _, ok := workspace.Within(folder, real); ok {
				return true
			}
		}
	}
	return false
}

// HoldsHome reports whether folder is the root of a volume, the home directory, or above one of these or above the
// workspace. A workspace root itself is none of these unless it holds the home.
func HoldsHome(p Place, folder string) bool {
	if slices.ContainsFunc(p.Bases(), func(root string) bool {
		real, _, err := workspace.RealPath(root)
		return folder == root || err == nil && folder == real
	}) {
		p.Dir, p.Roots = "", nil
	}
	return holds(folder, p)
}

// portable writes a path with slashes, which rules use everywhere.
func portable(path string) string { return filepath.ToSlash(path) }

// urlPatterns offers the address and then its host.
func urlPatterns(address string) []shellparse.Pattern {
	patterns := exactly(address)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return patterns
	}
	return append(patterns, shellparse.Pattern{Text: permissions.QuoteGlob(u.Scheme+"://"+u.Host) + "/*", Bound: true})
}

// Suggestions returns the rules, from narrow to broad, each of which would allow the i-th subject of the call: one for
// its text, and one for the name of its operation. It returns none if no rule can.
func Suggestions(c Call, a *Analysis, i int) (rules []permissions.Rule) {
	s := &a.Subjects[i]
	var texts []string
	switch {
	case len(a.Marks) > 0 || a.Refuse != "" || s.Risk == permissions.Escalation || s.DeniesOnly && s.By == nil:
		return nil
	case s.Kind == KindShell && len(s.Decides) > 0:
		texts = []string{permissions.QuoteGlob(s.Decides[0])}
		reach := s.Operation
		for _, e := range s.Effects {
			if e.Named == permissions.Whole {
				reach = 0
				break
			}
			reach = max(reach, e.Named)
		}
		if s.Risk != permissions.Destructive && 0 < reach && reach <= len(s.Decides[0]) {
			texts = append(texts, permissions.QuoteGlob(s.Decides[0][:reach])+" *")
		}
	default:
		var from source
		if i < len(a.sources) {
			from = a.sources[i]
		}
		for _, p := range patterns(c, a, s, from) {
			texts = append(texts, p.Text)
		}
	}
	tool := s.Tool
	if s.Kind != "" && s.KindBound {
		tool = s.Kind
	}
	for _, text := range texts {
		policy, err := permissions.NewPolicy(nil, []permissions.Rule{{Tool: tool, Pattern: text, Action: permissions.Allow}}, nil)
		if err != nil {
			continue
		}
		if permissions.Evaluate(policy, permissions.Context{}, s).Action == permissions.Allow {
			rules = append(rules, policy.File[0])
		}
	}
	return rules
}

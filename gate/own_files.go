package gate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/internal/companions"
	"callgate/gate/internal/facts"
	"callgate/gate/tools"
)

// Protected is what no tool call may touch, whatever the rules say: callgate's own files and the approvers' addresses.
// It is immutable except for the ports of others.
type Protected struct {
	paths   []string        // absolute, as given and with links resolved
	needles []needle        // texts that name one of the paths, for arguments that are not known to be paths
	ports   []string        // of companions on this machine
	others  func() []string // returns further ports, which come and go; may be nil
	names   []string        // lower-case file names that only callgate uses, in whatever folder
}

// NewProtected protects the files and folders at paths, everything beneath them, and the TCP ports on this machine.
// home is what a leading ~ stands for.
func NewProtected(paths []string, home string, ports []string) (*Protected, error) {
	p := &Protected{ports: ports}
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("protect %s: %w", path, err)
		}
		p.add(abs, home)
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			p.add(real, home)
		}
	}
	return p, nil
}

// WithPorts returns a copy of p with further ports. others is called for every tool call, because companions change.
func (p *Protected) WithPorts(others func() []string) *Protected {
	q := *p
	q.others = others
	return &q
}

// WithNames returns a copy of p that also protects files with these names, by any path. A socket's name can be part of
// a word that only its program understands.
func (p *Protected) WithNames(names ...string) *Protected {
	q := *p
	q.names = slices.Clone(p.names)
	q.needles = slices.Clone(p.needles)
	for _, name := range names {
		name = strings.ToLower(name)
		q.names = append(q.names, name)
		q.needles = append(q.needles, newNeedle(name))
	}
	return &q
}

// allPorts returns the ports that are protected now.
func (p *Protected) allPorts() []string {
	if p.others == nil {
		return p.ports
	}
	return append(p.others(), p.ports...)
}

func (p *Protected) add(abs, home string) {
	p.paths = append(p.paths, abs)
	forms := []string{abs}
	if rest, ok := strings.CutPrefix(abs, home+string(filepath.Separator)); ok && home != "" {
		forms = append(forms, "~/"+rest, "$HOME/"+rest, "${HOME}/"+rest)
	}
	p.needles = append(p.needles, newNeedle(forms...))
}

// needle is something to look for in lower-case texts, in any of its forms. All forms share an end, which is looked for
// first. It begins at a character that is rarer than letters.
type needle struct {
	end   string
	forms []string
}

func newNeedle(forms ...string) needle {
	n := needle{forms: make([]string, len(forms))}
	for i, form := range forms {
		n.forms[i] = strings.ToLower(form)
	}
	n.end = n.forms[0]
	for _, form := range n.forms {
		for !strings.HasSuffix(form, n.end) {
			n.end = n.end[1:]
		}
	}
	n.end = n.end[max(0, strings.LastIndexAny(n.end, `./\`)):]
	return n
}

func (n needle) in(t *facts.Text) bool { return t.Holds(n.end) && t.HoldsAny(n.forms) }

// touched returns why the call touches something protected, or "". It looks at the paths that the call was found to
// touch, in every reading, and at the text of every argument.
func (p *Protected) touched(call Call, a *tools.Analysis) string {
	if p == nil {
		return ""
	}
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if !facts.FileKind(s.Kind) {
			continue
		}
		for _, form := range append(s.Also[:len(s.Also):len(s.Also)], s.Decides) {
			if slices.ContainsFunc(form, p.Holds) {
				return fmt.Sprintf("%q belongs to callgate itself: no tool may read or change it.", tools.Visible(s.Value))
			}
		}
	}
	for _, path := range a.Paths {
		if p.Holds(path) {
			return fmt.Sprintf("%q belongs to callgate itself: no tool may read or change it.", tools.Visible(path))
		}
	}
	for _, c := range a.Commands {
		if len(c.Argv) > 0 && isCallgate(c.Argv[0]) {
			return "No tool may run callgate: it is for the person at the machine."
		}
		if slices.ContainsFunc(c.Argv, p.hasName) {
			return "A word of the command names callgate's own files: no tool may read or change them."
		}
	}
	for _, folder := range a.Folders {
		for _, path := range p.paths {
			if facts.Within(path, folder) {
				return fmt.Sprintf("The folder %q contains callgate's own files: no tool may read or change them.", tools.Visible(folder))
			}
		}
	}
	texts := call.facts().Said()
	if why := p.named(texts); why != "" {
		return why
	}
	if (len(a.Commands) > 0 || companions.MayReach(call.Arguments)) && companions.Reaches(call.Arguments, texts, a, p.allPorts()) {
		return "An argument names the address that approvals are given at: no tool may talk to it."
	}
	return ""
}

// named returns why one of the texts names a protected path, or "" if none does.
func (p *Protected) named(texts []facts.Text) (why string) {
	for i := range texts {
		for _, n := range p.needles {
			if n.in(&texts[i]) {
				return "An argument names callgate's own files: no tool may read or change them."
			}
		}
	}
	return ""
}

// hasName reports whether a word contains one of the names.
func (p *Protected) hasName(word string) bool {
	lower := strings.ToLower(word)
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.Contains(lower, name) })
}

// isCallgate reports whether a command's first word is this program, by whatever path or case.
func isCallgate(word string) bool {
	name := strings.ToLower(word[strings.LastIndexAny(word, `/\`)+1:])
	return strings.TrimSuffix(name, ".exe") == "callgate"
}

// Imitates returns why a server's request to the host must be refused: it names the approvers' address, callgate's own
// files or a pending approval, and so could pass for callgate. It returns "" if the request is fine.
func (g *Gate) Imitates(params []byte) (why string) {
	texts := facts.TextsOf(params)
	if p := g.protected.Load(); p != nil {
		if why := p.named(texts); why != "" {
			return why
		}
		if companions.Reaches(params, texts, &tools.Analysis{}, p.allPorts()) {
			return "It names the address that approvals are given at."
		}
	}
	for _, a := range g.Pending() {
		if slices.ContainsFunc(texts, func(t facts.Text) bool { return strings.Contains(t.Said, a.ID) }) {
			return "It names a pending approval."
		}
	}
	return ""
}

// Holds reports whether path is one of the protected files or beneath a protected folder.
func (p *Protected) Holds(path string) bool {
	if p == nil {
		return false
	}
	return slices.ContainsFunc(p.paths, func(own string) bool { return facts.Within(path, own) })
}

package permissions

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"callgate/permissions/internal/pattern"
)

// Policy holds the rules and grants of one session at one moment. It is immutable: a changed file or a new grant makes
// a new Policy. Use NewPolicy or With; the zero value denies. It is safe for concurrent use. Keep it: it caches which
// rules concern which tool.
type Policy struct {
	Agent  []Rule  // in file order; nil if the session has no agent profile
	File   []Rule  // in file order
	Grants []Grant // worker grants first, then session grants

	bindsContent bool // a grant is bound to the content of a script
	asksFlow     bool // a rule asks where values come from
	asksSession  bool // a rule asks what the session did, or about its place or time
	asksBranch   bool // a rule asks which branch is checked out
	destinations bool // a rule is about destinations

	views *views // nil if the Policy was not compiled
}

// NewPolicy compiles rules and grants. The error names the faulty rule or grant.
func NewPolicy(agent, file []Rule, grants []Grant) (*Policy, error) {
	p := &Policy{
		Agent:  slices.Clone(agent),
		File:   slices.Clone(file),
		Grants: slices.Clone(grants),
		views:  new(views),
	}
	for i := range p.Agent {
		if err := p.Agent[i].compile(LayerAgent); err != nil {
			return nil, err
		}
	}
	for i := range p.File {
		if err := p.File[i].compile(LayerFile); err != nil {
			return nil, err
		}
	}
	for _, rules := range [][]Rule{p.Agent, p.File} {
		for i := range rules {
			w := &rules[i].When
			p.destinations = p.destinations || slices.Contains(EffectKeys, rules[i].Tool)
			p.asksFlow = p.asksFlow || w.flow()
			p.asksSession = p.asksSession || rules[i].condition != nil
			p.asksBranch = p.asksBranch || w.Branch != ""
		}
	}
	for i := range p.Grants {
		if err := p.Grants[i].compile(LayerSession); err != nil {
			return nil, err
		}
		p.bindsContent = p.bindsContent || p.Grants[i].Content != ""
	}
	return p, nil
}

// With returns the policy of a session: the rules and grants of p, under the rules of the session's agent profile, with
// the session's own grants. Callers SHOULD keep the result while p and the session's layers stay the same.
func (p *Policy) With(agent []Rule, session []Grant) (*Policy, error) {
	return NewPolicy(agent, p.File, slices.Concat(p.Grants, session))
}

// AsksFlow reports whether a rule asks where the values of a call come from.
func (p *Policy) AsksFlow() bool { return p != nil && p.asksFlow }

// AsksSession reports whether a rule has a condition about the session. Then Context.Session MUST be set.
func (p *Policy) AsksSession() bool { return p != nil && p.asksSession }

// AsksBranch reports whether a rule asks which branch is checked out.
func (p *Policy) AsksBranch() bool { return p != nil && p.asksBranch }

// AsksDestinations reports whether a rule is about destinations: its key is one of EffectKeys.
func (p *Policy) AsksDestinations() bool { return p != nil && p.destinations }

// Destination returns the last rule of the agent and of the file whose key is the effect and whose pattern matches the
// destination, as it is or in lower case. Each is nil if there is none.
func (p *Policy) Destination(effect, to string) (agent, file *Rule) {
	if !p.AsksDestinations() || !slices.Contains(EffectKeys, effect) {
		return nil, nil
	}
	v, form := p.written(effect), Form{to, strings.ToLower(to)}
	last := func(from, n int) *Rule {
		left := v.patterns.Backward(nil, n, form, &pattern.Arguments{})
		for i := left.Next(); i >= from; i = left.Next() {
			if r := &v.rules[i]; slices.ContainsFunc(form, r.pattern.Glob.Match) {
				return r.Rule
			}
		}
		return nil
	}
	return last(0, v.agent), last(v.agent, len(v.rules))
}

// GrantsOf yields the grants whose key is exactly tool and whose pattern matches the text. The caller checks if they
// hold.
func (p *Policy) GrantsOf(tool, text string) iter.Seq[*Grant] {
	return func(yield func(*Grant) bool) {
		if p == nil || p.views == nil || len(p.Grants) == 0 {
			return
		}
		v := p.written(tool)
		left := v.granted.Backward(nil, len(v.grants), Form{text}, &pattern.Arguments{})
		for i := left.Next(); i >= 0; i = left.Next() {
			if g := v.grants[i]; g.pattern.Glob.Match(text) && !yield(g) {
				return
			}
		}
	}
}

// written returns the view of the rules and grants whose key is exactly the tool. Callers use it only for a few tools.
func (p *Policy) written(tool string) *view {
	p.views.mu.RLock()
	v := p.views.written[tool]
	p.views.mu.RUnlock()
	if v != nil {
		return v
	}
	var rules []viewRule
	var grants []*Grant
	agent := 0
	for i := range len(p.Agent) + len(p.File) {
		if r := p.rule(i); r.Tool == tool {
			rules = append(rules, viewRule{Rule: r})
		}
		if i < len(p.Agent) {
			agent = len(rules)
		}
	}
	for i := range slices.Backward(p.Grants) {
		if p.Grants[i].Tool == tool {
			grants = append(grants, &p.Grants[i])
		}
	}
	v = newView(rules, agent, grants, &Subject{})
	p.views.mu.Lock()
	defer p.views.mu.Unlock()
	if p.views.written == nil {
		p.views.written = map[string]*view{}
	}
	p.views.written[tool] = v
	return v
}

// BindsContent reports whether a grant is bound to the content of a script. Then Subject.Content MUST be set.
func (p *Policy) BindsContent() bool { return p != nil && p.bindsContent }

func (r *Rule) compile(layer Layer) (err error) {
	r.Layer = cmp.Or(r.Layer, layer)
	if r.Action > Allow {
		return fmt.Errorf("%s: unknown action %d", r.Source, r.Action)
	}
	if r.Capped && (r.Action != Allow || r.Risk > Escalation) {
		return fmt.Errorf("%s: only an allow can have a risk", r.Source)
	}
	if r.Approvers < 0 || r.Approvers == 1 || r.Approvers > MaxApprovers || r.Approvers > 0 && r.Action != Confirm {
		return fmt.Errorf("%s: use 2 to %d approvers, and only in a rule that says confirm", r.Source, MaxApprovers)
	}
	if r.tool == nil || r.tool.String() != r.Tool {
		if r.tool, err = CompileGlob(r.Tool); err != nil {
			return fmt.Errorf("%s: tool %w", r.Source, err)
		}
	}
	if err := r.compilePattern(); err != nil {
		return fmt.Errorf("%s: %w", r.Source, err)
	}
	if slices.Contains(EffectKeys, r.Tool) && (r.When != (When{}) || r.Approvers > 0) {
		return fmt.Errorf("%s: a rule for destinations (%s) takes no condition and no approvers", r.Source, r.Tool)
	}
	if r.condition, err = r.When.compile(); err != nil {
		return fmt.Errorf("%s: %w", r.Source, err)
	}
	r.text = r.describe()
	return nil
}

// compilePattern compiles the pattern for paths and for other values. A rule about only one of them has one pattern.
func (r *Rule) compilePattern() (err error) {
	defer func() {
		if err == nil {
			return
		}
		if _, written := pattern.CompileValue(r.Pattern); written != nil { // so that the error quotes what the person wrote
			err = written
		}
	}()
	r.paths, r.others = valueKinds(r.Tool)
	text, path := r.Pattern, r.Pattern
	if r.paths {
		path = pattern.Path(r.Pattern, r.Action <= Confirm)
	}
	if !r.others {
		text = path
	}
	if r.pattern == nil || r.pattern.Glob.String() != text {
		if r.pattern, err = pattern.CompileValue(text); err != nil {
			return err
		}
	}
	if path == text {
		r.path = r.pattern
	} else if r.path == nil || r.path.Glob.String() != path {
		r.path, err = pattern.CompileValue(path)
	}
	return err
}

func (g *Grant) compile(layer Layer) (err error) {
	g.Layer = cmp.Or(g.Layer, layer)
	if g.Risk > Escalation {
		return fmt.Errorf("%s: unknown risk %d", g.Source, g.Risk)
	}
	if g.tool == nil || g.tool.String() != g.Tool {
		if g.tool, err = CompileGlob(g.Tool); err != nil {
			return fmt.Errorf("%s: tool %w", g.Source, err)
		}
	}
	if g.pattern == nil || g.pattern.Glob.String() != g.Pattern {
		if g.pattern, err = pattern.CompileValue(g.Pattern); err != nil {
			return fmt.Errorf("%s: %w", g.Source, err)
		}
	}
	if (g.Folder == "") != (g.Denied == "") {
		return fmt.Errorf("%s: a grant has both \"folder\" and \"denied\", or neither", g.Source)
	}
	if g.Workspace != "" {
		if !filepath.IsAbs(g.Workspace) {
			return fmt.Errorf("%s: workspace %q is not an absolute path", g.Source, g.Workspace)
		}
		g.Workspace = filepath.Clean(g.Workspace)
	}
	return nil
}

// view is the part of a policy that concerns a tool, in the policy's order: the agent's rules, then the file's. Tools
// with the same rules and grants share a view.
type view struct {
	rules    []viewRule
	patterns pattern.Index // of rules
	agent    int           // how many of the rules are the agent's
	grants   []*Grant      // the last one first
	granted  pattern.Index // of grants
}

type viewRule struct {
	*Rule
	// weak means that the rule matches only a guessed kind, or the common name of several tools. It can tighten, not
	// loosen.
	weak bool
	// pattern is Rule.pattern, or one of its alternatives: a rule that lists names appears once for each, so that the
	// index of patterns can exclude each name.
	pattern *pattern.Value
	// bare means that the rule tightens and its pattern is the name of a command without any further word.
	bare bool
}

type viewKey struct {
	tool, plain, kind string
	bound             bool
}

// views caches the views that were asked for.
type views struct {
	mu      sync.RWMutex
	byTool  map[viewKey]*view
	same    map[[sha256.Size]byte]*view // by the digest of their contents
	written map[string]*view            // by the key of rules and grants
}

// maxTools and maxViews limit the memory that invented tool names can take. At a limit, the cache starts afresh.
const (
	maxTools = 1 << 14
	maxViews = 1 << 10
)

// viewOf returns the rules and grants that concern the subject's tool.
func (p *Policy) viewOf(s *Subject) *view {
	p.views.mu.RLock()
	v := p.views.byTool[viewKey{s.Tool, s.Plain, s.Kind, s.KindBound}]
	p.views.mu.RUnlock()
	if v != nil {
		return v
	}
	rules, agent, grants, digest := p.concerned(s)
	p.views.mu.Lock()
	defer p.views.mu.Unlock()
	if len(p.views.byTool) >= maxTools || len(p.views.same) >= maxViews || p.views.byTool == nil {
		p.views.byTool, p.views.same = map[viewKey]*view{}, map[[sha256.Size]byte]*view{}
	}
	if v = p.views.same[digest]; v == nil {
		v = newView(rules, agent, grants, s)
		p.views.same[digest] = v
	}
	p.views.byTool[viewKey{strings.Clone(s.Tool), strings.Clone(s.Plain), strings.Clone(s.Kind), s.KindBound}] = v
	return v
}

// concerned returns the rules of the subject's tool, the agent's first, and its grants, the last one first. The digest
// differs if newView would make a different view of them.
func (p *Policy) concerned(s *Subject) (rules []viewRule, agent int, grants []*Grant, digest [sha256.Size]byte) {
	numbers := []byte{0, 0}
	switch {
	case s.Kind == ShellKind:
		numbers[0] = 1
	case slices.Contains(PathKinds, s.Kind):
		numbers[0] = 2
	}
	if s.KindBound {
		numbers[1] = 1
	}
	for i := range len(p.Agent) + len(p.File) {
		r := p.rule(i)
		named := r.tool.Match(s.Tool)
		kind := s.Kind != "" && r.tool.Match(s.Kind)
		if named || kind || s.Plain != "" && r.tool.Match(s.Plain) {
			weak := !named && !(kind && s.KindBound)
			rules = append(rules, viewRule{Rule: r, weak: weak})
			number := uint64(i) << 1
			if weak {
				number++
			}
			numbers = binary.AppendUvarint(numbers, number)
		}
		if i < len(p.Agent) {
			agent = len(rules)
		}
	}
	numbers = binary.AppendUvarint(numbers, math.MaxUint64)
	for i := range slices.Backward(p.Grants) {
		g := &p.Grants[i]
		if g.tool.Match(s.Tool) || s.Kind != "" && s.KindBound && g.tool.Match(s.Kind) {
			grants = append(grants, g)
			numbers = binary.AppendUvarint(numbers, uint64(i))
		}
	}
	return rules, agent, grants, sha256.Sum256(numbers)
}

// rule returns rule i of the policy: the agent's rules come first, then the file's.
func (p *Policy) rule(i int) *Rule {
	if i < len(p.Agent) {
		return &p.Agent[i]
	}
	return &p.File[i-len(p.Agent)]
}

// newView returns the view of these grants and rules, the first of which are the agent's.
func newView(rules []viewRule, agent int, grants []*Grant, s *Subject) *view {
	v := &view{grants: grants}
	for i, r := range rules {
		whole := r.Rule.pattern
		if slices.Contains(PathKinds, s.Kind) {
			whole = r.Rule.path
		}
		for _, part := range whole.Alternatives() {
			r.pattern = part
			v.add(r, s)
		}
		if i < agent {
			v.agent = len(v.rules)
		}
	}
	v.patterns.Build()
	for _, g := range grants {
		v.granted.Add(g.pattern)
	}
	v.granted.Build()
	return v
}

// add adds a rule. A deny on the bare name of a command holds with any arguments. For a tool that is only guessed to be
// a shell, such a rule tightens in the same way, but lifts no deny before it.
func (v *view) add(r viewRule, s *Subject) {
	take := func(r viewRule) {
		v.rules = append(v.rules, r)
		if r.bare {
			v.patterns.AddBare(r.pattern)
		} else {
			v.patterns.Add(r.pattern)
		}
	}
	if r.Action > Confirm || s.Kind != ShellKind || r.pattern.Bare == "" || r.pattern.HasArgument() {
		take(r)
		return
	}
	if !r.weak && !s.KindBound {
		take(r)
		r.weak = true
	}
	r.bare = true
	take(r)
}

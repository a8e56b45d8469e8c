package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// Policy is everything that the rules of one session say at one moment. It is immutable: a changed file or a new grant
// makes a new Policy. Only NewPolicy and With make one that decides anything: the zero value denies. It is safe for
// concurrent use. Keep it: it remembers which rules concern which tool.
type Policy struct {
	Agent  []Rule  // in file order; nil when the session has no agent profile
	File   []Rule  // in file order
	Grants []Grant // worker grants first, then session grants

	bindsContent bool // a grant holds for what a script contains
	asksFlow     bool // a rule asks where values come from
	asksSession  bool // a rule asks what the session did, or where and when it is
	asksBranch   bool // a rule asks which branch is checked out

	views *atomic.Pointer[map[viewKey]*view] // nil in a Policy that was not compiled
}

// NewPolicy compiles rules and grants. The error names the rule or grant that is at fault.
func NewPolicy(agent, file []Rule, grants []Grant) (*Policy, error) {
	p := &Policy{
		Agent:  slices.Clone(agent),
		File:   slices.Clone(file),
		Grants: slices.Clone(grants),
		views:  new(atomic.Pointer[map[viewKey]*view]),
	}
	p.views.Store(new(map[viewKey]*view))
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

// With returns the policy of a session: the rules and grants of p, under the rules of the session's agent
// profile and with the session's own grants. Callers SHOULD keep the result for as long as p and the
// session's layers are the same.
func (p *Policy) With(agent []Rule, session []Grant) (*Policy, error) {
	return NewPolicy(agent, p.File, slices.Concat(p.Grants, session))
}

// AsksFlow reports whether a rule asks where the values of a call come from.
func (p *Policy) AsksFlow() bool { return p != nil && p.asksFlow }

// AsksSession reports whether a rule has a condition about the session: Context.Session then says what is known.
func (p *Policy) AsksSession() bool { return p != nil && p.asksSession }

// AsksBranch reports whether a rule asks which branch is checked out.
func (p *Policy) AsksBranch() bool { return p != nil && p.asksBranch }

// BindsContent reports whether a grant holds for what a script contains.
func (p *Policy) BindsContent() bool { return p != nil && p.bindsContent }

func (r *Rule) compile(layer Layer) (err error) {
	r.Layer = cmp.Or(r.Layer, layer)
	if r.Action > Allow {
		return fmt.Errorf("%s: unknown action %d", r.Source, r.Action)
	}
	if r.Capped && (r.Action != Allow || r.Risk > Escalation) {
		return fmt.Errorf("%s: only an allow has a risk as its ceiling", r.Source)
	}
	if r.Approvers < 0 || r.Approvers == 1 || r.Approvers > MaxApprovers || r.Approvers > 0 && r.Action != Confirm {
		return fmt.Errorf("%s: approvers are 2 to %d, of a rule that says confirm", r.Source, MaxApprovers)
	}
	if r.tool == nil || r.tool.text != r.Tool {
		if r.tool, err = CompileGlob(r.Tool); err != nil {
			return fmt.Errorf("%s: tool %w", r.Source, err)
		}
	}
	if r.pattern == nil || r.pattern.value.text != r.Pattern {
		if r.pattern, err = compileValue(r.Pattern); err != nil {
			return fmt.Errorf("%s: %w", r.Source, err)
		}
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

func (g *Grant) compile(layer Layer) (err error) {
	g.Layer = cmp.Or(g.Layer, layer)
	if g.Risk > Escalation {
		return fmt.Errorf("%s: unknown risk %d", g.Source, g.Risk)
	}
	if g.tool == nil || g.tool.text != g.Tool {
		if g.tool, err = CompileGlob(g.Tool); err != nil {
			return fmt.Errorf("%s: tool %w", g.Source, err)
		}
	}
	if g.pattern == nil || g.pattern.value.text != g.Pattern {
		if g.pattern, err = compileValue(g.Pattern); err != nil {
			return fmt.Errorf("%s: %w", g.Source, err)
		}
	}
	if (g.Folder == "") != (g.Denied == "") {
		return fmt.Errorf("%s: a grant has both \"folder\" and \"denied\", or none of them", g.Source)
	}
	if g.Workspace != "" {
		if !filepath.IsAbs(g.Workspace) {
			return fmt.Errorf("%s: workspace %q is not an absolute path", g.Source, g.Workspace)
		}
		g.Workspace = filepath.Clean(g.Workspace)
	}
	return nil
}

// view is what of a policy concerns one tool, in the policy's order: the agent's rules, then the file's.
type view struct {
	rules      []viewRule
	needs      []signature // of rules, side by side: most rules are ruled out by a look at it
	agent      int         // how many of rules are the agent's
	grants     []*Grant
	grantNeeds []signature
	argued     bool // some of the patterns are about arguments
}

// holds is the signature of a form with what the view's patterns can see beside it.
func (v *view) holds(form Form, args *arguments) signature {
	holds := formSignature(form)
	if v.argued {
		holds = holds.or(args.signature())
	}
	return holds
}

type viewRule struct {
	*Rule
	// weak: the rule matches only because of the kind, which is a guess, or only the name that several tools would have. It
	// can tighten, not loosen.
	weak bool
	// pattern is Rule.pattern, or one of its alternatives: a rule that lists names stands here once for each, so that
	// the signature of a name rules it out.
	pattern *valuePattern
	// bare: the rule tightens and is the name of a command without any further word.
	bare bool
}

type viewKey struct {
	tool, plain, kind string
	bound             bool
}

// maxViews bounds the memory that invented tool names can take. Past it a view is made for each subject.
const maxViews = 1024

// viewOf returns what concerns the subject's tool.
func (p *Policy) viewOf(s *Subject) *view {
	known := *p.views.Load()
	if v := known[viewKey{s.Tool, s.Plain, s.Kind, s.KindBound}]; v != nil {
		return v
	}
	v := p.newView(s)
	key := viewKey{strings.Clone(s.Tool), strings.Clone(s.Plain), strings.Clone(s.Kind), s.KindBound}
	for {
		before := p.views.Load()
		if len(*before) >= maxViews {
			return v
		}
		after := maps.Clone(*before)
		if after == nil {
			after = make(map[viewKey]*view, 1)
		}
		after[key] = v
		if p.views.CompareAndSwap(before, &after) {
			return v
		}
	}
}

func (p *Policy) newView(s *Subject) *view {
	v := new(view)
	add := func(rules []Rule) {
		for i := range rules {
			r := &rules[i]
			named := r.tool.Match(s.Tool)
			kind := s.Kind != "" && r.tool.Match(s.Kind)
			if named || kind || s.Plain != "" && r.tool.Match(s.Plain) {
				for _, part := range r.pattern.alternatives() {
					v.add(viewRule{Rule: r, weak: !named && !(kind && s.KindBound), pattern: part}, s)
				}
			}
		}
	}
	add(p.Agent)
	v.agent = len(v.rules)
	add(p.File)
	for i := range p.Grants {
		g := &p.Grants[i]
		if g.tool.Match(s.Tool) || s.Kind != "" && s.KindBound && g.tool.Match(s.Kind) {
			v.grants, v.grantNeeds = append(v.grants, g), append(v.grantNeeds, g.pattern.needs)
			v.argued = v.argued || g.pattern.argument != nil
		}
	}
	return v
}

// add takes up a rule. A deny on the bare name of a command holds with any arguments. Where the tool is only guessed to be a
// shell, it tightens so, and lifts no deny before it.
func (v *view) add(r viewRule, s *Subject) {
	take := func(r viewRule, needs signature) {
		v.rules, v.needs = append(v.rules, r), append(v.needs, needs)
	}
	v.argued = v.argued || r.pattern.argument != nil
	if r.Action > Confirm || s.Kind != shellKind || r.pattern.bare == "" || r.pattern.argument != nil {
		take(r, r.pattern.needs)
		return
	}
	if !r.weak && !s.KindBound {
		take(r, r.pattern.needs)
		r.weak = true
	}
	r.bare = true
	take(r, r.pattern.bareHead)
}

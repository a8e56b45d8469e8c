// Package rulebook judges calls for people who write rules: checks, test cases, replays of recorded calls under other
// rules, and what rules and servers leave open.
//
// It judges as the live gate would, and runs nothing. Its answers let no call run.
package rulebook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/spelling"
	"callgate/permissions"
	"callgate/permissions/store"
	"callgate/proxy"
)

// Checker judges calls without a session. It runs the code of the live gate on the current rules. Its exported fields
// come from the configuration. It is not safe for concurrent use.
type Checker struct {
	Judge    gate.Judge // how calls are judged; the rules and the time are set for each call
	Store    *store.Store
	Servers  []proxy.Server
	Cwd      string
	Home     string
	Shell    *tools.ShellSetup
	Explain  bool                    // answers also name the other rules and grants
	Agent    []permissions.Rule      // the rules of the profile under which calls are judged
	Profiles []permissions.Agent     // the profiles under which recorded calls may have been made
	Unknown  func(tool string) error // explains an unknown tool; may be nil, or return nil if it cannot
	Worker   string
	DataDir  string
	CacheDir string // where servers' lists are cached; "" if they are not
	// HostTool describes a tool that a host itself has, such as claude_Bash. It returns nil for others. May be nil.
	HostTool func(name string) *tools.Tool

	known  *known                         // what the servers listed last; nil until needed
	parsed map[string]*permissions.Policy // policies parsed from Request.Permissions, by text
}

// Lines answers one JSON object per line. It also answers a line that it cannot understand, with an error and a denial,
// so that a reader who counts answers never takes silence for an allow.
func (ch *Checker) Lines(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<20)
	w := bufio.NewWriter(out)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			answer := ch.line(line)
			if err := json.MarshalWrite(w, answer); err != nil {
				return err
			}
			if err := w.WriteByte('\n'); err != nil {
				return err
			}
			if r.Buffered() == 0 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (ch *Checker) line(line []byte) Answer {
	var request Request
	if err := json.Unmarshal(line, &request, json.RejectUnknownMembers(true)); err != nil {
		return refused(request, jsonx.Explain(err))
	}
	var err error
	if request.Arguments, err = ch.written(request.Tool, request.Arguments); err != nil {
		return refused(request, err)
	}
	return ch.Check(request)
}

func refused(request Request, err error) Answer {
	return Answer{ID: request.ID, Action: permissions.Deny.String(), Subjects: []Subject{}, Always: []Offer{}, Error: err.Error()}
}

// Check judges one call.
func (ch *Checker) Check(request Request) Answer {
	if err := ch.offered(request.Tool); err != nil {
		return refused(request, err)
	}
	call, err := ch.call(request)
	if err != nil {
		return refused(request, err)
	}
	judge, err := ch.judge(request)
	if err != nil {
		return refused(request, err)
	}
	v := judge.Judge(call)
	answer := Answer{
		ID: request.ID, Action: v.Action.String(), Risk: v.Risk().String(), Category: v.Category(), By: v.By, Rule: v.Rule, Reason: v.Reason,
		Summary: v.Analysis.Summary, Subjects: make([]Subject, 0, len(v.Findings)), Marks: v.Marks, Always: []Offer{},
	}
	for i := range v.Findings {
		subject := newSubject(&v.Findings[i])
		if ch.Explain {
			from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: judge.Now, Session: judge.Session}
			subject.Lost = listUndecided(permissions.Explain(judge.Policy, from, &v.Findings[i].Subject))
		}
		if f := &v.Findings[i]; f.Action == permissions.Ask && f.Grant == nil && v.Action == permissions.Ask {
			for _, r := range tools.Suggestions(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, v.Analysis, i) {
				subject.AllowedBy = append(subject.AllowedBy, NamedRule{r.Tool, r.Pattern})
			}
		}
		answer.Subjects = append(answer.Subjects, subject)
	}
	if v.Action == permissions.Ask {
		for _, o := range v.Offers(call) {
			answer.Always = append(answer.Always, Offer{o.Tool, o.Pattern, o.Risk.String(), o.Default})
		}
	}
	return answer
}

// rank sorts subjects that need an allow before those that can only be denied.
func (s *Subject) rank() int {
	if s.DeniesOnly {
		return 1
	}
	return 0
}

func newSubject(f *permissions.Finding) Subject {
	s := Subject{
		Tool: f.Subject.Tool, Kind: f.Subject.Kind, Value: f.Subject.Value, Action: f.Action.String(), Rule: "no rule matches",
		Layer: string(f.Layer), Risk: f.Subject.Risk.String(), Effect: f.Subject.EffectText(), DeniesOnly: f.Subject.DeniesOnly,
	}
	if f.Rule != nil {
		s.Rule = f.Rule.String()
	}
	if f.Grant != nil {
		s.Action, s.Rule, s.Layer = permissions.Allow.String(), f.Grant.String(), string(f.Grant.Layer)
	}
	return s
}

// listUndecided lists the rules that matched but did not decide, the closest first, and the grants that do not cover
// the subject.
func listUndecided(e permissions.Explanation) (lines []string) {
	for _, m := range slices.Backward(e.Matches) {
		if m.Won {
			continue
		}
		line := m.Rule.String()
		if m.Value != "" && m.Value != e.Finding.Subject.Value {
			line += fmt.Sprintf(", which matches %q", m.Value)
		}
		switch {
		case m.Unmet != "":
			line += ", whose condition is not met: " + m.Unmet
		case !m.Decides && m.Rule.Action > permissions.Confirm:
			line += ", which is not what is really reached"
		case m.Unbound && e.Finding.Subject.Plain != "":
			line += ", which may mean another tool of the server"
		case m.Unbound:
			line += ", whose kind is a guess"
		}
		lines = append(lines, line)
	}
	for _, g := range e.Grants {
		if g.Obstacle != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", g.Grant, g.Obstacle))
		}
	}
	return lines
}

// judge returns the judge for a request: the configuration, with the parts that the request replaces.
func (ch *Checker) judge(request Request) (*gate.Judge, error) {
	judge := ch.Judge
	j := &judge
	j.Now = time.Now()
	var err error
	if request.Autonomy != nil {
		if j.Autonomy, err = gate.ParseAutonomy(*request.Autonomy); err != nil {
			return nil, err
		}
	}
	if request.Mode != nil {
		if j.Mode, err = gate.ParseMode(*request.Mode); err != nil {
			return nil, err
		}
	}
	if request.Permissions == nil {
		j.Policy, j.PolicyError = ch.Policy()
	} else if j.Policy, err = ch.brought(request.Permissions); err != nil {
		return nil, err
	}
	if request.Given != nil {
		err = ch.given(j, request)
	}
	return j, err
}

// brought returns the policy of the permissions in a request.
func (ch *Checker) brought(text jsontext.Value) (*permissions.Policy, error) {
	if p := ch.parsed[string(text)]; p != nil {
		return p, nil
	}
	file, err := permissions.ParseFile("permissions", text, ch.Home)
	if err != nil {
		return nil, err
	}
	p, err := permissions.NewPolicy(ch.Agent, file.Rules, file.Grants)
	if err != nil {
		return nil, err
	}
	if ch.parsed == nil {
		ch.parsed = map[string]*permissions.Policy{}
	}
	ch.parsed[string(text)] = p
	return p, nil
}

// Policy returns the worker's policy, under the agent profile if one is configured.
func (ch *Checker) Policy() (*permissions.Policy, error) {
	base, err := ch.Store.Policy()
	if err != nil || len(ch.Agent) == 0 {
		return base, err
	}
	return base.With(ch.Agent, nil)
}

// call returns the call that a request describes.
func (ch *Checker) call(request Request) (gate.Call, error) {
	tool, place := ch.Tool(request.Tool)
	if tool == nil {
		if ch.Unknown != nil {
			if err := ch.Unknown(request.Tool); err != nil {
				return gate.Call{}, err
			}
		}
		return gate.Call{}, fmt.Errorf("unknown tool %q: use a kind (%s) or {server}_{tool} of a configured server (--mcp-config names more)", request.Tool, strings.Join(tools.Kinds(), ", "))
	}
	if request.Cwd != "" {
		dir, err := filepath.Abs(request.Cwd)
		if err != nil {
			return gate.Call{}, err
		}
		place.Dir, place.Roots, place.Workspace = dir, []string{dir}, nil
	}
	call := gate.Call{ID: "check", Tool: tool, Place: ch.within(place, request.project)}
	if request.Arguments != nil {
		if err := jsonx.Check(request.Arguments); err != nil {
			return call, fmt.Errorf("arguments: %w", err)
		}
		if request.Arguments.Kind() != '{' {
			return call, errors.New("arguments: neither a JSON object nor a text")
		}
		call.Arguments = request.Arguments
	}
	return call, nil
}

// Tool returns a kind's tool, a host's, or a tool of a configured server, without asking the server: as the server
// listed it last, or by its name alone. It returns nil for an unknown tool.
func (ch *Checker) Tool(name string) (*tools.Tool, tools.Place) {
	for _, s := range ch.Servers {
		if own, ok := strings.CutPrefix(name, s.Tools.Name+"_"); ok {
			if t := ch.listed().tools[name]; t != nil {
				return t, s.Place
			}
			t := tools.Describe(s.Tools, own, name, nil)
			t.Plain = proxy.Plain(name)
			return t, s.Place
		}
	}
	place := tools.Place{Dir: ch.Cwd, Roots: []string{ch.Cwd}, Home: ch.Home, Shell: ch.Shell}
	if ch.HostTool != nil {
		if t := ch.HostTool(name); t != nil {
			return t, place
		}
	}
	return tools.KindTool(name), place
}

// within returns where a call ran whose host worked in project. A server that names no folder runs there, too.
func (ch *Checker) within(place tools.Place, project string) tools.Place {
	if !filepath.IsAbs(project) {
		return place
	}
	roots := []string{project}
	if place.Dir == ch.Cwd {
		place.Dir = project
	}
	for _, root := range place.Roots {
		if root != ch.Cwd {
			roots = append(roots, root)
		}
	}
	place.Roots, place.Workspace = roots, []string{project}
	return place
}

// known holds what the configured servers listed last.
type known struct {
	tools   map[string]*tools.Tool // by qualified name
	names   []string
	servers map[string]bool // whether the server's list is known
}

// listed reads the cached lists once.
func (ch *Checker) listed() *known {
	if ch.known != nil {
		return ch.known
	}
	ch.known = &known{tools: map[string]*tools.Tool{}, servers: map[string]bool{}}
	var all []proxy.Offered
	for _, s := range ch.Servers {
		offered, ok := proxy.Remembered(s, ch.CacheDir)
		ch.known.servers[s.Tools.Name] = ok
		all = append(all, offered...)
	}
	for _, t := range proxy.Name(all) {
		ch.known.tools[t.Qualified] = t
		ch.known.names = append(ch.known.names, t.Qualified)
	}
	return ch.known
}

// offered returns an error for a tool that its server does not list, if the server's list is known.
func (ch *Checker) offered(name string) error {
	for _, s := range ch.Servers {
		if !strings.HasPrefix(name, s.Tools.Name+"_") {
			continue
		}
		switch k := ch.listed(); {
		case !k.servers[s.Tools.Name] || k.tools[name] != nil:
			return nil
		default:
			return notListed(name, k.names)
		}
	}
	return nil
}

// notListed returns an error that suggests the tool that may be meant.
func notListed(name string, names []string) error {
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown tool: %s; did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown tool: %s; callgate tools lists them", name)
}

// Arguments parses a call's arguments from a command line: a JSON object, or the main argument as text.
func (ch *Checker) Arguments(tool, text string) (jsontext.Value, error) {
	if err := ch.offered(tool); err != nil {
		return nil, err
	}
	t, _ := ch.Tool(tool)
	return Arguments(tool, t, text)
}

// Judged judges a call by the policy, or by the worker's file if policy is nil, with the code of the live gate.
func (ch *Checker) Judged(request Request, policy *permissions.Policy) (gate.Call, gate.Verdict, error) {
	call, err := ch.call(request)
	if err != nil {
		return gate.Call{}, gate.Verdict{}, err
	}
	if policy != nil {
		// Then the worker's file is neither read nor created.
		request.Permissions = jsontext.Value(noRules)
	}
	judge, err := ch.judge(request)
	if err != nil {
		return gate.Call{}, gate.Verdict{}, err
	}
	if policy != nil {
		judge.Policy = policy
	}
	return call, judge.Judge(call), nil
}

// verdict is Judged without the call.
func (ch *Checker) verdict(request Request, policy *permissions.Policy) (gate.Verdict, error) {
	_, v, err := ch.Judged(request, policy)
	return v, err
}

const noRules = "{}"

// decidedBy names what decided, as people read it: the rule with its place, or whatever decided instead of a rule.
func decidedBy(v *gate.Verdict) string {
	switch {
	case v.Rule == "":
		return v.By
	case v.By == "rule" || v.By == "default":
		return v.Rule
	}
	return v.By + ": " + v.Rule
}

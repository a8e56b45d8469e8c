package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/internal/jsonx"
	"callgate/permissions"
	"callgate/proxy"
)

// checkRequest is one call to look at: a line of --stdin.
type checkRequest struct {
	ID          jsontext.Value `json:"id,omitzero"`
	Tool        string         `json:"tool"`
	Arguments   jsontext.Value `json:"arguments,omitzero"`
	Permissions jsontext.Value `json:"permissions,omitzero"` // replaces the worker's file
	Autonomy    *string        `json:"autonomy,omitzero"`
	Mode        *string        `json:"mode,omitzero"`
	Cwd         string         `json:"cwd,omitzero"`
}

// checkAnswer is what would happen to it.
type checkAnswer struct {
	ID       jsontext.Value `json:"id,omitzero"`
	Action   string         `json:"action"` // allow, deny or ask
	Risk     string         `json:"risk,omitzero"`
	Category string         `json:"category,omitzero"`
	By       string         `json:"by,omitzero"`
	Rule     string         `json:"rule,omitzero"`
	Reason   string         `json:"reason,omitzero"`
	Summary  string         `json:"summary,omitzero"`
	Subjects []checkSubject `json:"subjects"`
	Marks    []tools.Mark   `json:"marks,omitempty"`
	Always   []checkOffer   `json:"always"`
	Error    string         `json:"error,omitzero"`
}

type checkSubject struct {
	Tool   string `json:"tool"`
	Kind   string `json:"kind,omitzero"`
	Value  string `json:"value,omitzero"`
	Action string `json:"action"`
	Rule   string `json:"rule"`
	Layer  string `json:"layer"`
	Risk   string `json:"risk"`
	Effect string `json:"effect,omitzero"`
	// DeniesOnly says that the subject needs no allow: it is looked at for what denies it or wants a confirmation.
	DeniesOnly bool `json:"deniesOnly,omitempty"`
	// AllowedBy are the rules, as "tool" and "pattern", each of which would allow a subject that asks.
	AllowedBy []checkRule `json:"allowedBy,omitempty"`
	// Lost is, with --explain, what matched as well and did not decide.
	Lost []string `json:"lost,omitempty"`
}

type checkRule struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

type checkOffer struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Risk    string `json:"risk"`
	Default bool   `json:"default,omitzero"`
}

func newCheckCommand(s *settings) *cobra.Command {
	var fromStdin, asJSON, explain bool
	cmd := &cobra.Command{
		Use:   "check TOOL [ARGUMENTS]",
		Short: "Say what would happen to a call, and which rule says so, without running anything",
		Long: `Check judges a call exactly as the live gate would. TOOL is a kind (shell_exec, read_file, …) or the
qualified name of a configured server's tool. ARGUMENTS is a JSON object, or the text of the tool's main
argument: the command of a shell, the path of a file.

With --stdin it reads one JSON object a line,
  {"id"?, "tool", "arguments", "permissions"?, "autonomy"?, "mode"?, "cwd"?}
and answers each with one line. "permissions" replaces the worker's rules file for that line.

The exit code is 0 for allow, 3 for ask, 4 for deny; with --stdin it is 0 once every line was answered.`,
		Example: `  callgate check shell_exec 'git push && rm -rf build'
  callgate check read_file .env
  callgate check --json filesystem_write_file '{"path":"a.txt","content":"x"}'
  callgate check --stdin < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if fromStdin && len(args) > 0 {
				return errors.New("--stdin takes no arguments: the calls come from standard input")
			}
			if !fromStdin && (len(args) == 0 || len(args) > 2) {
				return errors.New("check needs a tool and its arguments, as in: callgate check shell_exec 'git status'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			checker, err := newChecker(c)
			if err != nil {
				return err
			}
			checker.explain = explain
			if fromStdin {
				return checker.lines(cmd.InOrStdin(), cmd.OutOrStdout())
			}
			request := checkRequest{Tool: args[0]}
			if len(args) == 2 {
				if request.Arguments, err = checker.arguments(args[0], args[1]); err != nil {
					return err
				}
			}
			answer := checker.check(request)
			if answer.Error != "" {
				return errors.New(answer.Error)
			}
			if asJSON {
				err = json.MarshalWrite(cmd.OutOrStdout(), answer, jsontext.Multiline(true))
			} else {
				err = answer.print(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return answer.exit()
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "stdin", false, "read calls from standard input, a JSON object a line")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&explain, "explain", false, "name the other rules and grants for each subject, and why they did not decide")
	return cmd
}

// checker judges calls without a session. It runs the code of the live gate on the rules as they are.
type checker struct {
	config    *config
	store     *permissions.Store
	protected *gate.Protected
	servers   []proxy.Server
	cwd       string
	explain   bool
	agent     []permissions.Rule             // of the profile that calls are judged under
	parsed    map[string]*permissions.Policy // of the permissions that lines bring along
}

func newChecker(c *config) (*checker, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	protected, err := gate.NewProtected(c.ownFiles(), xdg.Home, c.ports())
	if err != nil {
		return nil, err
	}
	ch := &checker{
		config: c, cwd: cwd, protected: protected.WithNames(companion.SocketName).WithPorts(c.ownPorts()), parsed: map[string]*permissions.Policy{},
		store: permissions.OpenStore(c.permissionsFile(), permissions.StoreOptions{Home: xdg.Home}),
	}
	if ch.agent, err = c.agentRules(); err != nil {
		return nil, err
	}
	if len(c.Servers) > 0 || len(c.MCPConfig) > 0 {
		if ch.servers, err = c.servers(); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

// lines answers one JSON object a line. A line that cannot be understood is answered too, with an error
// and a denial: whoever counts the answers never counts a silence as an allow.
func (ch *checker) lines(in io.Reader, out io.Writer) error {
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

func (ch *checker) line(line []byte) checkAnswer {
	var request checkRequest
	if err := json.Unmarshal(line, &request, json.RejectUnknownMembers(true)); err != nil {
		return refused(request, err)
	}
	return ch.check(request)
}

func refused(request checkRequest, err error) checkAnswer {
	return checkAnswer{ID: request.ID, Action: permissions.Deny.String(), Subjects: []checkSubject{}, Always: []checkOffer{}, Error: err.Error()}
}

// check judges one call.
func (ch *checker) check(request checkRequest) checkAnswer {
	call, err := ch.call(request)
	if err != nil {
		return refused(request, err)
	}
	judge, err := ch.judge(request)
	if err != nil {
		return refused(request, err)
	}
	v := judge.Judge(call)
	answer := checkAnswer{
		ID: request.ID, Action: v.Action.String(), Risk: v.Risk().String(), Category: v.Category(), By: v.By, Rule: v.Rule, Reason: v.Reason,
		Summary: v.Analysis.Summary, Subjects: make([]checkSubject, 0, len(v.Findings)), Marks: v.Marks, Always: []checkOffer{},
	}
	for i := range v.Findings {
		subject := newCheckSubject(&v.Findings[i])
		if ch.explain {
			from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: judge.Now}
			subject.Lost = lost(permissions.Explain(judge.Policy, from, &v.Findings[i].Subject))
		}
		if f := &v.Findings[i]; f.Action == permissions.Ask && f.Grant == nil && v.Action == permissions.Ask {
			for _, r := range tools.Suggestions(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, v.Analysis, i) {
				subject.AllowedBy = append(subject.AllowedBy, checkRule{r.Tool, r.Pattern})
			}
		}
		answer.Subjects = append(answer.Subjects, subject)
	}
	if v.Action == permissions.Ask {
		for _, o := range v.Offers(call) {
			answer.Always = append(answer.Always, checkOffer{o.Tool, o.Pattern, o.Risk.String(), o.Default})
		}
	}
	return answer
}

// rank puts what the call needs an allow for before what can only be denied.
func (s *checkSubject) rank() int {
	if s.DeniesOnly {
		return 1
	}
	return 0
}

func newCheckSubject(f *permissions.Finding) checkSubject {
	s := checkSubject{
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

// lost names the rules that matched and did not decide, the one that came closest first, and the grants that do
// not cover the subject.
func lost(e permissions.Explanation) (lines []string) {
	for _, m := range slices.Backward(e.Matches) {
		if m.Won {
			continue
		}
		line := m.Rule.String()
		if m.Value != "" && m.Value != e.Finding.Subject.Value {
			line += fmt.Sprintf(", which matches %q", m.Value)
		}
		switch {
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

// judge assembles what decides about the request: the configuration, and what the request replaces of it.
func (ch *checker) judge(request checkRequest) (*gate.Judge, error) {
	j := &gate.Judge{
		Autonomy: ch.config.autonomy, Mode: ch.config.mode, AskEscalations: ch.config.askEscalat,
		Protected: ch.protected, Terminal: ch.config.terminal, Off: ch.config.gateOff, Now: time.Now(),
	}
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
		j.Policy, j.PolicyError = ch.policy()
		return j, nil
	}
	if j.Policy = ch.parsed[string(request.Permissions)]; j.Policy == nil {
		file, err := permissions.ParseFile("permissions", request.Permissions, xdg.Home)
		if err != nil {
			return nil, err
		}
		if j.Policy, err = permissions.NewPolicy(ch.agent, file.Rules, file.Grants); err != nil {
			return nil, err
		}
		ch.parsed[string(request.Permissions)] = j.Policy
	}
	return j, nil
}

// policy is the worker's, under the agent profile if one is configured.
func (ch *checker) policy() (*permissions.Policy, error) {
	base, err := ch.store.Policy()
	if err != nil || len(ch.agent) == 0 {
		return base, err
	}
	return base.With(ch.agent, nil)
}

// call makes the call that the request describes.
func (ch *checker) call(request checkRequest) (gate.Call, error) {
	tool, place := ch.tool(request.Tool)
	if tool == nil {
		if err := ch.config.misspelled(request.Tool); err != nil {
			return gate.Call{}, err
		}
		return gate.Call{}, fmt.Errorf("unknown tool %q: use a kind (%s) or {server}_{tool} of a configured server", request.Tool, strings.Join(tools.Kinds(), ", "))
	}
	if request.Cwd != "" {
		dir, err := filepath.Abs(request.Cwd)
		if err != nil {
			return gate.Call{}, err
		}
		place.Dir, place.Roots, place.Workspace = dir, []string{dir}, nil
	}
	call := gate.Call{ID: "check", Tool: tool, Place: place}
	if request.Arguments != nil {
		if err := jsonx.Check(request.Arguments); err != nil {
			return call, fmt.Errorf("arguments: %w", err)
		}
		if request.Arguments.Kind() != '{' {
			return call, errors.New("arguments: not a JSON object")
		}
		call.Arguments = request.Arguments
	}
	return call, nil
}

// tool finds a kind, or a tool of a configured server as it is known without asking the server.
func (ch *checker) tool(name string) (*tools.Tool, tools.Place) {
	for _, s := range ch.servers {
		if own, ok := strings.CutPrefix(name, s.Tools.Name+"_"); ok {
			t := tools.Describe(s.Tools, own, name, nil)
			t.Plain = proxy.Plain(name)
			return t, s.Place
		}
	}
	return tools.KindTool(name), tools.Place{Dir: ch.cwd, Roots: []string{ch.cwd}, Home: xdg.Home, Shell: ch.config.shell}
}

// arguments reads what stands for a call's arguments on a command line.
func (ch *checker) arguments(tool, text string) (jsontext.Value, error) {
	if v := jsontext.Value(text); v.Kind() == '{' && v.IsValid() {
		return v, nil
	}
	t, _ := ch.tool(tool)
	if t == nil {
		return nil, nil // check says that there is no such tool
	}
	name := tools.PrimaryArgument(t)
	if name == "" {
		return nil, fmt.Errorf("%s has no main argument: give a JSON object", tool)
	}
	return json.Marshal(map[string]string{name: text})
}

// exit turns the verdict into an exit code.
func (a *checkAnswer) exit() error {
	switch a.Action {
	case permissions.Allow.String():
		return nil
	case permissions.Ask.String():
		return exitCode(3)
	default:
		return exitCode(4)
	}
}

// print shows the answer to a person.
func (a *checkAnswer) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  risk %s\n", strings.ToUpper(a.Action), a.Risk)
	if a.Summary != "" {
		fmt.Fprintf(&b, "  %s\n", tools.Visible(a.Summary))
	}
	if a.Category != "" {
		fmt.Fprintf(&b, "  Category %s, which autonomy presets go by.\n", a.Category)
	}
	if a.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", tools.Visible(a.Reason))
	}
	for _, m := range a.Marks {
		fmt.Fprintf(&b, "  mark %s: %s\n", m.Code, tools.Visible(m.Text))
	}
	if len(a.Subjects) > 0 {
		fmt.Fprintln(&b, "\nSubjects")
	}
	sort := slices.Clone(a.Subjects)
	slices.SortStableFunc(sort, func(x, y checkSubject) int { return cmp.Compare(x.rank(), y.rank()) })
	for _, s := range sort {
		if s.DeniesOnly && s.Action == permissions.Allow.String() {
			s.Action, s.Rule = "-", "only a deny or a confirm would count: none matches"
			s.Layer = string(permissions.LayerDefault)
		}
		name := s.Kind
		if name == "" {
			name = s.Tool
		}
		fmt.Fprintf(&b, "  %-7s %-12s %s %s\n          %s, layer %s\n", s.Action, s.Risk, name, tools.Visible(s.Value), tools.Visible(s.Rule), s.Layer)
		if s.Effect != "" {
			fmt.Fprintf(&b, "          hidden effect: %s\n", tools.Visible(s.Effect))
		}
		for i, r := range s.AllowedBy {
			if i == 0 {
				fmt.Fprint(&b, "          would be allowed by: ")
			} else {
				fmt.Fprint(&b, ", ")
			}
			fmt.Fprintf(&b, "%s %q", r.Tool, r.Pattern)
		}
		if len(s.AllowedBy) > 0 {
			fmt.Fprintln(&b)
		}
		for _, other := range s.Lost {
			fmt.Fprintf(&b, "          lost: %s\n", tools.Visible(other))
		}
	}
	if len(a.Always) > 0 {
		fmt.Fprintln(&b, "\nAlways would offer")
	}
	for _, o := range a.Always {
		star := " "
		if o.Default {
			star = "*"
		}
		fmt.Fprintf(&b, "  %s %s %q up to %s\n", star, o.Tool, o.Pattern, o.Risk)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

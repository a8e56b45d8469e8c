package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"callgate/gate"
	"callgate/internal/policy"
	"callgate/permissions"
)

// Rego is one file of Rego policies, evaluated by OPA.
//
// Each subject of a call is one input, with the same content as a request to Cedar. Three rules of the file's package
// count: deny and ask, which are true or sets of reasons, and allow, which must be true if the file defines it.
type Rego struct {
	name    string
	rules   map[string]rego.PreparedEvalQuery // those of deny, ask and allow that the file defines
	timeout time.Duration
}

// NewRego compiles policies. timeout bounds the evaluation of one call.
func NewRego(name string, text []byte, timeout time.Duration) (*Rego, error) {
	if timeout <= 0 {
		return nil, fmt.Errorf("timeout %s: use a positive duration such as 2s", timeout)
	}
	module, err := ast.ParseModule(name, string(text))
	if err != nil {
		return nil, err
	}
	compiler := ast.NewCompiler().WithCapabilities(offline())
	if compiler.Compile(map[string]*ast.Module{name: module}); compiler.Failed() {
		return nil, compiler.Errors
	}
	r := &Rego{name, map[string]rego.PreparedEvalQuery{}, timeout}
	for _, rule := range []string{"deny", "ask", "allow"} {
		ref := module.Package.Path.Append(ast.StringTerm(rule))
		if len(compiler.GetRulesWithPrefix(ref)) == 0 {
			continue
		}
		query := rego.New(rego.Compiler(compiler), rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(ref)))), rego.StrictBuiltinErrors(true))
		if r.rules[rule], err = query.PrepareForEval(context.Background()); err != nil {
			return nil, err
		}
	}
	if len(r.rules) == 0 {
		return nil, fmt.Errorf("%s: it has none of the rules deny, ask and allow", name)
	}
	return r, nil
}

// offline returns the language without what reaches beyond the policy: networks, the process's environment, and remote
// schemas.
func offline() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.AllowNet = []string{}
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return b.IsNondeterministic() && b.Name != ast.NowNanos.Name })
	return c
}

// Name returns the name of the file.
func (r *Rego) Name() string { return r.name }

// Advise evaluates the policies for each value of the call, as policy.EachValue does.
func (r *Rego) Advise(q gate.Question) (permissions.Action, string, error) {
	arguments := ast.Value(ast.NewObject())
	if len(q.Call.Arguments) > 0 {
		var err error
		if arguments, err = ast.ValueFromReader(strings.NewReader(string(q.Call.Arguments))); err != nil {
			return permissions.Deny, "", fmt.Errorf("the arguments: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return policy.EachValue(q, func(q gate.Question, s *permissions.Subject, value string, deniesOnly bool) (permissions.Action, string, error) {
		return r.ask(ctx, input(&q, s, value, arguments), deniesOnly)
	})
}

// input returns the input for one value of a call.
func input(q *gate.Question, s *permissions.Subject, value string, arguments ast.Value) ast.Value {
	tool := q.Call.Tool
	return object(
		"principal", object("name", q.Agent, "host", q.Host, "principal", q.Call.Principal),
		"action", "call",
		"resource", object("name", tool.Qualified, "server", tool.Server, "kind", tool.Kind),
		"context", object("kind", s.Kind, "value", value, "risk", s.Risk.String(), "category", q.Analysis.Category,
			"effect", tool.Labels.Effect, "workspace", q.Call.Place.Dir, "input", arguments),
	)
}

// object makes an object from alternating names and values. A value that is not an ast.Value becomes a string.
func object(members ...any) ast.Value {
	o := ast.NewObject()
	for i := 0; i+1 < len(members); i += 2 {
		value, ok := members[i+1].(ast.Value)
		if !ok {
			value = ast.String(fmt.Sprint(members[i+1]))
		}
		o.Insert(ast.StringTerm(fmt.Sprint(members[i])), ast.NewTerm(value))
	}
	return o
}

func (r *Rego) ask(ctx context.Context, input ast.Value, deniesOnly bool) (permissions.Action, string, error) {
	for _, action := range []permissions.Action{permissions.Deny, permissions.Ask} {
		value, err := r.value(ctx, action.String(), input)
		if err != nil {
			return permissions.Deny, "", err
		}
		why, err := reasons(value)
		if err != nil {
			return permissions.Deny, "", fmt.Errorf("%s: %w", action, err)
		}
		if why != nil {
			return action, strings.Join(why, ", "), nil
		}
	}
	if _, has := r.rules["allow"]; !has || deniesOnly {
		return permissions.Allow, "", nil
	}
	switch allow, err := r.value(ctx, "allow", input); {
	case err != nil:
		return permissions.Deny, "", err
	case allow != true:
		return permissions.Deny, "allow is not true", nil
	}
	return permissions.Allow, "", nil
}

// value evaluates a rule. It returns nil if the rule is missing or undefined. A null rule is an error.
func (r *Rego) value(ctx context.Context, rule string, input ast.Value) (any, error) {
	query, has := r.rules[rule]
	if !has {
		return nil, nil
	}
	results, err := query.Eval(ctx, rego.EvalParsedInput(input))
	if err != nil || len(results) == 0 {
		return nil, err
	}
	if len(results) > 1 || len(results[0].Expressions) != 1 {
		return nil, fmt.Errorf("%s has several results", rule)
	}
	if v := results[0].Expressions[0].Value; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%s is null: use true or a set of reasons", rule)
}

// reasons reads the value of a rule: true, a reason, or a set of reasons, which are strings or objects with msg. It
// returns nil if the rule does not match.
func reasons(v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		if !v {
			return nil, nil
		}
		return []string{"a rule matches"}, nil
	case string:
		return []string{policy.Reason(v)}, nil
	case []any:
		var all []string
		for _, one := range v {
			if m, ok := one.(map[string]any); ok {
				one = m["msg"]
			}
			text, ok := one.(string)
			if !ok {
				return nil, errors.New("a reason is neither a text nor an object with msg")
			}
			all = append(all, policy.Reason(text))
		}
		return all, nil
	}
	return nil, fmt.Errorf("it is %T: use true or a set of reasons", v)
}

// OpenRego reads and compiles a file of policies.
func OpenRego(path string, timeout time.Duration) (gate.Advisor, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return NewRego(filepath.Base(path), text, timeout)
}

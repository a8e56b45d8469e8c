package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"callgate/gate"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
)

// Cedar is one file of Cedar policies.
//
// Each subject of a call is one request; docs/policy.md says what it holds. A file that uses the namespace AgentCore is
// asked once per call, as Amazon Bedrock AgentCore asks its gateways' policies.
type Cedar struct {
	name    string
	set     *cedar.PolicySet
	gateway string // the gateway in AgentCore's policies, "callgate" if they name none; "" without AgentCore
}

// gateways matches the gateways that policies name.
var gateways = lazyregexp.New(`AgentCore::Gateway::"([^"\\]*)"`)

// OpenCedar reads and compiles a file of policies.
func OpenCedar(path string) (*Cedar, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return NewCedar(filepath.Base(path), text)
}

// NewCedar compiles policies. name is for messages.
func NewCedar(name string, text []byte) (*Cedar, error) {
	set, err := cedar.NewPolicySetFromBytes(name, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &Cedar{name: name, set: set}
	if !strings.Contains(string(text), "AgentCore::") {
		return c, nil
	}
	c.gateway = "callgate"
	for i, m := range gateways.FindAllStringSubmatch(string(text), -1) {
		if i > 0 && m[1] != c.gateway {
			return nil, fmt.Errorf("%s: it names several gateways: put the policies of each into a file of its own", name)
		}
		c.gateway = m[1]
	}
	return c, nil
}

// Name returns the name of the file.
func (c *Cedar) Name() string { return c.name }

// Advise asks the policies about a call, as EachValue describes.
func (c *Cedar) Advise(q gate.Question) (permissions.Action, string, error) {
	input, err := cedarInput(q.Call.Arguments)
	if err != nil {
		return permissions.Deny, "", err
	}
	if c.gateway != "" {
		return eachName(q, func(q gate.Question, deniesOnly bool) (permissions.Action, string, error) {
			return c.agentCore(q, input, deniesOnly)
		})
	}
	return EachValue(q, func(q gate.Question, s *permissions.Subject, value string, deniesOnly bool) (permissions.Action, string, error) {
		return c.subject(q, s, value, input, deniesOnly)
	})
}

func text(s string) cedar.String { return cedar.String(s) }

func (c *Cedar) subject(q gate.Question, s *permissions.Subject, value string, input cedar.Record, deniesOnly bool) (permissions.Action, string, error) {
	principal := cedar.NewEntityUID("Callgate::Agent", text(q.Agent))
	action := cedar.NewEntityUID("Callgate::Action", "call")
	resource := cedar.NewEntityUID("Callgate::Tool", text(q.Call.Tool.Qualified))
	labels := q.Call.Tool.Labels
	entities := cedar.EntityMap{
		principal: {UID: principal, Attributes: cedar.NewRecord(cedar.RecordMap{"name": text(q.Agent), "host": text(q.Host), "principal": text(q.Call.Principal)})},
		resource:  {UID: resource, Attributes: cedar.NewRecord(cedar.RecordMap{"name": text(q.Call.Tool.Qualified), "server": text(q.Call.Tool.Server), "kind": text(q.Call.Tool.Kind)})},
	}
	context := cedar.RecordMap{
		"kind": text(s.Kind), "value": text(value), "risk": text(s.Risk.String()), "category": text(q.Analysis.Category), "workspace": text(q.Call.Place.Dir),
		"effect": text(labels.Effect), "input": input,
	}
	return c.ask(cedar.Request{Principal: principal, Action: action, Resource: resource, Context: cedar.NewRecord(context)}, entities, deniesOnly)
}

// agentCore asks as Amazon's gateways do: the action is {server}___{tool}, and the arguments are in context.input.
func (c *Cedar) agentCore(q gate.Question, input cedar.Record, deniesOnly bool) (permissions.Action, string, error) {
	user := cmp.Or(q.Call.Principal, q.Agent)
	own := strings.TrimPrefix(q.Call.Tool.Qualified, q.Call.Tool.Server+"_")
	principal := cedar.NewEntityUID("AgentCore::OAuthUser", text(user))
	all, calls := cedar.NewEntityUID("AgentCore::Action", "Mcp"), cedar.NewEntityUID("AgentCore::Action", "CallTool")
	action := cedar.NewEntityUID("AgentCore::Action", text(q.Call.Tool.Server+"___"+own))
	resource := cedar.NewEntityUID("AgentCore::Gateway", text(c.gateway))
	entities := cedar.EntityMap{
		principal: {UID: principal, Attributes: cedar.NewRecord(cedar.RecordMap{"id": text(user)}), Tags: cedar.NewRecord(cedar.RecordMap{"username": text(user), "sub": text(user)})},
		action:    {UID: action, Parents: cedar.NewEntityUIDSet(calls)},
		calls:     {UID: calls, Parents: cedar.NewEntityUIDSet(all)},
		all:       {UID: all},
		resource:  {UID: resource},
	}
	context := cedar.NewRecord(cedar.RecordMap{"input": input})
	return c.ask(cedar.Request{Principal: principal, Action: action, Resource: resource, Context: context}, entities, deniesOnly)
}

// ask evaluates one request. A forbid with the annotation @callgate("ask") asks. With deniesOnly no permit is needed.
func (c *Cedar) ask(r cedar.Request, entities cedar.EntityMap, deniesOnly bool) (permissions.Action, string, error) {
	decision, diagnostic := cedar.Authorize(c.set, entities, r)
	if len(diagnostic.Errors) > 0 {
		e := diagnostic.Errors[0]
		return permissions.Deny, "", fmt.Errorf("%s: %s", c.place(e.PolicyID, e.Position), e.Message)
	}
	if decision == cedar.Allow {
		return permissions.Allow, "", nil
	}
	if len(diagnostic.Reasons) == 0 {
		if deniesOnly {
			return permissions.Allow, "", nil
		}
		return permissions.Deny, "no policy permits it", nil
	}
	action, places := permissions.Ask, []string{}
	for _, reason := range diagnostic.Reasons {
		if p := c.set.Get(reason.PolicyID); p == nil || p.Annotations()["callgate"] != "ask" {
			action = permissions.Deny
		}
		places = append(places, c.place(reason.PolicyID, reason.Position))
	}
	slices.Sort(places)
	return action, "forbidden by " + strings.Join(places, ", "), nil
}

// place names a policy by its annotation @id, if it has one, and its line.
func (c *Cedar) place(id cedar.PolicyID, at cedar.Position) string {
	name := fmt.Sprintf("%s:%d", c.name, at.Line)
	if p := c.set.Get(id); p != nil && p.Annotations()["id"] != "" {
		name = string(p.Annotations()["id"]) + " (" + name + ")"
	}
	return name
}

// cedarInput returns the arguments as a record.
func cedarInput(arguments []byte) (cedar.Record, error) {
	if len(arguments) == 0 {
		return cedar.NewRecord(nil), nil
	}
	v, err := walk(arguments,
		func(members map[string]any) any {
			record := cedar.RecordMap{}
			for name, v := range members {
				record[text(name)] = cedarValue(v)
			}
			return cedar.NewRecord(record)
		},
		func(list []any) any {
			values := make([]cedar.Value, len(list))
			for i, v := range list {
				values[i] = cedarValue(v)
			}
			return cedar.NewSet(values...)
		}, cedarNumber)
	if err != nil {
		return cedar.Record{}, fmt.Errorf("the arguments: %w", err)
	}
	record, ok := v.(cedar.Record)
	if !ok {
		return cedar.Record{}, errors.New("the arguments are not an object")
	}
	return record, nil
}

func cedarValue(v any) cedar.Value {
	switch v := v.(type) {
	case string:
		return text(v)
	case bool:
		return cedar.Boolean(v)
	case cedar.Value:
		return v
	}
	return text(fmt.Sprint(v)) // there is no other type
}

// cedarNumber converts a number exactly. A number that is neither a long nor a decimal with four places becomes its
// text. Cedar cannot compare that with a number, so a policy that looks at it denies.
func cedarNumber(lexeme string) (any, error) {
	_, power, _ := strings.Cut(strings.ToLower(lexeme), "e")
	if n, _ := strconv.Atoi(power); len(lexeme) > maxNumber || max(n, -n) > maxNumber {
		return text(lexeme), nil
	}
	n, ok := new(big.Rat).SetString(lexeme)
	if ok && n.IsInt() && n.Num().IsInt64() {
		return cedar.Long(n.Num().Int64()), nil
	}
	if ok && n.Mul(n, big.NewRat(10_000, 1)).IsInt() && n.Num().IsInt64() {
		return cedar.NewDecimal(n.Num().Int64(), -4)
	}
	return text(lexeme), nil
}

// maxNumber limits the characters and the power of ten of a converted number: zeros add to those that Cedar can hold.
const maxNumber = 40

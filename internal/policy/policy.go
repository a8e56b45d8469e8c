// Package policy asks other policy engines about calls: Cedar and Rego policies in files, and a decision point that
// speaks AuthZEN.
//
// They only tighten what the rules say. Any failure denies.
package policy

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/permissions"
)

// walk reads a JSON value with the given constructors. It leaves out nulls, because policies cannot hold them.
func walk(raw []byte, object func(map[string]any) any, list func([]any) any, number func(string) (any, error)) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := walkNext(d, object, list, number)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func walkNext(d *jsontext.Decoder, object func(map[string]any) any, list func([]any) any, number func(string) (any, error)) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case '[':
		var all []any
		for d.PeekKind() != ']' {
			v, err := walkNext(d, object, list, number)
			if err != nil {
				return nil, err
			}
			if v != nil {
				all = append(all, v)
			}
		}
		_, err := d.ReadToken()
		return list(all), err
	default:
		members := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			v, err := walkNext(d, object, list, number)
			if err != nil {
				return nil, err
			}
			if v != nil {
				members[key] = v
			}
		}
		_, err := d.ReadToken()
		return object(members), err
	}
}

var (
	_ gate.Advisor = (*Cedar)(nil)
	_ gate.Advisor = (*AuthZEN)(nil)
)

// valuesOf returns what policies see of a subject, without repeats: first the spelling that an allow would have to
// match, then the others, such as a link's target or a command with its wrapper, which a policy may forbid.
func valuesOf(s *permissions.Subject) []string {
	values := slices.Clone(s.Decides)
	for _, form := range s.Also {
		values = append(values, form...)
	}
	if len(values) == 0 {
		values = append(values, s.Value)
	}
	var all []string
	for _, v := range values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// OpenRego opens a file of Rego policies. The duration limits the evaluation of one call. This one always fails: OPA is
// a third of the size of callgate, so only the program in cmd/callgate-opa has it and replaces OpenRego.
var OpenRego = func(string, time.Duration) (gate.Advisor, error) {
	return nil, errors.New("this callgate was built without OPA; build one with it: make build OPA=1, or go build -C cmd/callgate-opa -o callgate")
}

// subjectsOf returns the subjects of a call. There is at least one.
func subjectsOf(q *gate.Question) []permissions.Subject {
	if len(q.Analysis.Subjects) == 0 {
		return []permissions.Subject{{Tool: q.Call.Tool.Qualified, Kind: q.Call.Tool.Kind, Risk: q.Analysis.Risk}}
	}
	return q.Analysis.Subjects
}

// eachName asks about the call under its tool's name. If several tools of the server share a plain name, it also asks
// under that one, which needs no permit: a server cannot take a tool away from a policy by offering another one.
func eachName(q gate.Question, ask func(q gate.Question, deniesOnly bool) (permissions.Action, string, error)) (permissions.Action, string, error) {
	worst, why, err := ask(q, false)
	if plain := q.Call.Tool.Plain; err == nil && plain != "" && plain != q.Call.Tool.Qualified {
		t := *q.Call.Tool
		t.Qualified, q.Call.Tool = plain, &t
		action, reason, err := ask(q, true)
		if err != nil || action < worst {
			return action, reason, err
		}
	}
	return worst, why, err
}

// EachValue asks about every subject of the call in all its spellings, under each name of its tool, and returns the
// strictest answer. Subjects that a shell command only reads, and further spellings and names, can be forbidden but
// need no permit. As with rules, an ask about a further spelling does not count.
func EachValue(q gate.Question, ask func(q gate.Question, s *permissions.Subject, value string, deniesOnly bool) (permissions.Action, string, error)) (permissions.Action, string, error) {
	return eachName(q, func(q gate.Question, deniesOnly bool) (permissions.Action, string, error) {
		worst, why := permissions.Allow, ""
		subjects := subjectsOf(&q)
		for i := range subjects {
			s := &subjects[i]
			for k, value := range valuesOf(s) {
				action, reason, err := ask(q, s, value, deniesOnly || s.DeniesOnly || k > 0)
				if err != nil {
					return permissions.Deny, "", err
				}
				if action < worst && (k == 0 || action == permissions.Deny) {
					worst, why = action, reason
				}
			}
		}
		return worst, why, nil
	})
}

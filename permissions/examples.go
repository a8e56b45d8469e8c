package permissions

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/permissions/internal/pattern"
)

// example is a value that, according to the author of a rule, its pattern matches or does not match.
type example struct {
	at   *hujson.Value
	text string
	want bool
}

// detailed reads the value of a pattern: an action, or an object with an action, the ceiling of an allow, approvers, a
// condition and examples: {"action": "deny", "match": ["a/.env"], "notMatch": ["a/.envrc"]}. It stores everything but
// the action and the examples in r.
func (p *fileParser) detailed(value *hujson.Value, r *Rule) (action *hujson.Value, examples []example, err error) {
	if _, ok := value.Value.(*hujson.Object); !ok {
		return value, nil, nil
	}
	err = p.members(value, func(name string, key, value *hujson.Value) error {
		switch name {
		case "action":
			action = value
			return nil
		case "risk":
			literal, ok := value.Value.(hujson.Literal)
			if !ok || literal.Kind() != '"' {
				return p.errorf(value, `"risk" of a rule is a class: "READ_ONLY" for instance`)
			}
			risk, err := ParseRisk(literal.String())
			if err != nil {
				return p.errorf(value, `"risk" of a rule: %v`, err)
			}
			r.Capped, r.Risk = true, risk
			return nil
		case "approvers":
			literal, ok := value.Value.(hujson.Literal)
			n, err := 0, error(nil)
			if ok {
				n, err = strconv.Atoi(string(literal))
			}
			if !ok || err != nil || n < 2 || n > MaxApprovers {
				return p.errorf(value, `"approvers" is how many persons have to approve: 2 to %d`, MaxApprovers)
			}
			r.Approvers = n
			return nil
		case "when":
			return p.when(value, r)
		case "match", "notMatch":
			more, err := p.examples(name, value)
			examples = append(examples, more...)
			return err
		}
		return p.errorf(key, "unknown key %q of a rule: use action, risk, approvers, when, match, notMatch", name)
	})
	if err == nil && action == nil {
		err = p.errorf(value, `a rule needs "action": "allow", "ask", "confirm" or "deny"`)
	}
	return action, examples, err
}

func (p *fileParser) examples(name string, value *hujson.Value) ([]example, error) {
	array, ok := value.Value.(*hujson.Array)
	if !ok {
		return nil, p.errorf(value, "%q is a list of values: [\"a/b\"]", name)
	}
	list := make([]example, len(array.Elements))
	for i := range array.Elements {
		at := &array.Elements[i]
		literal, ok := at.Value.(hujson.Literal)
		if !ok || literal.Kind() != '"' {
			return nil, p.errorf(at, "an example is a string")
		}
		list[i] = example{at, literal.String(), name == "match"}
	}
	return list, nil
}

// check tests the rule's pattern against its examples. An example is one value as the rule would meet it; for an
// argument pattern it is written "name=value".
func (p *fileParser) check(r *Rule, examples []example) error {
	for _, e := range examples {
		text, err := p.expandHomeText(e)
		if err != nil {
			return err
		}
		switch matched := r.others && r.pattern.Glob.Match(text) || r.paths && r.path.Glob.Match(text); {
		case e.want && !matched:
			return p.errorf(e.at, "the pattern %q does not match %q, which is under \"match\": correct one of them", r.Pattern, text)
		case !e.want && matched:
			return p.errorf(e.at, "the pattern %q matches %q, which is under \"notMatch\": correct one of them", r.Pattern, text)
		}
	}
	return nil
}

// expandHomeText is ExpandHome for a value, in which nothing needs quoting.
func (p *fileParser) expandHomeText(e example) (string, error) {
	name := pattern.ArgumentName(e.text)
	rest, ok := cutHome(e.text[len(name):])
	if !ok {
		return e.text, nil
	}
	if p.home == "" {
		return "", p.errorf(e.at, "the home directory is not known: write the path out")
	}
	return name + strings.TrimSuffix(filepath.ToSlash(p.home), "/") + "/" + rest, nil
}

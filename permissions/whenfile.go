package permissions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"callgate/permissions/internal/pattern"
)

// whenKeys lists the members of a condition.
var whenKeys = []string{"after", "notAfter", "count", "within", "time", "host", "agent", "branch", "person", "carries", "from"}

// when parses the condition of a rule.
func (p *fileParser) when(value *hujson.Value, r *Rule) error {
	if _, ok := value.Value.(*hujson.Object); !ok {
		return p.errorf(value, `"when" of a rule is an object: {"after": {"tool": "shell_exec", "pattern": "npm test *"}, "within": "30m"}`)
	}
	w := &r.When
	err := p.members(value, func(name string, key, value *hujson.Value) (err error) {
		switch name {
		case "after":
			return p.past(name, value, &w.After, nil)
		case "notAfter":
			return p.past(name, value, &w.NotAfter, nil)
		case "count":
			return p.past(name, value, &w.Count, w)
		}
		if !slices.Contains(whenKeys, name) {
			return p.errorf(key, "unknown key %q of a condition: use %s", name, strings.Join(whenKeys, ", "))
		}
		literal, ok := value.Value.(hujson.Literal)
		if !ok || literal.Kind() != '"' || literal.String() == "" {
			return p.errorf(value, "%q of a condition is a string", name)
		}
		if err := w.set(name, literal.String()); err != nil {
			return p.errorf(value, "%v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if *w == (When{}) {
		return p.errorf(value, `"when" is empty: leave it out`)
	}
	if _, err := w.compile(); err != nil {
		return p.errorf(value, "%v", err)
	}
	return nil
}

// set sets a member of the condition whose value is a string.
func (w *When) set(name, text string) (err error) {
	switch name {
	case "carries":
		if text != "private" && text != "secret" {
			return errors.New(`"carries" must be "private" or "secret"`)
		}
		w.Carries = text
	case "from":
		if text != "untrusted" {
			return errors.New(`"from" must be "untrusted"`)
		}
		w.From = text
	case "within":
		if w.Within, err = time.ParseDuration(text); err != nil || w.Within <= 0 {
			return errors.New(`"within" must be a duration such as "30m"`)
		}
	case "time":
		if w.Hours, err = ParseHours(text); err != nil {
			return fmt.Errorf(`"time": %w`, err)
		}
	case "host":
		w.Host = text
	case "agent":
		w.Agent = text
	case "branch":
		w.Branch = text
	case "person":
		w.Person = text
	}
	return nil
}

// textOf returns the string of a value, or "" if it is not a string.
func textOf(value *hujson.Value) string {
	if literal, ok := value.Value.(hujson.Literal); ok && literal.Kind() == '"' {
		return literal.String()
	}
	return ""
}

// setCount sets a bound of the number of calls.
func (w *When) setCount(name, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("%q must be a number, 1 or more", name)
	}
	if name == "below" {
		w.Below = n
	} else {
		w.AtLeast = n
	}
	return nil
}

// past parses which calls a condition is about: the name of a tool, or {"tool", "pattern"}. If w is not nil, it also
// parses "below" and "atLeast" into it.
func (p *fileParser) past(name string, value *hujson.Value, to *Past, w *When) error {
	if text := textOf(value); text != "" && w == nil {
		to.Tool = text
		return nil
	}
	if _, ok := value.Value.(*hujson.Object); !ok {
		return p.errorf(value, `%q is an object: {"tool": "shell_exec", "pattern": "npm test *"}`, name)
	}
	err := p.members(value, func(member string, key, value *hujson.Value) error {
		literal, ok := value.Value.(hujson.Literal)
		if !ok {
			return p.errorf(value, "%q of %q is a text or a number", member, name)
		}
		text, isText := literal.String(), literal.Kind() == '"'
		switch {
		case member == "tool" && isText:
			to.Tool = text
		case member == "pattern" && isText:
			expanded, err := ExpandHome(text, p.home)
			if err == nil && pattern.ArgumentName(text) != "" {
				return p.errorf(value, "%q looks at values, not at arguments", name)
			}
			if err != nil {
				return p.errorf(value, "%v", err)
			}
			to.Pattern = expanded
		case w != nil && (member == "below" || member == "atLeast") && literal.Kind() == '0':
			if err := w.setCount(member, text); err != nil {
				return p.errorf(value, "%v", err)
			}
		default:
			return p.errorf(key, "%q of %q: use tool and pattern, and for count below or atLeast", member, name)
		}
		return nil
	})
	if err == nil && to.Tool == "" {
		err = p.errorf(value, `%q needs a "tool"`, name)
	}
	return err
}

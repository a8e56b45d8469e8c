package translate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/jsonx"
	"callgate/permissions"
)

// codexDecisions maps Codex's words to actions.
var codexDecisions = map[string]permissions.Action{"allow": permissions.Allow, "prompt": permissions.Ask, "forbidden": permissions.Deny}

// importCodex parses the prefix_rule calls in a .rules file of Codex.
func importCodex(text []byte) (*Import, error) {
	calls, err := starlarkCalls(string(text))
	if err != nil {
		return nil, err
	}
	im := new(Import)
	for _, strictness := range []permissions.Action{permissions.Allow, permissions.Ask, permissions.Deny} {
		for _, c := range calls {
			if c.name != "prefix_rule" {
				if strictness == permissions.Allow {
					im.leave(c.name, "callgate reads only prefix_rule")
					im.Lost++ // it may forbid something
				}
				continue
			}
			decision := "allow"
			if d, ok := c.args["decision"].(string); ok {
				decision = d
			}
			action, ok := codexDecisions[decision]
			pattern, isList := c.args["pattern"].([]any)
			if !ok || !isList || len(pattern) == 0 {
				return nil, fmt.Errorf("line %d: prefix_rule needs a pattern, and as its decision allow, prompt or forbidden", c.line)
			}
			if action != strictness {
				continue
			}
			commands := []string{""}
			for _, element := range pattern {
				options, isList := element.([]any)
				if !isList {
					options = []any{element}
				}
				var next []string
				for _, before := range commands {
					for _, o := range options {
						word, ok := o.(string)
						if !ok {
							return nil, fmt.Errorf("line %d: a pattern is a list of words", c.line)
						}
						next = append(next, strings.TrimSpace(before+" "+permissions.QuoteGlob(word)))
					}
				}
				if commands = next; len(commands) > 256 {
					return nil, fmt.Errorf("line %d: the pattern has too many alternatives", c.line)
				}
			}
			for _, command := range commands {
				im.add("shell_exec", command+" *", action, fmt.Sprintf("prefix_rule in line %d", c.line))
			}
		}
	}
	return im, nil
}

func exportCodex(e *Export) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Made of callgate's rules. Codex takes the strictest rule that matches.\n")
	e.strictest(func(r *permissions.Rule) {
		covered, own := covers(r)
		if own || !slices.Contains(covered, "shell_exec") {
			e.leave(r, "the program has rules only for commands")
			return
		}
		if len(covered) > 1 && r.Pattern == "*" && r.Action != permissions.Allow {
			e.leave(r, "the program has no rule for every command")
			return
		}
		decision := map[permissions.Action]string{permissions.Allow: "allow", permissions.Ask: "prompt", permissions.Confirm: "prompt", permissions.Deny: "forbidden"}[r.Action]
		e.commands(r, func(list []string) {
			quoted := make([]string, len(list))
			for i, w := range list {
				quoted[i] = string(jsonx.Quote(w))
			}
			fmt.Fprintf(&b, "prefix_rule(pattern = [%s], decision = %q)\n", strings.Join(quoted, ", "), decision)
		})
	})
	return b.Bytes(), nil
}

// starlarkCall is a call whose named arguments are strings or lists of strings.
type starlarkCall struct {
	name string
	line int
	args map[string]any
}

// starlarkCalls parses calls with literal arguments. Rules files have nothing else.
func starlarkCalls(text string) (calls []starlarkCall, err error) {
	s := &starlark{text: text}
	for {
		s.space()
		if s.at == len(s.text) {
			return calls, nil
		}
		c := starlarkCall{name: s.word(), line: 1 + strings.Count(text[:s.at], "\n"), args: map[string]any{}}
		if c.name == "" || !s.take('(') {
			return nil, s.errorf("a call such as prefix_rule(…) is expected")
		}
		for !s.take(')') {
			name := s.word()
			if name == "" || !s.take('=') {
				return nil, s.errorf("a named argument is expected")
			}
			if c.args[name], err = s.value(0); err != nil {
				return nil, err
			}
			if !s.take(',') && s.peek() != ')' {
				return nil, s.errorf("a comma or a closing parenthesis is expected")
			}
		}
		calls = append(calls, c)
	}
}

type starlark struct {
	text string
	at   int
}

func (s *starlark) errorf(what string) error {
	return fmt.Errorf("line %d: %s", 1+strings.Count(s.text[:s.at], "\n"), what)
}

func (s *starlark) space() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			s.at++
		case c == '#':
			end := strings.IndexByte(s.text[s.at:], '\n')
			if end < 0 {
				end = len(s.text) - s.at
			}
			s.at += end
		default:
			return
		}
	}
}

func (s *starlark) peek() byte {
	s.space()
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *starlark) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *starlark) word() string {
	s.space()
	from := s.at
	for s.at < len(s.text) && (s.text[s.at] == '_' || s.text[s.at] >= 'a' && s.text[s.at] <= 'z' || s.text[s.at] >= 'A' && s.text[s.at] <= 'Z') {
		s.at++
	}
	return s.text[from:s.at]
}

func (s *starlark) value(depth int) (any, error) {
	switch c := s.peek(); {
	case depth > 3:
		return nil, s.errorf("the lists are nested too deep")
	case c == '"' || c == '\'':
		return s.quoted(c)
	case s.take('['):
		list := []any{}
		for !s.take(']') {
			v, err := s.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			if !s.take(',') && s.peek() != ']' {
				return nil, s.errorf("a comma or a closing bracket is expected")
			}
		}
		return list, nil
	}
	return nil, s.errorf("a text or a list is expected")
}

func (s *starlark) quoted(quote byte) (string, error) {
	var b strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case quote:
			s.at++
			return b.String(), nil
		case '\n':
			return "", s.errorf("the text has no end")
		case '\\':
			if s.at++; s.at == len(s.text) || strings.IndexByte(`\"'`, s.text[s.at]) < 0 {
				return "", s.errorf(`only \\, \" and \' are known escapes`)
			}
			b.WriteByte(s.text[s.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("a text has no end")
}

package rulebook

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// Arguments parses the arguments of a call of a tool: a JSON object, or the main argument as text. It refuses a text
// that begins like an object but is none, unless it is a command: a shell's may begin with a brace. If the tool is
// unknown (t is nil), it returns nil for a text; the caller that judges the call reports the unknown tool.
func Arguments(name string, t *tools.Tool, text string) (jsontext.Value, error) {
	if arguments, is, err := Object(text); is {
		return arguments, err
	}
	if t == nil {
		return nil, nil
	}
	if jsontext.Value(text).Kind() == '{' && t.Kind != tools.KindShell {
		return nil, fmt.Errorf("the arguments: %w", jsonx.Check([]byte(text)))
	}
	main := tools.PrimaryArgument(t)
	if main == "" {
		return nil, fmt.Errorf("%s has no main argument: give a JSON object", name)
	}
	return json.Marshal(map[string]string{main: text})
}

// Object parses arguments that are meant as JSON, whatever the tool. is reports whether they are.
func Object(text string) (arguments jsontext.Value, is bool, err error) {
	value := jsontext.Value(text)
	switch {
	case value.Kind() == '[' && value.IsValid():
		return nil, true, errors.New(`the arguments are not a JSON object: write '{"path":"README.md"}', or the main argument as text`)
	case value.Kind() != '{' || !member.MatchString(text):
		return nil, false, nil
	}
	if err := jsonx.Check(value); err != nil {
		return nil, true, fmt.Errorf("the arguments: %w", err)
	}
	return value, true, nil
}

// member matches the beginning of a JSON object, whole or cut off, but no group of commands: "{ ls; }", "{ \"a b\" x;
// }".
var member = lazyregexp.New(`^\s*\{\s*("[^"]*("\s*(:|$)|$)|\}|$)`)

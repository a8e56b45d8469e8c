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

// Arguments reads what stands for the arguments of a call of a tool: a JSON object, or the main argument as text. A text
// that begins like an object and is none is refused, unless it is a command: a shell's may begin with a brace. For a tool
// that is not known, nil, a text is nothing: whoever judges the call says that there is no such tool.
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

// Object reads arguments that are meant as JSON, whatever the tool; is says whether they are.
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

// member is how a JSON object begins, whole or cut off, and no group of commands: "{ ls; }", "{ \"my program\" x; }".
var member = lazyregexp.New(`^\s*\{\s*("[^"]*("\s*(:|$)|$)|\}|$)`)

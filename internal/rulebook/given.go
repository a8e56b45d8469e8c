package rulebook

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/permissions"
)

// Given holds what conditions of rules look at. A missing member is unknown, except Ran: then there were no earlier
// calls.
type Given struct {
	Host   string `json:"host,omitzero"`
	Agent  string `json:"agent,omitzero"`
	Branch string `json:"branch,omitzero"`
	Person string `json:"person,omitzero"` // present or away
	At     string `json:"at,omitzero"`     // 2026-11-20T10:00:00Z
	Ran    []Ran  `json:"ran,omitempty"`   // the oldest first
}

// Ran is an earlier call that the session was allowed to run.
type Ran struct {
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments,omitzero"` // an object, or the text of the main argument
	Ago       string         `json:"ago,omitzero"`       // 10m
	Failed    bool           `json:"failed,omitzero"`
}

// given sets the judge's session to what a request says of it.
func (ch *Checker) given(j *gate.Judge, request Request) (err error) {
	g := request.Given
	if g.At != "" {
		if j.Now, err = time.Parse(time.RFC3339, g.At); err != nil {
			return fmt.Errorf("given at %q: write it as 2026-11-20T10:00:00Z", g.At)
		}
	}
	now := permissions.Circumstances{Host: g.Host, Agent: cmp.Or(g.Agent, gate.DefaultAgent), Branch: g.Branch}
	switch g.Person {
	case permissions.Present:
		now.Known, now.Answered = true, j.Now
	case permissions.Away:
		now.Known = true
	case "":
	default:
		return fmt.Errorf("given person %q: use %s or %s", g.Person, permissions.Present, permissions.Away)
	}
	j.Session = &now
	j.RememberCalls()
	for i, r := range g.Ran {
		var ago time.Duration
		if r.Ago != "" {
			if ago, err = time.ParseDuration(r.Ago); err != nil || ago < 0 {
				return fmt.Errorf("given ran ago %q: use a duration such as 10m", r.Ago)
			}
		}
		past := Request{Tool: r.Tool, Arguments: r.Arguments, Cwd: request.Cwd}
		if past.Arguments, err = ch.written(r.Tool, r.Arguments); err != nil {
			return err
		}
		call, err := ch.call(past)
		if err != nil {
			return err
		}
		call.ID = fmt.Sprint("given-", i)
		j.Ran(call, ago, r.Failed)
	}
	return nil
}

// written parses arguments, which may be the text of the main argument.
func (ch *Checker) written(tool string, arguments jsontext.Value) (jsontext.Value, error) {
	if arguments.Kind() != '"' {
		return arguments, nil
	}
	var text string
	if err := json.Unmarshal(arguments, &text); err != nil {
		return nil, err
	}
	return ch.Arguments(tool, text)
}

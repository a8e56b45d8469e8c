package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Wanted reports whether a request is a call that is to be a task.
func Wanted(m rpc.Message) bool {
	var task [1]jsonx.Member
	return m.Method == "tools/call" && jsonx.Members(m.Params, []string{"task"}, task[:]) == nil && task[0].Value != nil
}

// ReadRequest reads what a host or a server says of the task that it wants, and returns it as it is passed on: how long
// the result is to be kept, and nothing that nobody has looked at.
func ReadRequest(raw []byte) (request []byte, err error) {
	if raw[0] != '{' {
		return nil, errors.New(`"task" is not an object`)
	}
	var ttl [1]jsonx.Member
	if err := jsonx.Members(raw, []string{"ttl"}, ttl[:]); err != nil {
		return nil, err
	}
	switch text := string(ttl[0].Value); {
	case text == "" || text == "null":
		return []byte("{}"), nil
	case len(text) > 15 || strings.Trim(text, "0123456789") != "":
		return nil, fmt.Errorf(`the "ttl" of "task" is %.40s: it has to be a whole number of milliseconds, of at most 15 digits`, text)
	default:
		return append(append([]byte(`{"ttl":`), text...), '}'), nil
	}
}

// TimeToLive is the time to live of a request, null without one.
func TimeToLive(request []byte) []byte {
	if ttl := jsonx.At(request, "ttl"); ttl != nil {
		return ttl
	}
	return []byte("null")
}

// Abilities are what of the requests of servers a host can carry out as tasks.
type Abilities struct{ Sampling, Elicitation, Cancel bool }

func (t Abilities) Any() bool { return t.Sampling || t.Elicitation }

// ReadAbilities reads the host's capability "tasks"; nil declares nothing.
func ReadAbilities(capability []byte) Abilities {
	return Abilities{
		Sampling:    jsonx.Has(capability, "requests", "sampling", "createMessage"),
		Elicitation: jsonx.Has(capability, "requests", "elicitation", "create"),
		Cancel:      jsonx.Has(capability, "cancel"),
	}
}

// Declared is the capability as servers get it. The list callgate keeps by itself.
func (t Abilities) Declared() []byte {
	var b bytes.Buffer
	b.WriteString(`{"list":{},`)
	if t.Cancel {
		b.WriteString(`"cancel":{},`)
	}
	b.WriteString(`"requests":{`)
	if t.Sampling {
		b.WriteString(`"sampling":{"createMessage":{}}`)
	}
	if t.Sampling && t.Elicitation {
		b.WriteByte(',')
	}
	if t.Elicitation {
		b.WriteString(`"elicitation":{"create":{}}`)
	}
	b.WriteString("}}")
	return b.Bytes()
}

package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Wanted reports whether a request is a call that asks for a task.
func Wanted(m rpc.Message) bool {
	var task [1]jsonx.Member
	return m.Method == "tools/call" && jsonx.Members(m.Params, []string{"task"}, task[:]) == nil && task[0].Value != nil
}

// ReadRequest reads the "task" member of a host or server, and returns what callgate passes on of it: only how long the
// result should be kept. Nothing unchecked gets through.
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

// TimeToLive returns the time to live of a request, or null if it has none.
func TimeToLive(request []byte) []byte {
	if ttl := jsonx.At(request, "ttl"); ttl != nil {
		return ttl
	}
	return []byte("null")
}

// Capabilities says which requests of servers a host can carry out as tasks, and whether it can cancel them.
type Capabilities struct{ Sampling, Elicitation, Cancel bool }

func (t Capabilities) Any() bool { return t.Sampling || t.Elicitation }

// ReadCapabilities reads the host's capability "tasks"; nil declares nothing.
func ReadCapabilities(capability []byte) Capabilities {
	return Capabilities{
		Sampling:    jsonx.Has(capability, "requests", "sampling", "createMessage"),
		Elicitation: jsonx.Has(capability, "requests", "elicitation", "create"),
		Cancel:      jsonx.Has(capability, "cancel"),
	}
}

// Declared returns the capability as servers get it. callgate itself answers tasks/list.
func (t Capabilities) Declared() []byte {
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

package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"crypto/rand"
	"encoding/hex"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// callParams are the members of a tools/call that mean something to a server.
type callParams struct {
	of         []byte // the params as they were read; the members' places are in it
	name       string
	rawName    jsonx.Member
	arguments  jsonx.Member
	task       jsonx.Member
	taskWanted []byte // the task as it is passed on; nil where none is wanted of the server
	beside     []byte // object of the members that callgate knows no meaning of, nil when there is none
	agent      string // _meta["callgate/agent"], "" when there is none
}

// judged returns the arguments; a null is how some hosts say that there are none.
func (p *callParams) judged() []byte {
	if string(p.arguments.Value) == "null" {
		return nil
	}
	return p.arguments.Value
}

// besideName is the argument that stands for the members beside the arguments where a call is judged.
const besideName = "callgate/beside"

// judgedWithBeside returns the arguments with what is beside them, as one more that nobody mapped: servers may
// read it, so it is judged, shown, digested and recorded like them.
func (p *callParams) judgedWithBeside() []byte {
	judged := append(append(append([]byte{'{'}, jsonx.Quote(besideName)...), ':'), p.beside...)
	if arguments := bytes.TrimSpace(p.judged()); len(arguments) > 2 {
		if inner := bytes.TrimSpace(arguments[1:]); inner[0] != '}' {
			return append(append(judged, ','), inner...)
		}
	}
	return append(judged, '}')
}

// callMembers are all members of tools/call params in any revision of MCP: a case variant of one of them is
// refused, because decoders that fold case would read it as that member.
var callMembers = []string{"name", "arguments", "task", "_meta", "inputResponses", "requestState"}

func readCallParams(params []byte) (p callParams, err error) {
	if params == nil {
		return p, errors.New("tools/call needs params")
	}
	var m [6]jsonx.Member
	if err := jsonx.Members(params, callMembers, m[:]); err != nil {
		return p, err
	}
	p.of, p.rawName, p.arguments, p.task = params, m[0], m[1], m[2]
	name, ok := jsonx.String(p.rawName.Value)
	if !ok || name == "" {
		return p, errors.New(`tools/call needs a "name"`)
	}
	p.name = name
	if saysMore(params, m[:4]) {
		if p.beside, err = jsonx.Others(params, callMembers[:4]); err != nil {
			return p, err
		}
	}
	p.agent, err = agentOf(m[3].Value)
	return p, err
}

// saysMore reports whether an object has members besides the known ones, which jsonx.Members found in it.
func saysMore(object []byte, known []jsonx.Member) bool {
	var order [8]jsonx.Member
	found := order[:0]
	for _, m := range known {
		if m.Value != nil {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b jsonx.Member) int { return a.Start - b.Start })
	at := 0
	for _, m := range found {
		if hasMember(object[at:max(at, jsonx.Delete(object, m).Start)]) {
			return true
		}
		at = m.End()
	}
	return hasMember(object[at:])
}

// hasMember reports whether what is between two members holds another one.
func hasMember(gap []byte) bool { return bytes.IndexByte(gap, '"') >= 0 }

// agentOf reads the agent that a call says it is made by. The name can only tighten what is decided.
func agentOf(meta []byte) (string, error) {
	if !bytes.Contains(meta, []byte("agent")) && !bytes.Contains(meta, []byte(`\`)) {
		return "", nil
	}
	var m [1]jsonx.Member
	if err := jsonx.Members(meta, []string{"callgate/agent"}, m[:]); err != nil || m[0].Value == nil {
		return "", err
	}
	name, ok := jsonx.String(m[0].Value)
	if !ok {
		return "", errors.New(`_meta "callgate/agent" is not a string`)
	}
	return name, nil
}

// changed are params with edits that are made where the message is composed, so that long arguments are copied once.
type changed struct {
	of    []byte
	edits []jsonx.Edit
}

func (c changed) bytes() []byte {
	if c.edits == nil {
		return c.of
	}
	return jsonx.Splice(c.of, c.edits...)
}

// forwardParams returns the call's params with the upstream's name for the tool and these arguments; every
// other byte stays, but the wish to be a task, of which nothing is passed on that nobody has looked at.
func forwardParams(p callParams, name string, arguments []byte) changed {
	var edits []jsonx.Edit
	if p.name != name {
		edits = append(edits, jsonx.Edit{Start: p.rawName.Start, End: p.rawName.End(), With: jsonx.Quote(name)})
	}
	if arguments != nil && !bytes.Equal(arguments, p.arguments.Value) {
		if p.arguments.Value == nil {
			at := p.rawName.End()
			edits = append(edits, jsonx.Edit{Start: at, End: at, With: append([]byte(`,"arguments":`), arguments...)})
		} else {
			edits = append(edits, jsonx.Edit{Start: p.arguments.Start, End: p.arguments.End(), With: arguments})
		}
	}
	switch {
	case p.taskWanted != nil:
		edits = append(edits, jsonx.Edit{Start: p.task.Start, End: p.task.End(), With: p.taskWanted})
	case p.task.Value != nil:
		edits = append(edits, jsonx.Delete(p.of, p.task))
	}
	return changed{of: p.of, edits: edits}
}

// refusal is the result of a call that may not run: an error that the model can act on.
func refusal(call gate.Call, v gate.Verdict) []byte {
	var b strings.Builder
	switch v.Decision {
	case gate.DecidedRejected, gate.DecidedPending:
		fmt.Fprintf(&b, "callgate: %s", v.Reason)
	case gate.DecidedTimeout:
		fmt.Fprintf(&b, "callgate: APPROVAL_TIMEOUT: the call needed a person's approval. %s It was not run. You may ask the user and then repeat the call.", v.Reason)
	case gate.DecidedCancelled, gate.DecidedLimited:
		fmt.Fprintf(&b, "callgate: the call was not run. %s", v.Reason)
	default:
		fmt.Fprintf(&b, "callgate denied %s. %s Do not look for another way to do the same: tell the user what you need and why.", call.Tool.Qualified, v.Reason)
	}
	return errorResult(b.String())
}

// errorResult is a tool result that reports an error to the model.
func errorResult(text string) []byte {
	b := append([]byte(`{"content":[{"type":"text","text":`), jsonx.Quote(text)...)
	return append(b, `}],"isError":true}`...)
}

// outcome reads how a forwarded call ended. failure is for people and, when no result came, for the model.
func outcome(answer rpc.Message, err error) (result []byte, isError bool, failure string) {
	switch {
	case err != nil:
		if unkept, ok := errors.AsType[*unkeptError](err); ok {
			return nil, true, "callgate: the call was not run. " + unkept.Error()
		}
		if refused, ok := errors.AsType[*hostError](err); ok {
			return nil, true, refused.text
		}
		return nil, true, fmt.Sprintf("callgate: the call did not end: %v", err)
	case answer.Error != nil:
		return nil, true, "the server answered with an error: " + string(answer.Error[:min(len(answer.Error), 300)])
	case bytes.Contains(answer.Result, []byte(`isError`)):
		var m [1]jsonx.Member
		if jsonx.Members(answer.Result, []string{"isError"}, m[:]) == nil {
			isError = string(m[0].Value) == "true"
		}
	}
	return answer.Result, isError, ""
}

// withNote appends a text of callgate's own to a result's content.
func withNote(answer rpc.Message, note string) rpc.Message {
	if note == "" {
		return answer
	}
	return withContent(answer, append(append([]byte(`{"type":"text","text":`), jsonx.Quote("callgate: "+note)...), '}'))
}

// withContent appends an item of callgate's own to a result's content, and leaves every other byte. A result
// without a content array is left as it is: there is no place where a model would look.
func withContent(answer rpc.Message, item []byte) rpc.Message {
	var m [1]jsonx.Member
	if !readContent(answer, m[:]) {
		return answer
	}
	end := m[0].End() - 1
	if len(bytes.TrimSpace(m[0].Value[1:len(m[0].Value)-1])) > 0 {
		item = slices.Insert(item, 0, ',')
	}
	result := jsonx.Splice(answer.Result, jsonx.Edit{Start: end, End: end, With: item})
	longer, err := rpc.Parse(rpc.Result(answer.ID, result))
	if err != nil {
		return answer
	}
	return longer
}

// takesContent reports whether withContent finds a place for an item.
func takesContent(answer rpc.Message) bool {
	var m [1]jsonx.Member
	return readContent(answer, m[:])
}

func readContent(answer rpc.Message, m []jsonx.Member) bool {
	return answer.Result != nil && jsonx.Members(answer.Result, []string{"content"}, m) == nil && len(m[0].Value) > 0 && m[0].Value[0] == '['
}

var (
	callPrefix = func() string { b := make([]byte, 5); rand.Read(b); return hex.EncodeToString(b) }()
	lastCall   atomic.Uint64
)

// newCallID returns a name that no other call has, on this machine or in its records.
func newCallID() string {
	b := make([]byte, 0, 32)
	b = append(b, "call_"...)
	b = strconv.AppendInt(b, time.Now().Unix(), 36)
	b = append(b, callPrefix...)
	return string(strconv.AppendUint(append(b, '_'), lastCall.Add(1), 36))
}

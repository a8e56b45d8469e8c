package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"crypto/rand"
	"encoding/hex"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/raw"
)

// callParams holds the members of a tools/call that a server understands.
type callParams struct {
	of         []byte // the params as read; the members' offsets refer to it
	name       string
	rawName    jsonx.Member
	arguments  jsonx.Member
	task       jsonx.Member
	taskWanted []byte // the task member to pass on; nil if the server is not asked for a task
	beside     []byte // object of the members whose meaning callgate does not know, or nil
	agent      string // _meta["callgate/agent"], or ""
}

// judged returns the arguments, or nil if there are none. Some hosts send null for that.
func (p *callParams) judged() []byte {
	if string(p.arguments.Value) == "null" {
		return nil
	}
	return p.arguments.Value
}

// besideName is the argument that holds the members beside the arguments when a call is judged.
const besideName = "callgate/beside"

// judgedWithBeside returns the arguments, with the members beside them as one more argument, which no kind maps.
// Servers may read those members, so they are judged, shown, digested and recorded like the arguments.
func (p *callParams) judgedWithBeside() []byte {
	judged := append(append(append([]byte{'{'}, jsonx.Quote(besideName)...), ':'), p.beside...)
	if arguments := bytes.TrimSpace(p.judged()); len(arguments) > 2 {
		if inner := bytes.TrimSpace(arguments[1:]); inner[0] != '}' {
			return append(append(judged, ','), inner...)
		}
	}
	return append(judged, '}')
}

// callMembers lists all members of tools/call params in any revision of MCP. A case variant of one is refused, because
// decoders that fold case would read it as that member.
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
	if raw.SaysMore(params, m[:4]) {
		if p.beside, err = jsonx.Others(params, callMembers[:4]); err != nil {
			return p, err
		}
	}
	p.agent, err = agentOf(m[3].Value)
	return p, err
}

// agentOf returns the agent that a call says it is made by, or "". The name can only make the decision stricter.
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

// changed holds params and edits to them. The edits are applied when the message is composed, so that long arguments
// are copied only once.
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

// forwardParams returns the call's params with the upstream's name for the tool and these arguments; every other byte
// stays. Of a request for a task, callgate passes on only the parts that it has checked.
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

// refusal returns the result of a call that may not run: an error that the model can act on.
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
		fmt.Fprintf(&b, "callgate denied %s. %s", call.Tool.Qualified, v.Reason)
		if v.By != gate.ByFreeze { // then the reason says what to do
			b.WriteString(" Do not look for another way to do the same: tell the user what you need and why.")
		}
	}
	return raw.ErrorResult(b.String())
}

// unkeptError says why a call was not forwarded: its files could not be saved.
type unkeptError struct{ why string }

func (e *unkeptError) Error() string { return e.why }

// outcome returns how a forwarded call ended. failure is for people and, if no result came, for the model.
func outcome(answer rpc.Message, err error) (result []byte, isError bool, failure string) {
	switch {
	case err != nil:
		if unkept, ok := errors.AsType[*unkeptError](err); ok {
			return nil, true, "callgate: the call was not run. " + unkept.why
		}
		if refused, ok := errors.AsType[*hostError](err); ok {
			return nil, true, refused.text
		}
		if _, ok := errors.AsType[*upstream.UnsentError](err); ok {
			return nil, true, fmt.Sprintf("callgate: the call was not run: %v", err)
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

var (
	callPrefix = func() string { b := make([]byte, 5); rand.Read(b); return hex.EncodeToString(b) }()
	lastCall   atomic.Uint64
)

// newCallID returns an id that no other call has, on this machine or in its records.
func newCallID() string {
	var room [64]byte
	b := append(room[:0], "call_"...)
	b = strconv.AppendInt(b, time.Now().Unix(), 36)
	b = append(b, callPrefix...)
	return string(strconv.AppendUint(append(b, '_'), lastCall.Add(1), 36))
}

// codeOf returns the error code for a refusal before the gate.
func codeOf(err error) int {
	if errors.Is(err, errNoDeferral) {
		return rpc.CodeMethodNotFound
	}
	return rpc.CodeInvalidParams
}

var errNoDeferral = errors.New(`the tool does not run as a task (its definition's "execution.taskSupport"): call it without "task"`)

// innerCall returns the params of the direct call that a call of CallTool stands for: the host's own params, with the
// inner name and arguments in place of the outer ones. It returns params of any other call unchanged. The result never
// names CallTool.
func innerCall(params []byte, p callParams) (callParams, error) {
	if p.name != CallTool {
		return p, nil
	}
	var m [2]jsonx.Member
	arguments := p.judged()
	if arguments == nil || arguments[0] != '{' {
		return p, fmt.Errorf(`%s needs an object with "name" and "arguments"`, CallTool)
	}
	if err := jsonx.Members(arguments, []string{"name", "arguments"}, m[:]); err != nil {
		return p, err
	}
	if raw.SaysMore(arguments, m[:]) {
		return p, fmt.Errorf(`%s takes "name" and "arguments" and nothing else: put the tool's own arguments into "arguments"`, CallTool)
	}
	name, ok := jsonx.String(m[0].Value)
	switch {
	case !ok || name == "":
		return p, fmt.Errorf(`%s needs the "name" of a tool, as %s returns it`, CallTool, FindTool)
	case name == CallTool:
		return p, errors.New(CallTool + " cannot call itself: name the tool that you want")
	}
	of := m[1].Value
	switch {
	case of == nil, string(of) == "null":
		of = []byte("{}")
	case of[0] != '{':
		return p, fmt.Errorf(`the "arguments" of %s must be an object, as the tool's inputSchema describes it`, name)
	}
	direct := jsonx.Splice(params,
		jsonx.Edit{Start: p.rawName.Start, End: p.rawName.End(), With: bytes.Clone(m[0].Value)},
		jsonx.Edit{Start: p.arguments.Start, End: p.arguments.End(), With: bytes.Clone(of)})
	return readCallParams(direct)
}

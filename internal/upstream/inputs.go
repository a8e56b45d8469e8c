package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
	"callgate/internal/periodic"
	"callgate/internal/rpc"
	"callgate/internal/upstream/lifetime"
)

// input is a question that a modern server asks before it continues with a request.
type input struct {
	key    string
	method string
	params []byte // nil if absent
}

// maxInputs bounds the questions of one result.
const maxInputs = 32

// askable lists the methods that a server may ask for during a request.
var askable = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// readInputs reads a result that asks for input. state is the raw string that the server wants back, or nil.
func readInputs(result []byte) (inputs []input, state []byte, err error) {
	var m [2]jsonx.Member
	if err := jsonx.Check(result); err != nil {
		return nil, nil, err
	}
	if err := jsonx.Members(result, []string{"inputRequests", "requestState"}, m[:]); err != nil {
		return nil, nil, err
	}
	if _, ok := jsonx.String(m[1].Value); ok {
		state = m[1].Value
	}
	if m[0].Value == nil {
		if state == nil {
			return nil, nil, errors.New("it asks for nothing")
		}
		return nil, state, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(m[0].Value))
	if dec.PeekKind() != '{' {
		return nil, nil, errors.New("inputRequests is not an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		in := input{key: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		var q [2]jsonx.Member
		if err := jsonx.Members(value, []string{"method", "params"}, q[:]); err != nil {
			return nil, nil, err
		}
		if in.method, _ = jsonx.String(q[0].Value); !slices.Contains(askable, in.method) {
			return nil, nil, fmt.Errorf("it asks for %.40q", in.method)
		}
		if len(inputs) == maxInputs {
			return nil, nil, fmt.Errorf("it asks more than %d questions at once", maxInputs)
		}
		in.params = bytes.Clone(q[1].Value)
		inputs = append(inputs, in)
	}
	return inputs, state, nil
}

// collectInputs gets the input that the server asks for from the host, in the form of the requests that a legacy server
// would send. It returns the params of the next leg, or the error that the request ends with.
func (in *incarnation) collectInputs(ctx context.Context, params, result []byte, leg int) (next, fault []byte, err error) {
	inputs, state, err := readInputs(result)
	if err != nil {
		return nil, nil, fmt.Errorf("server %q asks for more input, but %w", in.u.cfg.Name, err)
	}
	if len(inputs) == 0 { // the server only wants to be asked again
		if !periodic.Sleep(ctx, min(250*time.Millisecond<<(leg-1), 5*time.Second)) {
			return nil, nil, ctx.Err()
		}
	}
	answers := make([]rpc.Message, len(inputs))
	failures := make([]error, len(inputs))
	var asking sync.WaitGroup
	for i, q := range inputs {
		asking.Go(func() { answers[i], failures[i] = in.put(ctx, q) })
	}
	asking.Wait()
	responses := []byte{'{'}
	for i, q := range inputs {
		answer := answers[i].Result
		switch {
		case failures[i] != nil:
			return nil, nil, failures[i]
		case answer == nil && q.method != "elicitation/create":
			return nil, answers[i].Error, nil
		case answer == nil: // the modern era has no error for this
			answer = []byte(`{"action":"cancel"}`)
		}
		if i > 0 {
			responses = append(responses, ',')
		}
		responses = append(append(append(responses, jsonx.Quote(q.key)...), ':'), answer...)
	}
	if next, err = without(params, "inputResponses", "requestState"); err != nil {
		return nil, nil, err
	}
	var more []byte
	if len(inputs) > 0 {
		more = append(append([]byte(`"inputResponses":`), responses...), '}')
	}
	if state != nil {
		if more != nil {
			more = append(more, ',')
		}
		more = append(append(more, `"requestState":`...), state...)
	}
	if next == nil {
		next = []byte("{}")
	}
	return insertFirst(next, 0, more), nil, nil
}

// without returns the object without the named members. A nil object stays nil.
func without(object []byte, names ...string) ([]byte, error) {
	for _, name := range names {
		var m [1]jsonx.Member
		if object == nil {
			return nil, nil
		}
		if err := jsonx.Members(object, []string{name}, m[:]); err != nil {
			return nil, err
		}
		if m[0].Value != nil {
			object = jsonx.Splice(object, jsonx.Delete(object, m[0]))
		}
	}
	return object, nil
}

// put puts one question to the host and waits for its answer.
func (in *incarnation) put(ctx context.Context, q input) (rpc.Message, error) {
	u := in.u
	if u.events.Request == nil {
		return rpc.Parse(rpc.Error([]byte(`"cg"`), rpc.CodeMethodNotFound, "method not found"))
	}
	params := q.params
	if q.method == "elicitation/create" {
		params = identified(params)
	}
	own, answer, ok := u.asks.put(in)
	if !ok {
		return rpc.Message{}, errors.New("too many questions of the server wait for an answer")
	}
	m, err := rpc.Parse(oneLine(rpc.Request(own, q.method, params)))
	if err != nil {
		u.asks.take(own)
		return rpc.Message{}, err
	}
	m.Label = q.key
	u.events.Request(u, m, lifetime.CauseOf(ctx))
	select {
	case m := <-answer:
		return m, nil
	case <-in.over:
		err = in.down
	case <-ctx.Done():
		err = ctx.Err()
	}
	if _, open := u.asks.take(own); open && u.events.Notification != nil {
		withdrawal, parseErr := rpc.Parse(rpc.Request(nil, "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s}`, own)))
		if parseErr == nil {
			u.events.Notification(u, withdrawal, lifetime.CauseOf(ctx))
		}
	}
	return rpc.Message{}, err
}

// identified gives an elicitation by URL the id that legacy hosts need and modern servers do not have.
func identified(params []byte) []byte {
	var m [2]jsonx.Member
	if params == nil || jsonx.Members(params, []string{"mode", "elicitationId"}, m[:]) != nil || m[1].Value != nil {
		return params
	}
	if mode, _ := jsonx.String(m[0].Value); mode != "url" {
		return params
	}
	id := strconv.FormatUint(lastAsk.Add(1), 10)
	return insertFirst(params, 0, []byte(`"elicitationId":"cg-`+id+`"`))
}

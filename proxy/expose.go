package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"callgate/internal/jsonx"
	"callgate/permissions"
	"callgate/proxy/internal/catalogue"
)

// Expose shows hosts few tools of many: callgate's own and the pinned ones. Hosts find the others with FindTool and
// call them with CallTool, or by their own names. Nothing about a call depends on it: a call through CallTool is a call
// of the tool it names, from here to the record.
type Expose struct {
	Pinned []*permissions.Glob // over qualified names
}

// The names of the two tools that take the place of those that are not shown.
const (
	FindTool = catalogue.FindTool
	CallTool = catalogue.CallTool
)

// shows reports whether a tool stands in the host's list.
func (e *Expose) shows(qualified string, own bool) bool {
	return e == nil || own || slices.ContainsFunc(e.Pinned, func(g *permissions.Glob) bool { return g.Match(qualified) })
}

// inner returns what a call of CallTool asks for, as the params of a direct call: the host's own, with the inner
// name and arguments in place of the outer ones. Params of any other call are returned as they are. What is
// returned names no tool that would have to be resolved again.
func (e *Expose) inner(params []byte, p callParams) (callParams, error) {
	if e == nil || p.name != CallTool {
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
	if saysMore(arguments, m[:]) {
		return p, fmt.Errorf(`%s takes "name" and "arguments" and nothing else: what the tool itself takes belongs into "arguments"`, CallTool)
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

package catalogue

import (
	"slices"

	"callgate/permissions"
)

// Expose shows hosts only a few of many tools: callgate's own and the pinned ones. Hosts find the others with FindTool
// and call them with CallTool, or by their own names. It changes nothing about a call: a call through CallTool is a
// call of the tool it names, from here to the record.
type Expose struct {
	Pinned []*permissions.Glob // match qualified names
}

// Shows reports whether a tool appears in the host's list.
func (e *Expose) Shows(qualified string, own bool) bool {
	return e == nil || own || slices.ContainsFunc(e.Pinned, func(g *permissions.Glob) bool { return g.Match(qualified) })
}

package tui

import (
	"slices"

	"callgate/internal/companion/wire"
)

// approval is one pending question, and what happened to it on this screen.
type approval struct {
	*wire.ToolApproveRequest
	read bool   // its arguments were on the screen to their end
	sent string // the decision that is on its way, or ""

	changes []wire.FileChange // what it would make of files; nil as long as nobody has said
}

// queue holds what waits, in groups of one session each. Groups and what is in them stand in the order in
// which they came, and stay there: nothing moves under the cursor but what is over.
type queue struct {
	groups []group
}

type group struct {
	session string
	items   []*approval
}

func (q *queue) len() (n int) {
	for _, g := range q.groups {
		n += len(g.items)
	}
	return n
}

// all returns the approvals in the order of the screen.
func (q *queue) all() (all []*approval) {
	for _, g := range q.groups {
		all = append(all, g.items...)
	}
	return all
}

// find returns the approval with that id, or nil.
func (q *queue) find(id string) *approval {
	for _, a := range q.all() {
		if a.ToolCallID == id {
			return a
		}
	}
	return nil
}

// put adds an approval. One that is known already is replaced, for its arguments were edited, and whatever
// was read or sent of it is void.
func (q *queue) put(f *wire.ToolApproveRequest) *approval {
	a := &approval{ToolApproveRequest: f}
	for g := range q.groups {
		if q.groups[g].session != f.SessionID {
			continue
		}
		items := &q.groups[g].items
		if at := slices.IndexFunc(*items, func(o *approval) bool { return o.ToolCallID == f.ToolCallID }); at >= 0 {
			(*items)[at] = a
		} else {
			*items = append(*items, a)
		}
		return a
	}
	q.groups = append(q.groups, group{f.SessionID, []*approval{a}})
	return a
}

// remove takes out the approval with that id and returns it, or nil, and the one that takes its place on the
// screen: the next, else the one before.
func (q *queue) remove(id string) (removed, heir *approval) {
	all := q.all()
	at := slices.IndexFunc(all, func(a *approval) bool { return a.ToolCallID == id })
	if at < 0 {
		return nil, nil
	}
	removed = all[at]
	all = slices.Delete(all, at, at+1)
	for g := range q.groups {
		q.groups[g].items = slices.DeleteFunc(q.groups[g].items, func(a *approval) bool { return a == removed })
	}
	q.groups = slices.DeleteFunc(q.groups, func(g group) bool { return len(g.items) == 0 })
	if len(all) > 0 {
		heir = all[min(at, len(all)-1)]
	}
	return removed, heir
}

// beside returns the approval that many places after a, or a itself at the ends.
func (q *queue) beside(a *approval, step int) *approval {
	all := q.all()
	at := slices.Index(all, a)
	if at < 0 {
		return a
	}
	return all[min(max(0, at+step), len(all)-1)]
}

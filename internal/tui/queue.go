package tui

import (
	"slices"

	"callgate/internal/companion/wire"
)

// approval is a pending approval, and what the person has done with it here.
type approval struct {
	*wire.ToolApproveRequest
	read bool   // the person has seen all arguments
	sent string // the decision that was sent, or ""

	changes []wire.FileChange // how the call would change files; nil if not known yet
}

// queue holds the pending approvals, grouped by session. Groups and approvals keep the order of arrival, so that
// nothing moves under the cursor.
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

// put adds an approval. It replaces one with the same id, which the person then has to read and answer again: its
// arguments were edited, or another session has repeated the call and now waits.
func (q *queue) put(f *wire.ToolApproveRequest) *approval {
	a := &approval{ToolApproveRequest: f}
	if known := q.find(f.ToolCallID); known != nil && known.SessionID != f.SessionID {
		q.remove(f.ToolCallID)
	}
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

// remove removes the approval with that id. It returns the approval, or nil, and the one that takes its place on the
// screen: the next one, otherwise the previous one.
func (q *queue) remove(id string) (removed, next *approval) {
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
		next = all[min(at, len(all)-1)]
	}
	return removed, next
}

// neighbour returns the approval step places after a, or the last one in that direction.
func (q *queue) neighbour(a *approval, step int) *approval {
	all := q.all()
	at := slices.Index(all, a)
	if at < 0 {
		return a
	}
	return all[min(max(0, at+step), len(all)-1)]
}

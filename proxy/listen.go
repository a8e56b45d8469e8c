package proxy

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// listener is one subscriptions/listen: a request that stays open and tells what changes.
type listener struct {
	x     Exchange
	id    []byte // of the request, which tags everything that it tells
	lists map[string]bool
	uris  []string
	tasks []*task

	mu    sync.Mutex // keeps anything from following the end
	ended bool
	done  chan struct{}
}

// changes are the notifications that a host can listen to, by the member that asks for them.
var changes = []struct{ member, method string }{
	{"toolsListChanged", "notifications/tools/list_changed"},
	{"promptsListChanged", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "notifications/resources/list_changed"},
}

// maxWatched bounds the resources that one request listens to.
const maxWatched = 1024

// listen tells the host what changes, until it closes the connection, or the session ends.
func (f *face) listen(ctx context.Context, x Exchange, r statelessRequest) {
	l := &listener{x: x, id: r.ID, lists: map[string]bool{}, done: make(chan struct{})}
	var wanted [1]jsonx.Member
	names := []string{"resourceSubscriptions", "taskIds"}
	for _, c := range changes {
		names = append(names, c.member)
	}
	members := make([]jsonx.Member, len(names))
	err := jsonx.Members(r.Params, []string{"notifications"}, wanted[:])
	if err == nil {
		err = jsonx.Members(wanted[0].Value, names, members)
	}
	if err == nil && members[0].Value != nil {
		l.uris, err = stringsOf(members[0].Value)
	}
	var ids []string
	if err == nil && members[1].Value != nil {
		if !declaresTasks(r.capabilities) {
			f.p.told(x.Reject(lacksTasks(r.ID)))
			return
		}
		ids, err = stringsOf(members[1].Value)
	}
	if err == nil && len(ids) > maxTasks {
		err = fmt.Errorf("%d tasks are too many to listen to at once", len(ids))
	}
	if err == nil && len(l.uris) > maxWatched {
		err = fmt.Errorf("%d resources are too many to listen to at once", len(l.uris))
	}
	if err != nil {
		f.p.told(x.Respond(rpc.Error(r.ID, rpc.CodeInvalidParams, "subscriptions/listen: notifications: "+err.Error())))
		return
	}
	for i, c := range changes {
		l.lists[c.method] = string(members[i+2].Value) == "true"
	}
	l.uris = slices.DeleteFunc(l.uris, func(uri string) bool { return !f.watch(ctx, uri) })
	defer func() {
		for _, uri := range l.uris {
			f.unwatch(uri)
		}
	}()
	for _, id := range ids {
		if t := f.task(id); t != nil && !slices.Contains(l.tasks, t) {
			l.tasks = append(l.tasks, t)
		}
	}
	l.tell("notifications/subscriptions/acknowledged", l.acknowledged())
	for _, t := range l.tasks {
		t.hear(l)
		defer t.unhear(l)
	}
	f.mu.Lock()
	f.listeners[l] = struct{}{}
	f.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-l.done:
	}
	f.mu.Lock()
	delete(f.listeners, l)
	f.mu.Unlock()
}

// hear tells the listener how the task is, now and whenever that changes.
func (t *task) hear(l *listener) {
	t.errand.mu.Lock()
	defer t.errand.mu.Unlock()
	t.listeners = append(t.listeners, l)
	l.tell(taskNotification, t.state([]byte{'{'}))
}

func (t *task) unhear(l *listener) {
	t.errand.mu.Lock()
	defer t.errand.mu.Unlock()
	t.listeners = slices.DeleteFunc(t.listeners, func(have *listener) bool { return have == l })
}

// acknowledged are the params that say what is listened to.
func (l *listener) acknowledged() []byte {
	b := []byte(`{"notifications":{`)
	for _, c := range changes {
		if l.lists[c.method] {
			b = append(append(b, jsonx.Quote(c.member)...), ":true,"...)
		}
	}
	if len(l.uris) > 0 {
		b = append(b, `"resourceSubscriptions":[`...)
		for _, uri := range l.uris {
			b = append(append(b, jsonx.Quote(uri)...), ',')
		}
		b[len(b)-1] = ']'
		b = append(b, ',')
	}
	if len(l.tasks) > 0 {
		b = append(b, `"taskIds":[`...)
		for _, t := range l.tasks {
			b = append(append(b, jsonx.Quote(t.id)...), ',')
		}
		b[len(b)-1] = ']'
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, "}}"...)
}

// tell sends a notification with the tag of this request.
func (l *listener) tell(method string, params []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if err := l.x.Notify(rpc.Request(nil, method, tagged(params, l.id))); err != nil {
		l.ended = true
	}
}

// tagged puts the id of the request that listens into the params' _meta.
func tagged(params, id []byte) []byte {
	tag := append(append(jsonx.Quote(metaSubscription), ':'), id...)
	if params == nil {
		params = []byte("{}")
	}
	var meta [1]jsonx.Member
	switch err := jsonx.Members(params, []string{"_meta"}, meta[:]); {
	case err != nil || meta[0].Value == nil:
		return jsonx.Splice(params, jsonx.Prepend(params, 0, fmt.Appendf(nil, `"_meta":{%s}`, tag)))
	case meta[0].Value[0] != '{': // it says nothing, and two of them would be read in two ways
		return jsonx.Splice(params, jsonx.Edit{Start: meta[0].Start, End: meta[0].End(), With: fmt.Appendf(nil, `{%s}`, tag)})
	}
	return jsonx.Splice(params, jsonx.Prepend(params, meta[0].Start, tag))
}

// broadcast tells everybody who listens to it what changed. What nobody can listen to is dropped.
func (f *face) broadcast(m rpc.Message) {
	uri := ""
	var member [1]jsonx.Member
	if m.Method == "notifications/resources/updated" && m.Params != nil && jsonx.Members(m.Params, []string{"uri"}, member[:]) == nil {
		uri, _ = jsonx.String(member[0].Value)
	}
	f.mu.Lock()
	var to []*listener
	for l := range f.listeners {
		if l.lists[m.Method] || uri != "" && slices.Contains(l.uris, uri) {
			to = append(to, l)
		}
	}
	f.mu.Unlock()
	for _, l := range to {
		l.tell(m.Method, m.Params)
	}
}

// watch has the resource's server tell when it changes; false when it does not.
func (f *face) watch(ctx context.Context, uri string) bool {
	f.mu.Lock()
	f.watched[uri]++
	first := f.watched[uri] == 1
	f.mu.Unlock()
	if !first {
		return true
	}
	m, err := rpc.Parse(f.request(ctx, "resources/subscribe", fmt.Appendf(nil, `{"uri":%s}`, jsonx.Quote(uri))))
	if err == nil && m.Error == nil {
		return true
	}
	f.unwatch(uri)
	return false
}

func (f *face) unwatch(uri string) {
	f.mu.Lock()
	f.watched[uri]--
	last := f.watched[uri] == 0
	if last {
		delete(f.watched, uri)
	}
	f.mu.Unlock()
	if last {
		f.request(f.h.ctx, "resources/unsubscribe", fmt.Appendf(nil, `{"uri":%s}`, jsonx.Quote(uri)))
	}
}

// endListeners ends every subscriptions/listen in an orderly way.
func (f *face) endListeners() {
	f.mu.Lock()
	var open []*listener
	for l := range f.listeners {
		open = append(open, l)
	}
	f.mu.Unlock()
	for _, l := range open {
		l.mu.Lock()
		if !l.ended {
			l.ended = true
			f.p.told(l.x.Respond(rpc.Result(l.id, f.dress("subscriptions/listen", tagged(nil, l.id)))))
			close(l.done)
		}
		l.mu.Unlock()
	}
}

// stringsOf reads an array of strings.
func stringsOf(array []byte) (all []string, err error) {
	return all, json.Unmarshal(array, &all)
}

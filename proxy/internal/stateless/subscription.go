package stateless

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// subscription is one subscriptions/listen: a request that stays open and reports changes.
type subscription struct {
	x     Exchange
	id    []byte // of the request; it tags all notifications
	lists map[string]bool
	uris  []string
	tasks []*task

	mu    sync.Mutex // keeps notifications from following the end
	ended bool
	done  chan struct{}
}

// changes lists the notifications that a host can listen to, with the member that asks for each.
var changes = []struct{ member, method string }{
	{"toolsListChanged", "notifications/tools/list_changed"},
	{"promptsListChanged", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "notifications/resources/list_changed"},
}

// maxWatched bounds the resources that one request listens to.
const maxWatched = 1024

// listen reports changes to the host until the host closes the connection or the session ends.
func (c *Client) listen(ctx context.Context, x Exchange, r incoming) {
	l := &subscription{x: x, id: r.ID, lists: map[string]bool{}, done: make(chan struct{})}
	ids, err := l.read(r)
	switch {
	case errors.Is(err, errLacksTasks):
		c.all.logUnsent(x.Reject(lacksTasks(r.ID)))
		return
	case err != nil:
		c.all.logUnsent(x.Respond(rpc.Error(r.ID, rpc.CodeInvalidParams, "subscriptions/listen: notifications: "+err.Error())))
		return
	}
	l.uris = slices.DeleteFunc(l.uris, func(uri string) bool { return !c.watch(ctx, uri) })
	defer func() {
		for _, uri := range l.uris {
			c.unwatch(uri)
		}
	}()
	for _, id := range ids {
		if t := c.task(id); t != nil && !slices.Contains(l.tasks, t) {
			l.tasks = append(l.tasks, t)
		}
	}
	l.mu.Lock() // changes wait for the acknowledgement
	c.mu.Lock()
	c.subscriptions[l] = struct{}{}
	c.mu.Unlock()
	l.send("notifications/subscriptions/acknowledged", l.acknowledged())
	l.mu.Unlock()
	for _, t := range l.tasks {
		t.hear(l)
		defer t.unhear(l)
	}
	select {
	case <-ctx.Done():
	case <-l.done:
	}
	c.mu.Lock()
	delete(c.subscriptions, l)
	c.mu.Unlock()
}

// errLacksTasks is returned if a host listens to tasks without declaring that it knows them.
var errLacksTasks = errors.New("the host does not declare tasks")

// read reads which changes a request wants to hear of: lists and resources, which it stores in l, and tasks, whose ids
// it returns.
func (l *subscription) read(r incoming) (ids []string, err error) {
	var wanted [1]jsonx.Member
	names := []string{"resourceSubscriptions", "taskIds"}
	for _, change := range changes {
		names = append(names, change.member)
	}
	members := make([]jsonx.Member, len(names))
	if err := jsonx.Members(r.Params, []string{"notifications"}, wanted[:]); err != nil {
		return nil, err
	}
	if err := jsonx.Members(wanted[0].Value, names, members); err != nil {
		return nil, err
	}
	if members[0].Value != nil {
		if l.uris, err = stringsOf(members[0].Value); err != nil {
			return nil, err
		}
	}
	if members[1].Value != nil {
		if !declaresTasks(r.capabilities) {
			return nil, errLacksTasks
		}
		if ids, err = stringsOf(members[1].Value); err != nil {
			return nil, err
		}
	}
	switch {
	case len(ids) > MaxTasks:
		return nil, fmt.Errorf("%d tasks are too many to listen to at once", len(ids))
	case len(l.uris) > maxWatched:
		return nil, fmt.Errorf("%d resources are too many to listen to at once", len(l.uris))
	}
	for i, change := range changes {
		l.lists[change.method] = string(members[i+2].Value) == "true"
	}
	return ids, nil
}

// hear sends the listener the task's state, now and after each change.
func (t *task) hear(l *subscription) {
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	t.subscriptions = append(t.subscriptions, l)
	l.tell(taskNotification, t.state([]byte{'{'}))
}

func (t *task) unhear(l *subscription) {
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	t.subscriptions = slices.DeleteFunc(t.subscriptions, func(have *subscription) bool { return have == l })
}

// acknowledged returns the params that list what the host listens to.
func (l *subscription) acknowledged() []byte {
	b := []byte(`{"notifications":{`)
	for _, change := range changes {
		if l.lists[change.method] {
			b = append(append(b, jsonx.Quote(change.member)...), ":true,"...)
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
func (l *subscription) tell(method string, params []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.send(method, params)
}

// send is tell for callers that hold mu.
func (l *subscription) send(method string, params []byte) {
	if l.ended {
		return
	}
	if err := l.x.Notify(rpc.Request(nil, method, tagged(params, l.id))); err != nil {
		l.ended = true
	}
}

// tagged adds the id of the listening request to the params' _meta.
func tagged(params, id []byte) []byte {
	tag := append(append(jsonx.Quote(metaSubscription), ':'), id...)
	if params == nil {
		params = []byte("{}")
	}
	var meta [1]jsonx.Member
	switch err := jsonx.Members(params, []string{"_meta"}, meta[:]); {
	case err != nil || meta[0].Value == nil:
		return jsonx.Splice(params, jsonx.Prepend(params, 0, fmt.Appendf(nil, `"_meta":{%s}`, tag)))
	case meta[0].Value[0] != '{': // it holds nothing, and a second _meta could be read in two ways
		return jsonx.Splice(params, jsonx.Edit{Start: meta[0].Start, End: meta[0].End(), With: fmt.Appendf(nil, `{%s}`, tag)})
	}
	return jsonx.Splice(params, jsonx.Prepend(params, meta[0].Start, tag))
}

// broadcast sends a change to all subscriptions that listen to it. It drops changes that nobody can listen to.
func (c *Client) broadcast(m rpc.Message) {
	uri := ""
	var member [1]jsonx.Member
	if m.Method == "notifications/resources/updated" && m.Params != nil && jsonx.Members(m.Params, []string{"uri"}, member[:]) == nil {
		uri, _ = jsonx.String(member[0].Value)
	}
	c.mu.Lock()
	var to []*subscription
	for l := range c.subscriptions {
		if l.lists[m.Method] || uri != "" && slices.Contains(l.uris, uri) {
			to = append(to, l)
		}
	}
	c.mu.Unlock()
	for _, l := range to {
		l.tell(m.Method, m.Params)
	}
}

// turn waits until nobody else tells a server who listens to the resource; false if ctx ends first.
func (c *Client) turn(ctx context.Context, uri string) (done func(), ok bool) {
	for {
		c.mu.Lock()
		other := c.telling[uri]
		if other == nil {
			mine := make(chan struct{})
			c.telling[uri] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.telling, uri)
				c.mu.Unlock()
				close(mine)
			}, true
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// listens counts more who listen to the resource, or less, and returns how many there were.
func (c *Client) listens(uri string, more int) (before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.watched[uri]
	if c.watched[uri] += more; c.watched[uri] == 0 {
		delete(c.watched, uri)
	}
	return before
}

// watch subscribes to the resource at its server. It returns false if the server refuses.
func (c *Client) watch(ctx context.Context, uri string) bool {
	done, ok := c.turn(ctx, uri)
	if !ok {
		return false
	}
	defer done()
	if c.listens(uri, +1) > 0 {
		return true
	}
	m, err := rpc.Parse(c.request(ctx, "resources/subscribe", fmt.Appendf(nil, `{"uri":%s}`, jsonx.Quote(uri))))
	if err == nil && m.Error == nil {
		return true
	}
	c.listens(uri, -1)
	c.ignore(uri)
	return false
}

func (c *Client) unwatch(uri string) {
	done, ok := c.turn(c.host.Context(), uri)
	if !ok {
		return
	}
	defer done()
	if c.listens(uri, -1) == 1 {
		c.ignore(uri)
	}
}

// ignore has the resource's server tell nothing any more.
func (c *Client) ignore(uri string) {
	c.request(c.host.Context(), "resources/unsubscribe", fmt.Appendf(nil, `{"uri":%s}`, jsonx.Quote(uri)))
}

// endSubscriptions ends every subscriptions/listen with a response.
func (c *Client) endSubscriptions() {
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.subscriptions))
	c.mu.Unlock()
	for _, l := range open {
		l.mu.Lock()
		if !l.ended {
			l.ended = true
			c.all.logUnsent(l.x.Respond(rpc.Result(l.id, c.wrap("subscriptions/listen", tagged(nil, l.id)))))
			close(l.done)
		}
		l.mu.Unlock()
	}
}

// stringsOf reads an array of strings.
func stringsOf(array []byte) (all []string, err error) {
	return all, json.Unmarshal(array, &all)
}

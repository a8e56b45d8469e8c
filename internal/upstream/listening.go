package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/internal/jsonx"
	"callgate/internal/periodic"
	"callgate/internal/rpc"
)

// listening is what a modern server should announce. The mutex of modern guards it.
type listening struct {
	watched  []*watched // resources whose changes hosts want to know
	revision uint64     // counts the changes of what should be announced

	stop    context.CancelFunc // ends the running request
	changed chan struct{}      // closed when the running request must be replaced
	asked   []byte             // the running request's id; nil before it is sent
	about   uint64             // the running request's revision

	agreed agreement     // the newest
	told   chan struct{} // closed when agreed changes
}

// watched is a resource whose changes hosts want to know.
type watched struct {
	uri string
	by  int // calls of watch that wait or have succeeded
}

// agreement is a server's answer to a subscriptions/listen.
type agreement struct {
	revision uint64
	uris     []string // resources whose changes it announces
	fault    []byte   // the error with which it refuses to announce anything, or nil
}

func newListening() listening {
	return listening{changed: make(chan struct{}), told: make(chan struct{})}
}

// Limits of what a modern server is asked to announce.
const (
	maxWatched = 1000
	minRelist  = time.Second      // between two listenings
	ackLimit   = 10 * time.Second // for the acknowledgement of a subscription
)

// watch asks the server to announce the changes of a resource, and returns when the server has agreed: later changes
// will be heard. refusal is the error for the host if the server does not agree.
func (c *modern) watch(ctx context.Context, uri string) (refusal []byte, err error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.watched, func(w *watched) bool { return w.uri == uri })
	if i < 0 {
		if i = len(c.watched); i >= maxWatched {
			c.mu.Unlock()
			return refuse(rpc.CodeInvalidRequest, fmt.Sprintf("more than %d resources are subscribed", maxWatched)), nil
		}
		c.watched = append(c.watched, &watched{uri: uri})
		c.relisten()
	}
	mine := c.watched[i]
	mine.by++
	wanted := c.revision
	c.mu.Unlock()
	late := time.NewTimer(ackLimit)
	defer late.Stop()
	for {
		c.mu.Lock()
		agreed, told := c.agreed, c.told
		c.mu.Unlock()
		if agreed.revision >= wanted {
			switch {
			case agreed.fault != nil:
				refusal = agreed.fault
			case !slices.Contains(agreed.uris, uri):
				refusal = refuse(rpc.CodeInvalidParams, "the server does not announce changes of this resource")
			default:
				return nil, nil
			}
			c.giveUp(mine, true)
			return refusal, nil
		}
		select {
		case <-told:
		case <-ctx.Done():
			c.giveUp(mine, false)
			return nil, ctx.Err()
		case <-late.C:
			c.giveUp(mine, false)
			return refuse(rpc.CodeInternal, fmt.Sprintf("the server did not acknowledge the subscription within %v", ackLimit)), nil
		}
	}
}

// giveUp stops the announcements of a resource's changes if the server refuses them, or no other call of watch wants
// them.
func (c *modern) giveUp(mine *watched, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mine.by--; refused || mine.by == 0 {
		c.drop(func(w *watched) bool { return w == mine })
	}
}

// refuse returns the error object of a response.
func refuse(code int, message string) []byte {
	return fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, jsonx.Quote(message))
}

// unwatch stops the announcements of a resource's changes.
func (c *modern) unwatch(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(func(w *watched) bool { return w.uri == uri })
}

// drop removes a watched resource, if there is one. The caller holds mu.
func (c *modern) drop(which func(*watched) bool) {
	if i := slices.IndexFunc(c.watched, which); i >= 0 {
		c.watched = slices.Delete(c.watched, i, i+1)
		c.relisten()
	}
}

// relisten replaces the running request. The caller holds mu.
func (c *modern) relisten() {
	c.revision++
	if c.stop != nil {
		c.stop()
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// ask records the request that is about to be sent, and its revision.
func (c *modern) ask(id []byte, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.about = id, revision
}

// agree takes the server's answer to the request with the id. It ignores answers to requests that were replaced.
func (c *modern) agree(id []byte, a agreement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil || !bytes.Equal(id, c.asked) {
		return
	}
	a.revision = c.about
	c.agreed = a
	close(c.told)
	c.told = make(chan struct{})
}

// acknowledged handles the server's first answer to a subscriptions/listen. of is the id of the request on whose stream
// it came, or nil if streams cannot be told apart.
func (in *incarnation) acknowledged(m rpc.Message, of []byte) {
	if !in.greeted.Load() || in.modern == nil || m.Params == nil {
		return
	}
	var p [2]jsonx.Member
	if jsonx.Members(m.Params, []string{"_meta", "notifications"}, p[:]) != nil {
		return
	}
	if of == nil && p[0].Value != nil {
		var id [1]jsonx.Member
		if jsonx.Members(p[0].Value, []string{subscriptionID}, id[:]) == nil {
			of = id[0].Value
		}
	}
	var a agreement
	if p[1].Value != nil {
		var uris [1]jsonx.Member
		if jsonx.Members(p[1].Value, []string{"resourceSubscriptions"}, uris[:]) == nil && uris[0].Value != nil {
			if json.Unmarshal(uris[0].Value, &a.uris) != nil {
				return
			}
		}
	}
	in.modern.agree(of, a)
}

// listen keeps a subscriptions/listen open for what the server can announce and the host wants to hear of,
// until the incarnation is over.
func (in *incarnation) listen() {
	c := in.modern
	for failures := 0; in.ctx.Err() == nil; {
		ctx, stop := context.WithCancel(in.ctx)
		c.mu.Lock()
		filter, revision, changed := in.filter(), c.revision, c.changed
		c.stop = stop
		c.mu.Unlock()
		if filter == nil { // nothing to listen to yet
			select {
			case <-changed:
			case <-in.ctx.Done():
			}
			stop()
			continue
		}
		began := time.Now()
		params := c.describe(fmt.Appendf(nil, `{"notifications":%s}`, filter))
		var asked []byte
		m, err := in.send(ctx, func(id []byte) []byte {
			asked = bytes.Clone(id)
			c.ask(asked, revision)
			return rpc.Request(id, "subscriptions/listen", params)
		})
		replaced := ctx.Err() != nil
		stop()
		switch {
		case replaced:
			failures = 0
			continue
		case err == nil && m.Error != nil && methodNotFound(m.Error):
			c.ask(asked, math.MaxUint64) // this holds for whatever is wanted later
			c.agree(asked, agreement{fault: m.Error})
			in.u.log.Info("the server announces nothing: it does not know subscriptions/listen")
			return
		case err == nil && m.Error != nil:
			c.agree(asked, agreement{fault: m.Error})
			err = errors.New(excerpt(m.Error))
		}
		if err != nil {
			in.u.log.Debug("the server's announcements ended", "error", err)
		}
		if time.Since(began) > maxBackoff {
			failures = 0
		}
		failures++
		in.u.Lists.fetchAll(in) // something may have changed without an announcement
		periodic.Sleep(in.ctx, min(minRelist<<min(failures-1, 10), maxBackoff))
	}
}

// filter returns what to listen to, or nil for nothing. The caller holds modern.mu.
func (in *incarnation) filter() []byte {
	b := []byte{'{'}
	member := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, jsonx.Quote(name)...), ':'), value...)
	}
	for _, k := range []Kind{Tools, Prompts, Resources} {
		if in.info.can(k.capability(), "listChanged") {
			member(k.String()+"ListChanged", []byte("true"))
		}
	}
	if len(in.modern.watched) > 0 {
		uris := []byte{'['}
		for i, w := range in.modern.watched {
			if i > 0 {
				uris = append(uris, ',')
			}
			uris = append(uris, jsonx.Quote(w.uri)...)
		}
		member("resourceSubscriptions", append(uris, ']'))
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

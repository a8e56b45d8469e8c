package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Bounds are the limits of every request to one server; 0 is none. Waits for a person or the host's model do not count.
type Bounds struct {
	Timeout   time.Duration
	MaxResult int // bytes of a result
}

// bounded sends a request to the server and ends it when the time for it is over.
func (s *server) bounded(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	ctx, stop := s.clock.bound(ctx, s.bounds.Timeout, errTooSlow)
	defer stop()
	answer, err := s.send(ctx, compose)
	if err != nil && errors.Is(context.Cause(ctx), errTooSlow) {
		return rpc.Message{}, fmt.Errorf("server %q did not answer within %s (its timeout); it was told to stop", s.alias, s.bounds.Timeout)
	}
	return answer, err
}

var errTooSlow = errors.New("the server's timeout has passed")

// errTooLong is the cause of contexts of calls that ran longer than the limits of the gate let them.
var errTooLong = errors.New("the call's time has passed")

// timed returns err, in the words for the model when the limit of the call ended it.
func timed(ctx context.Context, err error, limit time.Duration) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return fmt.Errorf("it ran longer than the %s it may; the server was told to stop", limit)
	}
	return err
}

// clock stands still while the server waits for the host.
type clock struct {
	mu      sync.Mutex
	waiting int           // questions that the host has not answered
	since   time.Time     // when waiting became more than 0
	stood   time.Duration // how long it has stood still before
}

// pause stops the clock until resume is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.since = time.Now()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting--; c.waiting == 0 {
			c.stood += time.Since(c.since)
		}
	}
}

// standing is how long the clock has stood still in all.
func (c *clock) standing() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		return c.stood + time.Since(c.since)
	}
	return c.stood
}

// bound ends ctx with cause once the clock has moved on by limit; 0 is no limit.
func (c *clock) bound(ctx context.Context, limit time.Duration, cause error) (context.Context, func()) {
	if limit <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	began, before := time.Now(), c.standing()
	go func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			left := limit - (time.Since(began) - (c.standing() - before))
			if left <= 0 {
				cancel(cause)
				return
			}
			timer.Reset(max(left, 10*time.Millisecond))
		}
	}()
	return ctx, func() { cancel(nil) }
}

// limited returns the answer to a tools/call with no more of its result than the server's bound allows, and with a
// note for the model. Texts are kept in their order as far as there is room, the last of them cut; what cannot be
// cut and does not fit is left out.
//
// The server's word on isError stays: the call ran, and a model that reads of an error repeats it. Only where
// structured content is left out it becomes an error, because hosts check that against the tool's schema and
// would throw the whole answer away.
func (b Bounds) limited(answer rpc.Message, alias string) rpc.Message {
	if b.MaxResult <= 0 || len(answer.Result) <= b.MaxResult {
		return answer
	}
	var m [3]jsonx.Member
	if jsonx.Members(answer.Result, []string{"content", "structuredContent", "isError"}, m[:]) != nil {
		m = [3]jsonx.Member{}
	}
	kept, left, whole := fitting(m[0].Value, b.MaxResult)
	note := fmt.Sprintf("callgate: the result had %d bytes; server %q may give %d (maxResultBytes). ", len(answer.Result), alias, b.MaxResult)
	if !whole {
		note += "The text above is cut. "
	}
	if left > 0 {
		note += fmt.Sprintf("%d more parts of the content are left out. ", left)
	}
	if m[1].Value != nil {
		note += "The structured content is left out. "
	}
	note += "The call was made: ask for less (a range, a page, a filter) instead of repeating it."
	result := append(append([]byte(`{"content":[`), kept...), `{"type":"text","text":`...)
	result = append(append(result, jsonx.Quote(note)...), "}]"...)
	if m[1].Value != nil || string(m[2].Value) == "true" {
		result = append(result, `,"isError":true`...)
	}
	short, err := rpc.Parse(rpc.Result(answer.ID, append(result, '}')))
	if err != nil {
		return answer // cannot be: all of it is quoted
	}
	return short
}

// fitting returns the parts of a content array that fit into room, each with a comma behind it. left counts
// those that do not, and whole is false when the last text is cut.
func fitting(content []byte, room int) (kept []byte, left int, whole bool) {
	whole = true
	if len(content) == 0 || content[0] != '[' {
		return nil, 0, true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, 0, true
	}
	for dec.PeekKind() == '{' {
		part, err := dec.ReadValue()
		if err != nil {
			return kept, left, whole
		}
		if left == 0 && whole && len(part) <= room {
			kept, room = append(append(kept, part...), ','), room-len(part)
			continue
		}
		text, ok := textOf(part)
		if !ok || !whole || room < 2 {
			left++
			continue
		}
		text = text[:min(len(text), room)]
		for len(text) > 0 && !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		kept = append(append(append(kept, `{"type":"text","text":`...), jsonx.Quote(text)...), "},"...)
		whole, room = false, 0
	}
	return kept, left, whole
}

// textOf returns the text of a part of content that is text.
func textOf(part []byte) (string, bool) {
	var m [2]jsonx.Member
	if jsonx.Members(part, []string{"type", "text"}, m[:]) != nil || string(m[0].Value) != `"text"` {
		return "", false
	}
	return jsonx.String(m[1].Value)
}

// exceeded reports that the result of another method is over the bound. Such results have no place for a note,
// and half of a resource is none: the request ends with an error.
func (b Bounds) exceeded(answer rpc.Message, alias string) error {
	if b.MaxResult <= 0 || len(answer.Result) <= b.MaxResult {
		return nil
	}
	return fmt.Errorf("the result had %d bytes; server %q may give %d (maxResultBytes)", len(answer.Result), alias, b.MaxResult)
}

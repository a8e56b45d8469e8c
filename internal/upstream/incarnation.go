package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/budget"
	"callgate/internal/jsonx"
	"callgate/internal/remote"
	"callgate/internal/rpc"
	"callgate/internal/upstream/lifetime"
)

// incarnation is one run of a server, from its start to its end.
type incarnation struct {
	u    *Upstream
	link link
	conn *rpc.Conn
	log  *throttle // for the reading goroutine
	late func(rpc.Message)

	info    *Info   // set by greet
	modern  *modern // set by greet; nil for a legacy server
	usage   usage
	causes  causes
	faults  atomic.Int32 // consecutive requests that the server failed to answer
	greeted atomic.Bool  // set after info, for the reading goroutine; all others come later

	read    chan struct{} // closed when nothing more will be read
	readErr error         // the reason; set before read closes

	broken    chan struct{} // closed when the server is of no more use, though it runs
	brokenErr error         // the reason; set before broken closes
	breaking  sync.Once

	over    chan struct{} // closed when down is set
	down    *DownError    // the error for all callers that wait
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup // fetches
}

// spawn starts the server and reads from it.
func (u *Upstream) spawn() (*incarnation, error) {
	l, err := u.open()
	if err != nil {
		return nil, err
	}
	in := &incarnation{
		u:      u,
		link:   l,
		log:    newThrottle(u.log),
		read:   make(chan struct{}),
		broken: make(chan struct{}),
		over:   make(chan struct{}),
	}
	in.late = in.unwanted
	in.ctx, in.cancel = context.WithCancel(u.ctx)
	in.conn = l.connect(rpc.Options{MaxMessage: u.cfg.MaxMessage, Noise: in.noise, Budget: u.budget})
	go func() {
		defer close(in.read)
		in.readErr = l.run(in.handle)
		in.log.report()
	}()
	return in, nil
}

// wait waits until the incarnation is over, and returns why: ctx ended, its link ended, or nobody uses it.
func (in *incarnation) wait(ctx context.Context) error {
	unused := make(chan error, 1) // usage retires only once, for one reason
	retire := func(limit time.Duration, wanted func() bool, why error) {
		if in.usage.idle(in.ctx, limit, wanted) {
			unused <- why
		}
	}
	if limit := in.u.cfg.IdleTimeout; limit > 0 {
		in.workers.Go(func() { retire(limit, in.u.wanted, fmt.Errorf("%w for %v", errIdle, limit)) })
	}
	if narrowed := in.u.cfg.terms.Narrowed; narrowed != nil {
		in.workers.Go(func() {
			if narrowed(in.ctx) == nil {
				retire(breath, nil, fmt.Errorf("%w, and its sandbox opens less by now", errIdle))
			}
		})
	}
	if p, ok := in.link.(*process); ok && p.widened != nil {
		in.workers.Go(func() {
			select {
			case <-p.widened:
				retire(breath, nil, fmt.Errorf("%w, and its sandbox opens more by now", errIdle))
			case <-in.ctx.Done():
			}
		})
	}
	select {
	case err := <-unused:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-in.broken:
		return in.link.epitaph(in.brokenErr)
	case <-in.read:
		return in.link.epitaph(in.readErr)
	}
}

// fail ends an incarnation whose server may still run.
func (in *incarnation) fail(err error) {
	in.breaking.Do(func() {
		in.brokenErr = err
		close(in.broken)
	})
}

// end stops the server and waits for all goroutines of the incarnation.
func (in *incarnation) end(down *DownError) {
	in.down = down
	close(in.over)
	in.u.Lists.leave(in)
	if err := in.link.stop(in.u.grace); err != nil {
		in.u.log.Error("cannot stop the server", "error", err)
	}
	<-in.read
	in.workers.Wait()
	in.u.asks.drop(in)
}

// send sends the request that compose makes and waits for its response. It does not send a request that was cancelled
// while a person decided or the server started.
func (in *incarnation) send(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	if ctx.Err() != nil {
		return rpc.Message{}, fmt.Errorf("it was cancelled before the server got it: %w", ctx.Err())
	}
	cause := lifetime.CauseOf(ctx)
	p, err := in.conn.Send(func(id []byte) []byte {
		if cause != nil { // set before the request can be answered
			in.causes.add(id, cause)
		}
		return oneLine(compose(id))
	})
	if err != nil {
		return rpc.Message{}, in.unsent(ctx, err)
	}
	p.Late(in.late)
	m, err := p.Wait(ctx)
	return in.answered(ctx, p.ID, m, err)
}

// post does what send does for a caller that does not wait, see Upstream.Post. usage has counted the request. A process
// does not say which request its own messages belong to, so no cause is needed.
func (in *incarnation) post(life *lifetime.Request, request rpc.Posted) {
	f := &flight{in: in, life: life, request: request}
	if err := in.conn.Post(&f.Pending, f); err != nil {
		go func() { f.end(rpc.Message{}, in.unsent(life, err)) }()
		return
	}
	life.Watch(f) // if the answer is there already, RequestEnded does nothing
}

// flight is a request that no goroutine waits for.
type flight struct {
	rpc.Pending
	in      *incarnation
	life    *lifetime.Request
	request rpc.Posted
}

var _ lifetime.Watcher = (*flight)(nil)

// RequestEnded implements lifetime.Watcher.
func (f *flight) RequestEnded() {
	if f.Forget() {
		f.Answered(rpc.Message{}, f.life.Err())
	}
}

// Compose implements rpc.Posted. It returns the request on one line.
func (f *flight) Compose(id []byte) []byte { return oneLine(legacy(id, f.request.Compose(id))) }

// Answered implements rpc.Posted. It is called once for each request that was sent.
func (f *flight) Answered(m rpc.Message, err error) {
	f.life.Unwatch()
	f.end(f.in.answered(f.life, f.ID, m, err))
}

func (f *flight) end(m rpc.Message, err error) {
	f.in.usage.end()
	f.request.Answered(m, err)
}

// unsent returns why a request was not sent.
func (in *incarnation) unsent(ctx context.Context, err error) error {
	if !errors.Is(err, rpc.ErrClosed) { // the server may still write, but callgate can ask it nothing any more
		in.fail(fmt.Errorf("it takes no more input: %w", err))
	}
	return in.verdict(ctx)
}

// answered returns the outcome of a request that was sent.
func (in *incarnation) answered(ctx context.Context, id []byte, m rpc.Message, err error) (rpc.Message, error) {
	in.causes.remove(id)
	if err == nil {
		in.faults.Store(0)
		return m, nil
	}
	switch {
	case isUnreadable(err), errors.As(err, new(*budget.Error)):
		return rpc.Message{}, fmt.Errorf("server %q answered, but %w", in.u.cfg.Name, err)
	case ctx.Err() != nil:
		in.cancelRequest(id, context.Cause(ctx))
		return rpc.Message{}, ctx.Err()
	case errors.Is(err, rpc.ErrClosed):
		return rpc.Message{}, in.verdict(ctx)
	case errors.Is(err, remote.ErrNotRun):
		return rpc.Message{}, errNotRun
	}
	if in.faults.Add(1) == maxFaults {
		in.fail(fmt.Errorf("%d requests in a row failed, the last because %w", maxFaults, err))
	}
	return rpc.Message{}, fmt.Errorf("server %q: %w", in.u.cfg.Name, err)
}

// maxFaults is how many requests in a row may reach the server and fail before it counts as down.
const maxFaults = 5

// errNotRun is returned if a request was not run, because the incarnation takes no more or the server does not know its
// session. The request may be sent again to the next incarnation.
var errNotRun = errors.New("the server has ended the session, and its next one too")

// verdict waits until it is known why the incarnation is over, and returns that.
func (in *incarnation) verdict(ctx context.Context) error {
	select {
	case <-in.over:
		return in.down
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancelRequest tells the server that nobody waits for an answer any more.
func (in *incarnation) cancelRequest(id []byte, cause error) {
	params := append(append([]byte(`{"requestId":`), id...), `,"reason":`...)
	params = append(append(params, jsonx.Quote(cause.Error())...), '}')
	if err := in.conn.Write(rpc.Request(nil, "notifications/cancelled", params)); err != nil {
		in.u.log.Debug("cancellation not sent", "error", err)
	}
}

// noise logs a line that is not a message.
func (in *incarnation) noise(line []byte, err error) {
	in.log.write(slog.LevelWarn, "the server wrote something other than MCP to stdout: skipped", "line", excerpt(line), "error", err)
}

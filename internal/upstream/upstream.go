// Package upstream runs one MCP server behind callgate: its process, handshake, lists, and raw requests both ways.
//
// It forwards bytes. It judges nothing except what a broken or hostile server could do to callgate itself.
//
// A server starts in the background (Start), and again on use after it went down (Ready, Request, with a backoff). Its
// last known handshake and lists come from a cache on disk (Info, Lists). Everything that a server sends is hostile
// input.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/budget"
	"callgate/internal/guard"
	"callgate/internal/remote"
	"callgate/internal/sandbox"
)

// Upstream is one server. All methods are safe for concurrent use.
type Upstream struct {
	Lists Lists

	cfg    Config
	log    *slog.Logger
	events Events
	grace  time.Duration // between the steps of a stop
	cache  *cache
	budget *budget.Budget

	refusals *sandbox.Refusals                         // nil for a server without a sandbox
	connect  func(context.Context, sandbox.Peer) error // see Options
	wanted   func() bool                               // see Options

	how Launch // how to start; only the launching goroutine uses it

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	current atomic.Pointer[incarnation] // set while Ready: all that a request has to check

	order sync.Mutex // held while state changes are reported, so that they arrive in order; taken before mu

	mu       sync.Mutex
	hello    *Hello
	status   Status
	down     *DownError // the last incarnation's error, while Down
	attempt  *attempt   // nil while Idle, Down and Closed
	last     *attempt   // the newest; the next one waits for its end
	backoff  backoff
	known    *Info // from the running or the last run
	revival  *time.Timer
	waiting  bool // for a credential or a person's consent, while that is awaited
	era      Era  // the server's expected era; after Start, only attempts use it
	eraKnown bool // the server has spoken that era; it is not just expected

	asks asks
}

// attempt is one try to run the server, from its start to its end.
type attempt struct {
	settled chan struct{} // closed when in or err is set
	in      *incarnation
	err     error
	ended   chan struct{} // closed when the server and all its goroutines are gone
}

// New returns an upstream that does nothing until Start is called. The caller MUST Close it.
func New(cfg Config, o Options) *Upstream {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if cfg.StartTimeout <= 0 {
		cfg.StartTimeout = DefaultStartTimeout
	}
	u := &Upstream{
		cfg:    cfg,
		log:    o.Logger.With("server", cfg.Name),
		events: o.Events,
		grace:  2 * time.Second,
		cache:  newCache(o.CacheDir),
		budget: o.Budget, connect: o.Connect, wanted: o.Wanted,
		status: Status{State: Idle},
	}
	u.ctx, u.cancel = context.WithCancel(context.Background())
	u.Lists.running, u.Lists.ready, u.Lists.cache, u.Lists.log = u.current.Load, u.acquire, u.cache, u.log
	u.Lists.changed = func(k Kind) {
		if u.events.ListChanged != nil {
			u.events.ListChanged(u, k)
		}
	}
	if cfg.terms.Sandbox != nil {
		u.refusals = sandbox.NewRefusals(func(a guard.Access) {
			u.log.Warn("the sandbox refused the server a file", "path", a.Path, "write", a.Write)
			if o.Refused != nil {
				o.Refused(a)
			}
		}, o.Widen)
	}
	return u
}

// Start fixes what the server is told about the host, reads the cache, and begins to start and greet the server in the
// background. Calls after the first do nothing.
func (u *Upstream) Start(hello Hello) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hello != nil || u.status.State == Closed {
		return
	}
	u.hello = &hello
	u.remember(u.cache.load(u.cfg, hello, u.log))
	u.begin()
}

// remember takes over what the cache knows. The caller holds mu.
func (u *Upstream) remember(r record) {
	switch u.era = u.cfg.terms.Era; {
	case u.era != AnyEra:
	case time.Since(r.EraAt) < eraKept:
		u.era, u.eraKnown = r.Era, true
	case u.hello.Era == Legacy: // a server that speaks only the other era will say so
		u.era = Legacy
	}
	if info, err := readInfo(r.Initialize); err == nil {
		u.known = info
	}
	for _, k := range Kinds {
		if pages, ok := r.Lists[k.String()]; ok {
			if list, err := parseList(k, pages, u.log); err == nil {
				u.Lists.recall(k, list.shared(k))
			}
		}
	}
}

// LastFailure returns why and when the server failed to start the last time, in this process or, with a cache, in an
// earlier one. ok is false if it started or was never tried.
func (u *Upstream) LastFailure() (reason string, at time.Time, ok bool) {
	return u.cache.failure()
}

// Status returns the upstream's state.
func (u *Upstream) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}

// Info returns what the server said about itself when it was greeted, in this run or, from memory or the cache, in an
// earlier one. ok is false if it was never greeted.
func (u *Upstream) Info() (info *Info, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known, u.known != nil
}

// Ready waits until the server is up, and starts it if it is down. During the backoff after a failure, it fails at once
// with that failure's *DownError.
func (u *Upstream) Ready(ctx context.Context) (*Info, error) {
	in, err := u.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return in.info, nil
}

var errNotStarted = errors.New("the server was not started")

func (u *Upstream) acquire(ctx context.Context) (*incarnation, error) {
	if in := u.current.Load(); in != nil {
		return in, nil
	}
	u.mu.Lock()
	a, err := u.join()
	u.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-a.settled:
		return a.in, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join returns the running attempt, or begins one. The caller holds mu.
func (u *Upstream) join() (*attempt, error) {
	switch {
	case u.status.State == Closed:
		return nil, u.closedError()
	case u.hello == nil:
		return nil, errNotStarted
	case u.attempt != nil:
		return u.attempt, nil
	case u.status.State == Idle:
		return u.begin(), nil
	case u.status.RetryAt.IsZero() || time.Now().Before(u.status.RetryAt):
		return nil, u.down
	}
	return u.begin(), nil
}

// begin starts an attempt. The caller holds mu and has seen that none is running.
func (u *Upstream) begin() *attempt {
	a := &attempt{settled: make(chan struct{}), ended: make(chan struct{})}
	previous := u.last
	u.attempt, u.last = a, a
	u.wg.Go(func() {
		defer close(a.ended)
		if previous != nil {
			<-previous.ended
		}
		u.run(a)
	})
	return a
}

// run carries out one attempt from start to end.
func (u *Upstream) run(a *attempt) {
	u.change(func() {
		if u.status.State != Closed {
			u.status = Status{State: Starting}
		}
	})

	in, err := u.launch()
	var up time.Duration
	if err == nil {
		began := time.Now()
		u.change(func() {
			if u.status.State != Closed {
				u.status = Status{State: Ready, PID: in.link.pid(), Wall: in.link.wall()}
				u.known = in.info
				u.current.Store(in)
			}
		})
		a.in = in
		close(a.settled)
		u.cache.saveInfo(in.info, u.era)
		u.Lists.fetchAll(in)
		if in.modern != nil {
			in.workers.Go(in.listen)
		}
		err = in.wait(u.ctx)
		up = time.Since(began)
	}

	down := u.fall(err, up, in)
	if a.in == nil {
		a.err = down
		if u.ctx.Err() == nil { // otherwise it was stopped, and is not broken
			u.cache.saveFailure(down) // first: whoever hears of the failure may close the upstream, or ask for it
		}
		close(a.settled)
	}
	if in != nil {
		in.end(down)
	}
}

// launch starts the server and greets it. If it returns an incarnation with an error, the caller MUST end the
// incarnation.
func (u *Upstream) launch() (*incarnation, error) {
	ctx, cancel := context.WithTimeoutCause(u.ctx, u.cfg.StartTimeout,
		fmt.Errorf("the handshake was not finished within %v", u.cfg.StartTimeout))
	defer cancel()
	if u.cfg.terms.Check != nil {
		how, err := u.cfg.terms.Check(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		u.how = how
	}
	in, err := u.meet(ctx, u.era)
	if in != nil && errors.Is(err, errDiedOfProbe) {
		in.end(u.downError(err, in))
		u.log.Info("the server ended when it was asked for its era of MCP: started again, with the handshake of the legacy era")
		u.era = Legacy
		in, err = u.meet(ctx, Legacy)
	}
	if in != nil && errors.Is(err, errDiedOfHandshake) {
		in.end(u.downError(err, in))
		u.log.Info("the server ended when it was offered a handshake of MCP: started again, without one")
		in, err = u.meet(ctx, Modern)
	}
	if in != nil && u.era == Legacy && u.cfg.terms.Era == AnyEra && refusesAnyHandshake(err) {
		in.end(u.downError(err, in))
		u.log.Info("the server takes no handshake of MCP: asked for its era")
		in, err = u.meet(ctx, AnyEra)
	}
	if err == nil {
		u.era, u.eraKnown = Legacy, true
		if in.modern != nil {
			u.era = Modern
		}
	}
	return in, err
}

// meet makes one try of launch, in the given era.
func (u *Upstream) meet(ctx context.Context, era Era) (*incarnation, error) {
	in, err := u.spawn()
	if err != nil {
		return nil, err
	}
	return in, (&greeter{in: in, hello: *u.hello}).greet(ctx, era)
}

// fall makes the upstream Down, or Idle if nobody used it, unless it is Closed. err ended the attempt, which was ready
// for the time up.
func (u *Upstream) fall(err error, up time.Duration, in *incarnation) *DownError {
	down := u.downError(err, in)
	u.current.Store(nil)
	u.change(func() {
		u.attempt = nil
		now := time.Now()
		switch {
		case u.status.State == Closed:
			return
		case errors.Is(err, errIdle):
			u.status = Status{State: Idle, Resting: true}
			u.log.Info("server stopped", "why", err)
			return
		}
		wait := u.pauseAfter(err, up)
		down.RetryAt = now.Add(wait)
		if u.backoff.open() {
			down.Reason += fmt.Sprintf("; it failed %d times in a row, so callgate waits %v before it tries again", u.backoff.failures, wait)
		}
		u.down = down
		u.status = Status{State: Down, Broken: u.backoff.open(), Reason: down.Explain(), RetryAt: down.RetryAt}
		u.log.Warn("server is down", "reason", down.Reason, "retryAt", down.RetryAt)
		if u.cfg.URL != "" && !isAuth(err) { // its offers and announcements are missed until it is back
			u.revival = time.AfterFunc(wait, u.revive)
		}
		switch {
		case u.waiting:
		case isAuth(err) && u.cfg.terms.Login != nil:
			u.waiting = true
			u.wg.Go(func() { u.await(u.cfg.terms.Login.Await) })
		case errors.Is(err, errRefused):
			u.waiting = true
			u.wg.Go(func() { u.await(u.cfg.terms.Checked) })
		}
	})
	return down
}

// pauseAfter returns how long to leave the server alone. The caller holds mu.
func (u *Upstream) pauseAfter(err error, up time.Duration) time.Duration {
	if up >= steady {
		u.backoff.failures = 0
	}
	switch {
	case isAuth(err):
		return authBackoff
	case errors.Is(err, remote.ErrSessionLost) && u.backoff.failures == 0:
		u.backoff.failures = 1
		return 0
	}
	return u.backoff.next()
}

func isAuth(err error) bool {
	_, ok := errors.AsType[*remote.AuthError](err)
	return ok
}

// errRefused is the error for a server that Terms.Check does not let start.
var errRefused = errors.New("not started")

// await starts the server again once the reason why it is down may be gone: there is a new credential, or a person has
// accepted the server.
func (u *Upstream) await(changed func(context.Context) error) {
	err := changed(u.ctx)
	u.mu.Lock()
	u.waiting = false
	u.mu.Unlock()
	if err == nil {
		u.revive()
	}
}

// revive starts a server that is down, unless an attempt is running.
func (u *Upstream) revive() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.status.State == Down && u.attempt == nil {
		u.begin()
	}
}

// change changes the state and reports the change.
func (u *Upstream) change(mutate func()) {
	u.order.Lock()
	defer u.order.Unlock()
	u.mu.Lock()
	before := u.status.State
	mutate()
	after := u.status.State
	u.mu.Unlock()
	if after != before && u.events.StateChanged != nil {
		u.events.StateChanged(u, after)
	}
}

// Close ends the server and everything it started, and returns when no goroutine of the upstream is running: after a
// few seconds at worst. Waiting requests fail.
func (u *Upstream) Close() {
	u.change(func() {
		if u.status.State != Closed {
			u.status = Status{State: Closed, Reason: "closed"}
		}
		if u.revival != nil {
			u.revival.Stop()
		}
	})
	u.cancel()
	u.wg.Wait()
	if u.refusals != nil {
		u.refusals.Close()
	}
}

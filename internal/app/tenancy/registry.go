// Package tenancy runs the tenants of callgate serve. Each has one worker, which is opened at its first request and
// closed when nobody uses it. The package leads each host and each approver to the tenant that their credential names.
package tenancy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"callgate/gate"
	"callgate/internal/budget"
	"callgate/internal/companion"
	"callgate/internal/config"
	"callgate/internal/durable"
	"callgate/internal/endpoint"
	"callgate/internal/tenants"
	"callgate/proxy"
)

// Worker is the running worker of one tenant. Everything but People and Metrics is required.
type Worker struct {
	Gate    *gate.Gate
	Proxy   *proxy.Proxy
	Budget  *budget.Budget
	People  *companion.Server   // nil if no approver can connect
	Metrics prometheus.Gatherer // nil if nothing is counted
	Prepare func(ctx context.Context, next *config.Config, servers bool) (apply func(), err error)
	Close   func()
}

// Options configures a Registry. Everything but Front is required.
type Options struct {
	Config  *config.Config
	Start   func(c *config.Config, bytes int64) (*Worker, error) // opens a tenant's worker as serve opens its own
	Front   *companion.Server                                    // where operators see all tenants; nil without a companion
	Record  func(summary string) error                           // records a refusal
	Version string                                               // of callgate
	Logger  *slog.Logger
}

// Registry holds all tenants. The caller MUST close it.
type Registry struct {
	o      Options
	now    atomic.Pointer[config.Config] // as it was last read
	turns  *tenants.Turns
	pool   tenants.Pool[*tenant]
	begins sync.Mutex // held while a new tenant gets its folder

	refusals   rate.Sometimes
	unrecorded atomic.Int64 // refusals since the last recorded one

	tokens index

	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	working sync.WaitGroup
}

// tenant is an open tenant.
type tenant struct {
	*Worker
	room  *endpoint.Room
	leave func() // hides it from the operators
}

var (
	_ endpoint.Rooms    = (*Registry)(nil)
	_ companion.Tenants = (*Registry)(nil)
)

// Open opens the registry, but no tenant yet.
func Open(o Options) *Registry {
	h := &Registry{o: o, turns: tenants.NewTurns(0), refusals: rate.Sometimes{First: 20, Interval: time.Second}}
	h.now.Store(o.Config)
	h.tokens.dataDir = o.Config.DataDir
	h.pool = tenants.Pool[*tenant]{Open: h.open, Busy: busy, Close: (*tenant).close, Idle: o.Config.Tenants.Idle}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.working.Go(func() { h.pool.Sweep(h.ctx) })
	return h
}

// Close closes all tenants.
func (h *Registry) Close() error {
	h.stop()
	h.working.Wait()
	h.pool.End()
	return nil
}

// Enter implements endpoint.Rooms.
func (h *Registry) Enter(r *http.Request, who endpoint.Guest, path string) (*endpoint.Room, func(), error) {
	c := h.now.Load()
	name, err := c.Tenants.Choose(who.Tenants, path, c.Auth == "none")
	if err == nil {
		var one *tenant
		var leave func()
		if one, leave, err = h.pool.Hold(r.Context(), name); err == nil {
			return one.room, leave, nil
		}
	}
	if refused, ok := errors.AsType[*tenants.Refused](err); ok {
		h.record(who, refused)
	}
	return nil, nil, err
}

// record records a client that no tenant lets in. Of a flood it records the first ones and then one a second, with the
// number of those in between.
func (h *Registry) record(who endpoint.Guest, refused *tenants.Refused) {
	h.unrecorded.Add(1)
	h.refusals.Do(func() {
		n := h.unrecorded.Swap(0)
		summary := fmt.Sprintf("The client %.200q was not let in to a tenant: %s.", who.Principal, refused.Text)
		if n > 1 {
			summary += fmt.Sprintf(" %d more since the last record.", n-1)
		}
		if err := h.o.Record(summary); err != nil {
			h.o.Logger.Error("a refusal could not be recorded", "error", err)
		}
	})
}

// Knows implements endpoint.Rooms.
func (h *Registry) Knows(name string) bool {
	_, err := h.now.Load().Tenants.Choose([]string{name}, "", false)
	return err == nil
}

// Expel implements endpoint.Rooms.
func (h *Registry) Expel(known func(tenant, who string) bool) (end func()) {
	names, open := h.pool.All()
	ends := make([]func(), len(open))
	for i, one := range open {
		ends[i] = one.Proxy.Expel(func(who string) bool { return h.Knows(names[i]) && known(names[i], who) })
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// Farewell implements endpoint.Rooms.
func (h *Registry) Farewell() {
	_, open := h.pool.All()
	for _, one := range open {
		one.Proxy.Farewell()
	}
}

// Leave tells the gates that hosts will find callgate at its address again.
func (h *Registry) Leave() {
	_, open := h.pool.All()
	for _, one := range open {
		one.Gate.Leave()
	}
}

// busy reports whether a tenant stays open although no request runs.
func busy(t *tenant) bool {
	return t.room.Share.Quota.Sessions() > 0 || len(t.Gate.Sessions()) > 0 || len(t.Gate.Pending()) > 0
}

func (t *tenant) close() {
	t.leave()
	t.Close()
}

// existing lists the tenants that have a folder.
func (h *Registry) existing() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(tenants.Dir(h.o.Config.DataDir, "x")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if tenants.CheckName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// begin makes the folder of a tenant if the tenant may begin. From then on the tenant exists.
func (h *Registry) begin(c *config.Config, name string) error {
	h.begins.Lock()
	defer h.begins.Unlock()
	have, err := h.existing()
	if err != nil {
		return err
	}
	if err := c.Tenants.MayBegin(name, have); err != nil {
		return err
	}
	return os.MkdirAll(tenants.Dir(h.o.Config.DataDir, name), 0o700)
}

// open opens one tenant.
func (h *Registry) open(name string) (*tenant, error) {
	now := h.now.Load()
	if err := h.begin(now, name); err != nil {
		return nil, err
	}
	c, err := now.ForTenant(name)
	if err != nil {
		return nil, err
	}
	own := c.Tenants.Of(name)
	if err := firstRules(c.Files().Permissions(), own.Rules); err != nil {
		return nil, fmt.Errorf("tenant %s: rules: %w", name, err)
	}
	w, err := h.o.Start(c, own.Limits.Bytes)
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", name, err)
	}
	one := &tenant{w, &endpoint.Room{Tenant: name, Proxy: w.Proxy, Budget: w.Budget, Share: tenants.NewShare(own, h.turns)}, func() {}}
	if h.o.Front != nil && w.People != nil {
		one.leave = introduce(h.o.Front, w.People, name, h.o.Version)
	}
	h.o.Logger.Info("a tenant is open", "tenant", name)
	return one, nil
}

// firstRules writes the rules of a tenant that has none yet: those in the file from, unless that is "".
func firstRules(path, from string) error {
	if from == "" {
		return nil
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := os.ReadFile(config.ExpandHome(from))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Replace(path, text, 0o600)
}

// Prepare makes and checks all that the next configuration needs in each open tenant, before anything changes.
func (h *Registry) Prepare(ctx context.Context, next *config.Config, servers bool) (apply func(), err error) {
	if !next.Tenants.On() {
		return nil, errors.New("tenants: to turn tenants off, restart callgate")
	}
	applies := map[*tenant]func(){}
	names, open, leave := h.pool.HoldAll()
	defer leave()
	for i, one := range open {
		if applies[one], err = one.prepare(ctx, next, names[i], servers); err != nil {
			return nil, err
		}
	}
	return func() {
		h.now.Store(next) // tenants that begin to open from now on use it
		h.pool.Retire(h.Knows)
		names, open, leave := h.pool.HoldAll()
		defer leave()
		for i, one := range open {
			apply := applies[one]
			if apply == nil { // it was opened meanwhile
				if apply, err = one.prepare(ctx, next, names[i], servers); err != nil {
					h.o.Logger.Error("a tenant that was opened meanwhile keeps the earlier configuration until it is closed", "error", err)
					continue
				}
			}
			apply()
		}
	}, nil
}

// prepare does what Prepare does, for one tenant.
func (t *tenant) prepare(ctx context.Context, next *config.Config, name string, servers bool) (apply func(), err error) {
	c, err := next.ForTenant(name)
	if err != nil {
		return nil, err
	}
	each, err := t.Prepare(ctx, c, servers)
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", name, err)
	}
	limits := c.Tenants.Of(name).Limits
	return func() { t.room.Share.Quota.Set(limits); each() }, nil
}

// Gather implements prometheus.Gatherer. It returns the metrics of each open tenant, told apart by the label worker.
func (h *Registry) Gather() ([]*dto.MetricFamily, error) {
	var all prometheus.Gatherers
	_, open := h.pool.All()
	for _, one := range open {
		if one.Metrics != nil {
			all = append(all, one.Metrics)
		}
	}
	return all.Gather()
}

// Package app assembles a running callgate from the configuration: the gate, its records, the proxy and the companion.
// The subcommands start it, and MUST close it.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adrg/xdg"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app/anchor"
	"callgate/internal/app/backend"
	"callgate/internal/app/checkpoints"
	"callgate/internal/app/own"
	"callgate/internal/app/reload"
	"callgate/internal/budget"
	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
	"callgate/internal/guard"
	"callgate/internal/hooks"
	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
	"callgate/internal/metrics"
	"callgate/internal/presence"
	"callgate/internal/retrieval"
	"callgate/internal/rpc"
	"callgate/internal/rulebook"
	"callgate/permissions/store"
	"callgate/proxy"
)

// Sidecar is a running callgate: the gate, its records, the side server for people, and the proxy.
type Sidecar struct {
	config    *config.Config
	onlooker  bool     // it serves no host, and has no proxy
	front     *Sidecar // the front, if this sidecar serves one of its tenants; otherwise nil
	tenants   tenants
	log       *slog.Logger
	Gate      *gate.Gate
	rules     *store.Store
	people    *backend.Backend // what the companion shows; set once all else is open
	Proxy     *proxy.Proxy
	pins      *tools.Pins // nil if a process without a proxy cannot read them
	companion sideServer
	metrics   *metrics.Metrics         // nil if nothing is counted
	keeps     *checkpoints.Checkpoints // nil if checkpoints are off
	own       own.Server               // what callgate itself offers to models; complete before the proxy is made
	retrieval *retrieval.Service       // nil unless rag.enabled
	budget    *budget.Budget           // for messages in flight
	replica   *replica                 // nil without a cluster
	problems  problems
	level     slog.LevelVar                 // of the log
	current   atomic.Pointer[config.Config] // as it was last read; settings that need a restart come from config
	reloads   reload.Counts
	start     reload.State // of config, read before anything that may take long
	unread    error        // why start is not known
	exports   exports
	stop      <-chan struct{}      // closed when somebody stops callgate
	join      func(*Sidecar) error // makes this a replica; nil without a cluster
	closers   []func() error       // in the order of opening
}

// Start opens everything. When ctx ends, callgate is being stopped. The caller MUST close the sidecar.
func Start(ctx context.Context, c *config.Config, servers []proxy.Server) (*Sidecar, error) {
	return start(ctx, c, servers, nil)
}

// start does what Start does. join, which may be nil, runs before anything is judged.
func start(ctx context.Context, c *config.Config, servers []proxy.Server, join func(*Sidecar) error) (*Sidecar, error) {
	return (&Sidecar{config: c, budget: c.Limits.Budget(), stop: ctx.Done(), join: join}).open(servers)
}

// open opens everything. The front of tenants has no servers, and is an onlooker.
func (s *Sidecar) open(servers []proxy.Server) (*Sidecar, error) {
	err := s.openFiles()
	if err == nil && !s.onlooker {
		err = s.openProxy(servers)
	}
	if err == nil {
		err = s.openCompanion()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.replica.watch(s.Gate)
	s.replica.meet(s.companion.Load())
	var looking sync.WaitGroup
	looking.Go(func() { s.problems.look(s.config.DataDir, s.keeps) })
	s.closers = append(s.closers, func() error { looking.Wait(); return nil })
	return s, nil
}

// runBackground runs background work until ctx ends or stop is called. stop waits for the work to end.
func runBackground(ctx context.Context, all ...func(context.Context)) (stop func() error) {
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, f := range all {
		running.Go(func() { f(ctx) })
	}
	return func() error { end(); running.Wait(); return nil }
}

// StartHub opens what people need, and nothing for hosts. The caller MUST close the sidecar.
func StartHub(c *config.Config) (*Sidecar, error) {
	s := &Sidecar{config: c, onlooker: true}
	err := s.openFiles()
	if err == nil {
		err = s.openCompanion()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openFiles opens the files on the disk, and the gate that uses them.
func (s *Sidecar) openFiles() error {
	c := s.config
	s.start, s.unread = reload.StateOf(c)
	if err := s.openLog(); err != nil {
		return err
	}
	s.problems.log = s.log
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("dataDir: %w", err)
	}
	if err := guard.Harden(); err != nil && s.front == nil {
		s.log.Warn("other processes of this user can look into callgate", "error", err)
	}
	if err := c.HookRunner.Start(s.log); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { c.HookRunner.Close(); return nil }) // runs after the gate is closed, which ends the sessions
	if err := hooks.Expire(c.Files().WebhookQueues(), c.HookRunner, s.log); err != nil {
		s.log.Error("events for webhooks that are no longer configured could not be read", "error", err)
	}
	if s.join != nil {
		if err := s.join(s); err != nil {
			return err
		}
	}
	trail, err := s.openAudit()
	if err != nil {
		return err
	}
	if err := s.openGate(trail); err != nil {
		return err
	}
	var stop func() error
	s.exports, stop = startExports(c, &s.problems, s.log)
	s.closers = append(s.closers, stop)
	s.startMetrics(trail)
	return nil
}

// openGate opens the gate, and what follows its decisions.
func (s *Sidecar) openGate(trail *audit.Log) error {
	c := s.config
	agents, err := c.Agents()
	if err != nil {
		return err
	}
	var unkept func(gate.Call, *tools.Analysis) string
	if s.keeps, unkept, err = s.openCheckpoints(); err != nil {
		return err
	}
	s.rules = store.Open(c.Files().Permissions(), store.Options{Home: xdg.Home, Logger: s.log, Shared: s.replica.document(documentRules)})
	s.companion.presence = presence.Open(c.DataDir, c.Presence, s.companion.page)
	o := gate.Options{
		Presence: s.companion.presence, Credentials: namedSecrets(c.Secrets.Keyring, c.Secrets.Files, s.log),
		Worker: c.Worker, Audit: trail, Logger: s.log, Store: s.rules,
		Mode: c.GateMode, Autonomy: c.AutonomyLevel, AskEscalations: c.AsksEscalations, Timeout: c.Timeout, MaxPending: c.MaxPending, MaxPendingAll: c.MaxPendingAll, Agents: agents,
		Advisors: c.PolicyEngines,
		History:  func(ctx context.Context) []string { return history(ctx, c) }, Answered: func(ctx context.Context, since time.Time) []gate.Answered { return answered(ctx, c, since) }, ClaimWithin: c.ClaimWithin, Dir: s.approvals(),
		Standing: s.replica.document(documentSessions), Current: s.replica.fresh(), Freezer: s.freezer(), Limits: c.GateLimits, InMemory: c.InMemory, Terminal: c.TerminalList, Undo: s.keeps.UndoOrNil(), Unkept: unkept, Stop: s.stop, Off: c.GateOff, NoFlow: c.NoFlow,
	}
	if s.replica != nil {
		o.Ledger, o.Tallies = s.replica.cluster.Approvals(), s.replica.cluster.Budgets()
	}
	s.Gate = gate.New(o)
	s.closers = append(s.closers, func() error { s.Gate.Close(); return nil })
	if c.GateOff {
		s.log.Warn("THE GATE IS OFF: every tool call runs, whatever the rules say")
	}
	c.HookRunner.Watch(s.Gate)
	return nil
}

// approvals returns the folder where decisions wait for their hosts. It is "" without hosts, because decisions belong
// to the processes that serve hosts.
func (s *Sidecar) approvals() string {
	if s.onlooker {
		return ""
	}
	return filepath.Join(s.config.DataDir, "approvals")
}

// openProxy opens the proxy between the host and the servers, including callgate's own server.
func (s *Sidecar) openProxy(servers []proxy.Server) error {
	c := s.config
	if len(servers) == 0 && !c.RAG.Enabled {
		s.log.Warn("there are no servers: hosts see no tools until you add some under \"servers\"")
	}
	var err error
	if s.pins, err = tools.OpenPins(c.Files().Pins()); err != nil {
		return err
	}
	s.replica.sharePins(s.pins)
	s.replica.shareLogins(servers)
	checks, err := s.openVerification()
	if err != nil {
		return err
	}
	workspaces, err := s.openRetrieval()
	if err != nil {
		return err
	}
	config.Bound(servers, c.Limits.MaxResultBytes)
	for _, server := range servers {
		if config.Unpinned(server) {
			s.log.Warn("the server's package has no version: tomorrow the same command may run another program", "server", server.Tools.Name, "package", server.Tools.Packages)
		}
	}
	s.own.Version, s.own.Here = Version, c.Try // a doctor's calls may come before its host names its folders
	shown := exposed(c)
	if shown != nil {
		find := func(ctx context.Context, sessionID, query string, limit int) (proxy.Found, error) {
			return s.Proxy.FindTools(ctx, sessionID, query, limit)
		}
		s.own.Tools = append(s.own.Tools, own.FindTools(find), own.CallTool)
	}
	if s.keeps != nil && c.Checkpoints.Tool {
		s.own.Tools = append(s.own.Tools, own.RollbackTool(s.Gate, s.keeps.Store))
	}
	if c.Try {
		s.own.Tools = append(s.own.Tools, tryTool)
	}
	names, err := c.ServerNames()
	if err != nil {
		return err
	}
	if s.front == nil { // a store for each tenant would cost more than it saves
		s.replica.shareLists(c.Files().Cache())
	}
	s.Proxy, err = proxy.New(proxy.Options{
		Gate: s.Gate, Servers: append(servers, s.own.Configured()...), Reserved: names, Pins: s.pins, Agent: c.Agent, Version: Version, CacheDir: c.Files().Cache(), Logger: s.log,
		HandOver: c.HandOver, Hosts: c.HostLimits, HostApproves: c.Approvers.Host, Page: s.companion.page, IdleTimeout: c.IdleTimeout, Secret: c.Files().SealingSecret(), MaxSessions: c.MaxSessions, Place: s.replica.place(),
		Expose: shown, Workspaces: workspaces, Hooks: c.HookRunner, Traces: c.Traces, Checkpoints: s.keeps, Verification: checks, Budget: s.budget,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.Proxy.Close)
	return nil
}

// exposed returns what the proxy shows hosts, or nil to show every tool.
func exposed(c *config.Config) *proxy.Expose {
	if c.Tools.Expose != config.ExposeSearch {
		return nil
	}
	return &proxy.Expose{Pinned: c.Tools.PinnedGlobs}
}

// openAudit opens the trail, and the place where its heads are kept.
func (s *Sidecar) openAudit() (*audit.Log, error) {
	options := audit.Options{Trouble: s.problems.of("the audit log's room", "the audit log cannot be written, so no call runs until there is room: ")}
	kept, err := anchor.Open(s.config.AuditAnchor, audit.Dir(s.config.DataDir), s.log)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		options.Anchor = kept.Keep
		s.closers = append(s.closers, kept.Close)
	}
	log, err := audit.Open(audit.Dir(s.config.DataDir), options)
	if err != nil {
		return nil, fmt.Errorf("the audit trail cannot be opened, so nothing can run: %w", err)
	}
	s.closers = append(s.closers, log.Close)
	return log, nil
}

// openCompanion starts the side server unless it is off, and protects what belongs to callgate.
func (s *Sidecar) openCompanion() error {
	if s.Proxy == nil {
		var err error
		if s.pins, err = tools.OpenPins(s.config.Files().Pins()); err != nil {
			s.problems.set("the tools", err.Error())
		}
	}
	s.people = &backend.Backend{
		Config: s.config, Log: s.log, Gate: s.Gate, Proxy: s.Proxy, Store: s.rules, Retrieval: s.retrieval, Pins: s.pins,
		Checker: func() (*rulebook.Checker, error) { return NewChecker(s.current.Load(), s.rules) },
	}
	s.closers = append(s.closers, func() error { s.people.Close(); return nil })
	if s.config.Listen != "off" {
		held, err := credentials.Open(s.config.DataDir)
		if err != nil {
			return err
		}
		remote, err := s.config.RemoteDoor()
		if err != nil {
			return err
		}
		var kept *checkpoint.Store
		if s.keeps != nil {
			kept = s.keeps.Store
		}
		options := companion.Options{
			Replica: s.replica.name(), Replicas: s.replica.replicaList(), DataDir: s.config.DataDir, Address: s.config.Listen, Remote: remote, Version: Version, Protocols: proxy.SupportedVersions(),
			Backend: s.people.Parts(kept, nil), Tenants: s.tenants.companionTenants,
			Presence: s.companion.presence, Identity: s.config.Approvers.OIDC.Provider(s.config.Tenants.SignInClaim()), Problems: s.troubles, Ready: s.replica.fresh(), Credentials: held, Logger: s.log,
		}
		if s.front == nil { // the hosts of this machine belong to no tenant
			options.Backend = s.people.Parts(kept, hostsHere(s.config.DataDir))
			options.HostHooks = hosthooks.Posted(door.Order{DataDir: s.config.DataDir, Worker: "default"}, func() (string, error) { return held.Token(credentials.Hook) })
		}
		if !s.onlooker {
			options.Worker = s.config.Worker
		}
		switch {
		case s.metrics == nil:
		case s.front == nil && s.config.Tenants.On():
			options.Metrics = s.metrics.With(s.tenants.gather)
		case !s.onlooker:
			options.Metrics = s.metrics
		}
		people, err := companion.Listen(options)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, people.Close)
		if err := s.companion.opened(people); err != nil {
			return err
		}
		if !people.Leads() { // the hub has already logged its address
			s.log.Info("companion is listening", "address", "http://"+people.Address())
		}
	}
	protected, err := s.companion.protected(s.config)
	if err == nil {
		s.Gate.Protect(protected)
	}
	return err
}

// troubles lists the faults in callgate's files, and the reasons why people cannot answer.
func (s *Sidecar) troubles() []string {
	all := s.problems.list()
	if why := s.companion.presence.Problem(); why != "" {
		all = append(all, why)
	}
	for _, fault := range credentials.At(s.config.DataDir).Faults() {
		all = append(all, fault.Err.Error())
	}
	for name, err := range s.current.Load().TokenFaults() {
		all = append(all, fmt.Sprintf("mcpTokens: %s cannot connect: %v", name, err))
	}
	return all
}

// Relay serves the host on standard input and output until it ends.
func (s *Sidecar) Relay(ctx context.Context, v proxy.View) error {
	tuneForStdio(s.retrieval != nil)
	s.closers = append(s.closers, runBackground(ctx, returnMemory))
	in, out := rpc.Stdio()
	return s.Proxy.Run(ctx, v, in, out)
}

// Close ends everything in the reverse order of opening and logs what fails.
func (s *Sidecar) Close() {
	for _, closer := range slices.Backward(s.closers) {
		if err := closer(); err != nil && s.log != nil {
			s.log.Error("shutdown", "error", err)
		}
	}
}

// freezer returns what is frozen here. A freeze at the front also holds for its tenants.
func (s *Sidecar) freezer() *gate.Freezer {
	f := OpenFreezer(s.config.DataDir).Share(s.replica.document(documentFreeze))
	if s.front != nil {
		f.Below(s.front.freezer())
	}
	return f
}

// OpenFreezer opens the file of freezes in a data directory.
func OpenFreezer(dataDir string) *gate.Freezer {
	return gate.OpenFreezer(filepath.Join(dataDir, "freeze.json"))
}

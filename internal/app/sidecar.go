// Package app assembles a running callgate from the configuration: the gate, its records, the proxy and the companion. The
// subcommands start it, and MUST close it.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
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
	"callgate/internal/app/reload"
	"callgate/internal/app/tenancy"
	"callgate/internal/budget"
	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
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
	"callgate/permissions"
	"callgate/proxy"
)

// Sidecar is a running callgate: the gate, its records, the side server for people, and the proxy.
type Sidecar struct {
	config    *config.Config
	onlooker  bool                          // it serves no host, and has no proxy
	front     *Sidecar                      // serves the tenant that this is; nil when this is none
	house     atomic.Pointer[tenancy.House] // of the tenants that this serves; nil for none
	log       *slog.Logger
	Gate      *gate.Gate
	rules     *permissions.Store
	people    *backend.Backend // what the companion shows; set when all else is open
	presence  *presence.Desk
	Proxy     *proxy.Proxy
	companion atomic.Pointer[companion.Server]
	ports     []string           // of the companion
	metrics   *metrics.Metrics   // nil when nothing is counted
	keeps     *proxy.Checkpoints // nil when checkpoints are off
	own       []ownTool          // what callgate itself offers to models; complete before the proxy is made
	retrieval *retrieval.Service // nil unless rag.enabled
	prompts   ownPrompts         // nil for none
	budget    *budget.Budget     // of messages in flight
	replica   *replica           // nil when this callgate is by itself
	problems  problems
	level     slog.LevelVar                 // of the log
	current   atomic.Pointer[config.Config] // as it was read last; what needs a restart goes by config
	reloads   reload.Counts
	exports   exports
	join      func(*Sidecar) error // makes this a replica; nil when it is none
	closers   []func() error       // in the order of opening
}

// Start opens everything. The caller MUST close the sidecar.
func Start(c *config.Config, servers []proxy.Server) (*Sidecar, error) { return start(c, servers, nil) }

// start is Start; join, which may be nil, comes before anything is judged.
func start(c *config.Config, servers []proxy.Server, join func(*Sidecar) error) (*Sidecar, error) {
	return (&Sidecar{config: c, budget: c.Limits.Budget(), join: join}).open(servers)
}

// open opens everything. Who serves tenants has no servers, and is an onlooker.
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
	looking.Go(s.look)
	s.closers = append(s.closers, func() error { looking.Wait(); return nil })
	return s, nil
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
	if err := s.openLog(); err != nil {
		return err
	}
	s.problems.log = s.log
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("dataDir: %w: choose another folder with --data-dir", err)
	}
	if err := guard.Harden(); err != nil && s.front == nil {
		s.log.Warn("other processes of this user can look into callgate", "error", err)
	}
	if err := c.HookRunner.Start(s.log); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { c.HookRunner.Close(); return nil }) // after the gate: sessions end before
	if err := hooks.Expire(c.Files().WebhookQueues(), c.HookRunner, s.log); err != nil {
		s.log.Error("what waits for webhooks that are not configured any more could not be looked at", "error", err)
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
	s.rules = permissions.OpenStore(c.Files().Permissions(), permissions.StoreOptions{Home: xdg.Home, Logger: s.log, Shared: s.replica.document(documentRules)})
	s.presence = presence.Open(c.DataDir, c.Presence, s.page)
	s.Gate = gate.New(gate.Options{
		Presence: s.presence, Credentials: namedSecrets(c.Secrets.Keyring, c.Secrets.Files, s.log),
		Worker: c.Worker, Audit: trail, Logger: s.log, Store: s.rules,
		Mode: c.GateMode, Autonomy: c.AutonomyLevel, AskEscalations: c.AsksEscalations, Timeout: c.Timeout, MaxPending: c.MaxPending, MaxPendingAll: c.MaxPendingAll, Agents: agents,
		Advisors: c.PolicyEngines,
		History:  func(ctx context.Context) []string { return history(ctx, c) }, Answered: func(ctx context.Context, since time.Time) []gate.Answered { return answered(ctx, c, since) }, ClaimWithin: c.ClaimWithin, Dir: s.approvals(),
		Ledger: s.replica.ledger(), Tallies: s.replica.tallies(), Standing: s.replica.document(documentSessions), Current: s.replica.fresh(), Freezer: s.freezer(), Limits: c.GateLimits, InMemory: c.InMemory, Terminal: c.TerminalList, Undo: s.keeps.UndoOrNil(), Unkept: unkept, Off: c.GateOff, NoFlow: c.NoFlow,
	})
	s.closers = append(s.closers, func() error { s.Gate.Close(); return nil })
	if c.GateOff {
		s.log.Warn("THE GATE IS OFF: every tool call runs, whatever the rules say")
	}
	c.HookRunner.Watch(s.Gate)
	return nil
}

// approvals is where decisions wait for their hosts. It is "" for a hub without hosts, because decisions belong to the
// processes of hosts.
func (s *Sidecar) approvals() string {
	if s.onlooker {
		return ""
	}
	return filepath.Join(s.config.DataDir, "approvals")
}

// openProxy opens what stands between the host and the servers, callgate's own among them.
func (s *Sidecar) openProxy(servers []proxy.Server) error {
	c := s.config
	pins, err := tools.OpenPins(c.Files().Pins())
	if err != nil {
		return err
	}
	s.replica.sharePins(pins)
	tracer, err := s.openTracer()
	if err != nil {
		return err
	}
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
		if config.Unpinned(server.Upstream) {
			s.log.Warn("the server's package has no version: tomorrow the same command may run another program", "server", server.Tools.Name, "package", server.Tools.Packages)
		}
	}
	s.own = append(append(s.own, s.exposeTools()...), s.rollbackTool()...)
	if c.Try {
		s.own = append(s.own, tryTool)
	}
	names, err := c.ServerNames()
	if err != nil {
		return err
	}
	s.Proxy, err = proxy.New(proxy.Options{
		Gate: s.Gate, Servers: append(servers, s.ownServer()...), Reserved: names, Pins: pins, Agent: c.Agent, Version: Version, CacheDir: c.Files().Cache(), Logger: s.log,
		HandOver: c.HandOver, Hosts: c.HostLimits, HostApproves: c.Approvers.Host, Page: s.page, IdleTimeout: c.IdleTimeout, Secret: c.Files().SealingSecret(), MaxSessions: c.MaxSessions, Place: s.replica.place(),
		Expose: exposed(c), Workspaces: workspaces, Hooks: c.HookRunner, Tracer: tracer, Checkpoints: s.keeps, Verification: checks, Budget: s.budget,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { s.Proxy.Close(); return nil })
	return nil
}

// openAudit opens the trail, and the place where its heads are kept.
func (s *Sidecar) openAudit() (*audit.Log, error) {
	options := audit.Options{Trouble: func(err error) {
		if err == nil {
			s.problems.set("the audit log's room")
		} else {
			s.problems.set("the audit log's room", "the audit log cannot be written, so no call runs until there is room: "+err.Error())
		}
	}}
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

// openCompanion starts the side server, unless it is off, and protects what belongs to callgate.
func (s *Sidecar) openCompanion() error {
	s.people = &backend.Backend{
		Config: s.config, Log: s.log, Gate: s.Gate, Proxy: s.Proxy, Store: s.rules, Retrieval: s.retrieval,
		Checker: func() (*rulebook.Checker, error) { return NewChecker(s.current.Load()) },
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
			Replica: s.replica.name(), Replicas: s.replica.forPeople(), DataDir: s.config.DataDir, Address: s.config.Listen, Remote: remote, Version: Version, Protocols: proxy.SupportedVersions(),
			Backend: s.people.Parts(kept, nil), Tenants: s.tenantsOfPeople,
			Presence: s.presence, Identity: s.config.Approvers.OIDC.Provider(s.config.Tenants.SignInClaim()), Problems: s.troubles, Credentials: held, Logger: s.log,
		}
		if s.front == nil { // the hosts of this machine are nobody's tenants
			options.Backend = s.people.Parts(kept, hostsHere(s.config.DataDir))
			options.HostHooks = hosthooks.Posted(door.Order{DataDir: s.config.DataDir, Worker: "default"}, func() (string, error) { return held.Token(credentials.Hook) })
		}
		if !s.onlooker {
			options.Worker = s.config.Worker
		}
		switch {
		case s.metrics == nil:
		case s.front == nil && s.config.Tenants.On():
			options.Metrics = s.metrics.With(s.gatherTenants)
		case !s.onlooker:
			options.Metrics = s.metrics
		}
		people, err := companion.Listen(options)
		if err != nil {
			return err
		}
		s.companion.Store(people)
		s.closers = append(s.closers, people.Close)
		_, port, err := net.SplitHostPort(people.Address())
		if err != nil {
			return err
		}
		s.ports = []string{port}
		s.log.Info("companion is listening", "address", "http://"+people.Address())
	}
	protected, err := s.protected(s.config)
	if err == nil {
		s.Gate.Protect(protected)
	}
	return err
}

// protected is what no call may touch with a configuration.
func (s *Sidecar) protected(c *config.Config) (*gate.Protected, error) {
	protected, err := gate.NewProtected(c.OwnFiles(), xdg.Home, s.ports)
	if err != nil {
		return nil, err
	}
	return protected.WithNames(hub.SocketName).WithPorts(c.OwnPorts()), nil
}

// page is the address of the page for approvers, "" while there is none.
func (s *Sidecar) page() string {
	people := s.companion.Load()
	if people == nil {
		return ""
	}
	address := people.Address()
	if _, port, err := net.SplitHostPort(address); err == nil && s.presence.On() {
		address = net.JoinHostPort("localhost", port) // browsers use no passkeys on addresses
	}
	return "http://" + address + "/"
}

// troubles are faults in callgate's files, and reasons why nobody can answer.
func (s *Sidecar) troubles() []string {
	all := s.problems.list()
	if why := s.presence.Problem(); why != "" {
		all = append(all, why)
	}
	return all
}

// How far back the audit trail is read, in records: for commands of this worker, and for what people answered. The first
// question waits for it, unless Gate.Recall came before.
const (
	rememberedDecisions = 500
	rememberedAnswers   = 5000
)

// history returns the shell commands that the worker's audit trail remembers, the newest first.
func history(ctx context.Context, c *config.Config) (commands []string) {
	for r, err := range audit.Read(audit.Dir(c.DataDir), audit.Filter{Limit: rememberedDecisions}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil || r.Worker != c.Worker || r.Event != audit.Decision {
			continue // a damaged line is the business of audit verify
		}
		for _, s := range r.Subjects {
			if s.Kind == tools.KindShell && s.Value != "" {
				commands = append(commands, s.Value)
			}
		}
	}
	return commands
}

// answered returns what people answered since then, as far as the newest records tell, the oldest first.
func answered(ctx context.Context, c *config.Config, since time.Time) (list []gate.Answered) {
	marked := map[string]bool{}
	for r, err := range audit.Read(audit.Dir(c.DataDir), audit.Filter{Since: since, Limit: rememberedAnswers}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil || r.Worker != c.Worker {
			continue // a damaged line is the business of audit verify
		}
		if r.Event == audit.Asked && r.By == "mark" {
			marked[r.CallID] = true
		}
		if r.Event != audit.Decision || !gate.ByPerson(r.Decision, r.By) {
			continue
		}
		from := len(list)
		for _, s := range r.Subjects {
			if risk, err := permissions.ParseRisk(s.Risk); err == nil && s.Action == permissions.Ask.String() {
				list = append(list, gate.Answered{
					CallID: r.CallID, At: r.Time, Project: r.Project, Server: r.Server, Tool: s.Tool, Kind: s.Kind, Value: s.Value, Risk: risk,
					Rejected: r.Decision == gate.DecidedRejected,
				})
			}
		}
		for i := from; i < len(list); i++ {
			list[i].Several = len(list)-from > 1
		}
	}
	list = slices.DeleteFunc(list, func(a gate.Answered) bool { return marked[a.CallID] })
	slices.SortStableFunc(list, func(a, b gate.Answered) int { return a.At.Compare(b.At) })
	return list
}

// Relay serves the host on standard input and output until it ends.
func (s *Sidecar) Relay(ctx context.Context, v proxy.View) error {
	tuneForStdio(s.retrieval != nil)
	resting, stop := context.WithCancel(ctx)
	var rests sync.WaitGroup
	rests.Go(func() { rest(resting) })
	defer rests.Wait()
	defer stop()
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

// openLog sends the log to standard error, because standard output belongs to MCP, and to the log file. From here on,
// neither of their readers can end or hold up the process.
func (s *Sidecar) openLog() error {
	if s.front != nil {
		s.current.Store(s.config)
		s.log = s.front.log.With("tenant", s.config.Worker)
		return nil
	}
	OutlivePipes()
	s.level.Set(s.config.Level)
	s.current.Store(s.config)
	stderr := newSpool(os.Stderr)
	s.closers = append(s.closers, stderr.close)
	out := everyWriter{stderr}
	if s.config.LogFile != "" {
		file, err := os.OpenFile(s.config.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("logFile: %w", err)
		}
		s.closers = append(s.closers, file.Close)
		out = append(out, file)
	}
	s.log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: &s.level}))
	return nil
}

// freezer is what is frozen here. What is frozen at the front is frozen for its tenants.
func (s *Sidecar) freezer() *gate.Freezer {
	f := OpenFreezer(s.config.DataDir).Share(s.replica.document(documentFreeze))
	if s.front != nil {
		f.Below(s.front.freezer())
	}
	return f
}

// OpenFreezer opens what is frozen in a data directory.
func OpenFreezer(dataDir string) *gate.Freezer {
	return gate.OpenFreezer(filepath.Join(dataDir, "freeze.json"))
}

package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/cluster"
	"callgate/internal/config"
	"callgate/internal/durable"
	"callgate/internal/metrics"
	"callgate/internal/periodic"
	"callgate/internal/signin"
	"callgate/internal/upstream"
	"callgate/permissions"
	"callgate/permissions/store"
	"callgate/proxy"
)

// StartReplica starts as Start does, but joins a cluster or serves tenants if that is configured. In a cluster, it
// returns once this replica has heard from the others.
func StartReplica(ctx context.Context, c *config.Config, servers []proxy.Server) (*Sidecar, error) {
	var join func(s *Sidecar) error
	if c.Cluster.On() {
		join = func(s *Sidecar) error { return s.joinCluster(ctx) }
	}
	if c.Tenants.On() {
		return startFront(ctx, c, join)
	}
	return start(ctx, c, servers, join)
}

// joinCluster opens this replica, and waits until it has heard from the cluster.
func (s *Sidecar) joinCluster(ctx context.Context) error {
	shared, err := s.openCluster()
	if err != nil {
		return err
	}
	s.closers = append(s.closers, shared.Close)
	s.replica = &replica{
		cluster: shared, config: s.config, log: s.log, problems: &s.problems,
		onClose: func(end func() error) { s.closers = append(s.closers, end) },
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := shared.Wait(waiting)
		cancel()
		if err == nil {
			err = s.replica.shareFirst(ctx)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("cluster: nothing was heard from the others: %w", err)
		case !errors.Is(err, cluster.ErrAway) && !errors.Is(err, cluster.ErrLost):
			return err
		}
		s.log.Warn("cluster: hosts are served once this is fixed", "error", err)
		periodic.Sleep(ctx, time.Second)
	}
}

// openCluster opens this replica. For a tenant, it opens the tenant's bucket over the front's connection.
func (s *Sidecar) openCluster() (*cluster.Cluster, error) {
	if s.front != nil {
		return s.front.replica.cluster.Worker(s.config.Worker, s.config.DataDir, s.log)
	}
	o, err := s.config.Cluster.Options(s.config.Files(), Version, s.log)
	if err != nil {
		return nil, err
	}
	return cluster.Open(o)
}

// shareFirst brings rules and credentials in line with the cluster's.
func (r *replica) shareFirst(ctx context.Context) error {
	if err := r.shareRules(ctx); err != nil {
		return fmt.Errorf("cluster: rules: %w", err)
	}
	if err := r.shareCredentials(ctx); err != nil {
		return fmt.Errorf("cluster: credentials: %w", err)
	}
	return nil
}

// replica is this callgate as a member of a cluster, which shares rules, approvals and sessions. It is nil without a
// cluster.
type replica struct {
	cluster  *cluster.Cluster
	config   *config.Config
	log      *slog.Logger
	problems *problems
	onClose  func(end func() error)

	gate   *gate.Gate      // set by watch
	logins *cluster.Logins // set by the first shareLogins
}

// watch starts to share what needs a gate, and watches it for changes.
func (r *replica) watch(g *gate.Gate) {
	if r == nil {
		return
	}
	r.gate = g
	r.cluster.Document(documentRules).Watch(r.rulesChanged)
	r.cluster.Approvals().Serve(r.gate)
	r.cluster.ShareTrail(audit.Dir(r.config.DataDir), r.exported,
		r.problems.of("the cluster's audit trail", "records are on this machine alone until the cluster takes them: "))
	r.onClose(runBackground(context.Background(), r.watchFreshness, r.pushFreezes))
}

// pushFreezes tells the others of freezes from here that they could not be told at the time.
func (r *replica) pushFreezes(ctx context.Context) {
	failed := r.problems.of("a freeze", "other replicas cannot be told of a freeze: ")
	for range periodic.Every(ctx, time.Second) {
		if r.cluster.Fresh() == nil {
			failed(r.gate.Controls.PushFreezes())
		}
	}
}

// shareLogins shares the logins at the servers with all replicas. It MUST be called before the servers are used.
func (r *replica) shareLogins(servers []proxy.Server) {
	if r == nil {
		return
	}
	if r.logins == nil {
		r.logins = r.cluster.ShareLogins(r.config.Files().Logins(),
			r.problems.of("the cluster's logins", "logins at servers cannot be shared with the other replicas: "))
	}
	for _, s := range servers {
		if login, ok := upstream.TermsOf(&s.Upstream).Login.(*signin.Account); ok {
			login.Share(r.logins)
		}
	}
}

// documentPins returns the name of the document with a server's accepted tool definitions.
func documentPins(server string) string {
	sum := sha256.Sum256([]byte(server))
	return "pins." + hex.EncodeToString(sum[:16])
}

// sharePins shares the accepted tool definitions with all replicas.
func (r *replica) sharePins(pins *tools.Pins) {
	if r != nil {
		pins.Share(func(server string) store.Shared { return r.document(documentPins(server)) }, r.cluster.Name())
	}
}

// watchFreshness warns people while nothing can run, and when somebody changes the file of rules.
func (r *replica) watchFreshness(ctx context.Context) {
	silent := r.problems.of("the cluster", "nothing runs until this callgate hears from its cluster again: ")
	file := fileLook{r: r}
	for on := true; on; on = periodic.Sleep(ctx, time.Second/4) {
		silent(r.cluster.Fresh())
		file.look()
	}
}

// fileLook warns people when somebody changes the file of rules at this replica, because that changes no rules.
type fileLook struct {
	r      *replica
	at     durable.Stamp // of the file when it was last compared
	rules  uint64        // the revision of the rules that the file was compared with
	doubts bool          // the file differed then: the replica may just have been writing it
}

func (f *fileLook) look() {
	path := f.r.config.Files().Permissions()
	now, err := durable.LookThrough(path)
	if err != nil { // without the file, nobody takes it for the rules that apply
		f.r.problems.set("the rules' file")
		f.at = durable.Stamp{}
		return
	}
	v, err := f.r.cluster.Document(documentRules).Now()
	if err != nil || now.Same(f.at) && v.Revision == f.rules && !f.doubts {
		return
	}
	again := f.doubts && now.Same(f.at) && v.Revision == f.rules
	f.at, f.rules = now, v.Revision
	text, err := os.ReadFile(path)
	switch same := err == nil && string(text) == string(v.Text); {
	case same:
		f.doubts = false
		f.r.problems.set("the rules' file")
	case again:
		f.doubts = false
		f.r.problems.set("the rules' file", differs(path))
	default:
		f.doubts = true
	}
}

// The documents that replicas share.
const (
	documentRules  = "rules"
	documentFreeze = "freeze"

	documentSessions = "sessions" // what people set for sessions that live at several replicas
)

// sharedText presents a document of the cluster to the permissions store and the freezer.
type sharedText struct {
	document cluster.Document
	by       string
}

var _ store.Shared = sharedText{}

func (s sharedText) Text() ([]byte, uint64, error) {
	v, err := s.document.Now()
	return v.Text, v.Revision, err
}

func (s sharedText) Replace(revision uint64, text []byte) error {
	_, err := s.replace(revision, text)
	return err
}

// replace does what Replace does, and returns the new revision.
func (s sharedText) replace(revision uint64, text []byte) (uint64, error) {
	now, err := s.document.Replace(context.Background(), revision, text, s.by)
	if errors.Is(err, cluster.ErrChanged) {
		err = fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	return now, err
}

// document returns the document for a store, or nil without a cluster.
func (r *replica) document(name string) store.Shared {
	if r == nil {
		return nil
	}
	return sharedText{r.cluster.Document(name), "replica " + r.cluster.Name()}
}

// fresh returns what tells why rules and freezes may be outdated, or nil without a cluster: then they never are.
func (r *replica) fresh() func() error {
	if r == nil {
		return nil
	}
	return r.cluster.Fresh
}

// shareRules gives this replica's rules to a cluster that has none.
func (r *replica) shareRules(ctx context.Context) error {
	rules := r.cluster.Document(documentRules)
	for {
		now, err := rules.Read(ctx)
		if err != nil || now.Revision > 0 {
			return err
		}
		text, err := os.ReadFile(r.config.Files().Permissions())
		if errors.Is(err, os.ErrNotExist) {
			text, err = store.Seed(xdg.Home), nil
		}
		if err == nil {
			_, err = permissions.ParseFile(r.config.Files().Permissions(), text, xdg.Home)
		}
		if err != nil {
			return fmt.Errorf("the cluster has no rules, and these cannot be its first: %w", err)
		}
		if _, err := rules.Replace(ctx, 0, text, "replica "+r.cluster.Name()); !errors.Is(err, cluster.ErrChanged) {
			return err
		}
	}
}

// rulesChanged records a new version of the rules, and writes its text to the file for people and sandboxes to read.
// The gate uses the cluster's rules, whatever happens to the file.
func (r *replica) rulesChanged(v cluster.Version) {
	sum := sha256.Sum256(v.Text)
	if err := r.gate.Controls.Note("", audit.Author{By: "cluster"}, fmt.Sprintf("Rules: revision %d of %s by %s applies now, SHA-256 %s.", v.Revision, v.At.Format(time.RFC3339), v.By, hex.EncodeToString(sum[:]))); err != nil {
		r.log.Error("a new version of the rules could not be recorded", "revision", v.Revision, "error", err)
	}
	path := r.config.Files().Permissions()
	before, err := os.ReadFile(path)
	if err == nil && string(before) == string(v.Text) {
		return
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		if len(before) > 0 {
			err = durable.Replace(path+".before", before, 0o600)
		}
		err = errors.Join(err, durable.Replace(path, v.Text, 0o600))
	}
	if err != nil {
		r.log.Error("the cluster's rules could not be written to the file; the gate uses them all the same", "file", path, "error", err)
	}
}

// metricsFunc returns what gathers the cluster's figures, or nil without a cluster.
func (r *replica) metricsFunc() func() metrics.Cluster {
	if r == nil {
		return nil
	}
	return func() (c metrics.Cluster) {
		for _, one := range r.cluster.Replicas() {
			if one.Lives {
				c.Up++
			} else {
				c.Silent++
			}
		}
		c.Fresh, c.Pending, c.Behind = r.cluster.Fresh() == nil, r.cluster.Pending(), r.cluster.TrailBehind()
		return c
	}
}

// LookAtCluster connects a command to the configured cluster without becoming a replica. The caller MUST close it. With
// restores, it creates the cluster's bucket anew if that is gone or was set back.
func LookAtCluster(ctx context.Context, c *config.Config, restores bool) (*cluster.Cluster, error) {
	return lookAs(ctx, c, c.Files(), restores)
}

// lookAs does what LookAtCluster does, with the files of another worker.
func lookAs(ctx context.Context, c *config.Config, of config.Files, restores bool) (*cluster.Cluster, error) {
	o, err := c.Cluster.Options(of, Version, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	o.Recreate = restores
	return cluster.Look(ctx, o)
}

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
	"callgate/permissions"
	"callgate/permissions/store"
	"callgate/proxy"
)

// StartReplica is Start, for a replica of a cluster if one is configured. It returns once this replica has heard from
// its cluster.
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

// joinCluster opens this replica, and waits for the others.
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
			s.replica.shareLogins()
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

// openCluster opens this replica, or the bucket of a tenant over its front's.
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

// shareFirst brings credentials and rules together with the cluster's.
func (r *replica) shareFirst(ctx context.Context) error {
	if err := r.shareRules(ctx); err != nil {
		return fmt.Errorf("cluster: rules: %w", err)
	}
	if err := r.shareCredentials(ctx); err != nil {
		return fmt.Errorf("cluster: credentials: %w", err)
	}
	return nil
}

// replica is this callgate as one of a cluster, which shares rules, approvals and sessions. Nil is a callgate without a
// cluster.
type replica struct {
	cluster  *cluster.Cluster
	config   *config.Config
	log      *slog.Logger
	problems *problems
	onClose  func(end func() error)

	gate *gate.Gate // set by watch
}

// watch watches what this replica shares, once there is a gate.
func (r *replica) watch(g *gate.Gate) {
	if r == nil {
		return
	}
	r.gate = g
	r.cluster.Document(documentRules).Watch(r.rulesChanged)
	r.cluster.Approvals().Serve(r.gate)
	r.cluster.ShareTrail(audit.Dir(r.config.DataDir), r.exported,
		r.problems.of("the cluster's audit trail", "records are on this machine alone until the cluster takes them: "))
	r.onClose(beside(context.Background(), r.watchFreshness, r.pushFreezes))
}

// pushFreezes tells the others what was frozen here while they could not be told.
func (r *replica) pushFreezes(ctx context.Context) {
	failed := r.problems.of("a freeze", "other replicas cannot be told of a freeze: ")
	for range periodic.Every(ctx, time.Second) {
		if r.cluster.Fresh() == nil {
			failed(r.gate.Controls.PushFreezes())
		}
	}
}

// shareLogins shares the logins at servers with all replicas.
func (r *replica) shareLogins() {
	logins := r.cluster.ShareLogins(r.config.Files().Logins(),
		r.problems.of("the cluster's logins", "logins at servers cannot be shared with the other replicas: "))
	for _, account := range r.config.Accounts {
		account.Share(logins)
	}
}

// documentPins is the document of the accepted tool definitions of a server.
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

// watchFreshness shows people when nothing can run.
func (r *replica) watchFreshness(ctx context.Context) {
	silent := r.problems.of("the cluster", "nothing runs until this callgate hears from its cluster again: ")
	file := fileLook{r: r}
	for on := true; on; on = periodic.Sleep(ctx, time.Second/4) {
		silent(r.cluster.Fresh())
		file.look()
	}
}

// fileLook tells people when somebody has changed the file of the rules at this replica, which changes nothing.
type fileLook struct {
	r      *replica
	at     durable.Stamp // of the file, when it was last compared
	rules  uint64        // revision that it was compared with
	doubts bool          // it differed then: the replica may just have been writing it
}

func (f *fileLook) look() {
	path := f.r.config.Files().Permissions()
	now, err := durable.LookThrough(path)
	if err != nil { // without the file, nobody takes it for what holds
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

	documentSessions = "sessions" // what people set of sessions that live at several replicas
)

// sharedText is a document of the cluster as the permissions store and the freezer know it.
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

// replace is Replace, and returns the new revision.
func (s sharedText) replace(revision uint64, text []byte) (uint64, error) {
	now, err := s.document.Replace(context.Background(), revision, text, s.by)
	if errors.Is(err, cluster.ErrChanged) {
		err = fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	return now, err
}

// document is the document for a store; nil without a cluster.
func (r *replica) document(name string) store.Shared {
	if r == nil {
		return nil
	}
	return sharedText{r.cluster.Document(name), "replica " + r.cluster.Name()}
}

// fresh says why rules and freezes may be old; nil without a cluster, where they never are.
func (r *replica) fresh() func() error {
	if r == nil {
		return nil
	}
	return r.cluster.Fresh
}

// shareRules gives the cluster this replica's rules when it has none.
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

// rulesChanged records a new version of the rules, and writes its text where people and sandboxes read it. The gate
// uses the cluster's rules, whatever happens to the file.
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

// forMetrics says how the cluster stands; nil without one.
func (r *replica) forMetrics() func() metrics.Cluster {
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

// LookAtCluster connects to the configured cluster without becoming a replica, for commands. The caller MUST close it.
// With restores, what was taken from the cluster is made anew.
func LookAtCluster(ctx context.Context, c *config.Config, restores bool) (*cluster.Cluster, error) {
	return lookAs(ctx, c, c.Files(), restores)
}

// lookAs is LookAtCluster as another worker.
func lookAs(ctx context.Context, c *config.Config, of config.Files, restores bool) (*cluster.Cluster, error) {
	o, err := c.Cluster.Options(of, Version, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	o.Restores = restores
	return cluster.Look(ctx, o)
}

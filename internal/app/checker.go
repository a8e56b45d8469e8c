package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/cluster"
	"callgate/internal/companion/hub"
	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/rulebook"
	"callgate/permissions/store"
)

// OpenChecker makes a checker with the rules that apply, for a command. The caller MUST call done.
func OpenChecker(ctx context.Context, c *config.Config, warn io.Writer) (ch *rulebook.Checker, done func(), err error) {
	for _, slip := range c.MisspelledVariables(os.Environ()) {
		fmt.Fprintf(warn, "callgate: %s\n", slip)
	}
	rules, done, err := OpenRules(ctx, c, warn)
	if err != nil {
		return nil, nil, err
	}
	if ch, err = NewChecker(c, rules); err != nil {
		done()
		return nil, nil, err
	}
	return ch, done, nil
}

// NewChecker makes a checker that judges by these rules, and otherwise as the configuration says.
func NewChecker(c *config.Config, rules *store.Store) (*rulebook.Checker, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	protected, err := gate.NewProtected(c.OwnFiles(), xdg.Home, c.Ports())
	if err != nil {
		return nil, err
	}
	ch := &rulebook.Checker{
		Judge: gate.Judge{
			Autonomy: c.AutonomyLevel, Mode: c.GateMode, AskEscalations: c.AsksEscalations, Terminal: c.TerminalList, Off: c.GateOff,
			Advisors:  c.PolicyEngines,
			Protected: protected.WithNames(hub.SocketName).WithPorts(c.OwnPorts()),
		},
		Store: rules,
		Cwd:   cwd, Home: xdg.Home, Shell: c.ShellSetup, Unknown: func(tool string) error { return config.Misspelled(c, tool) }, Worker: c.Worker, DataDir: c.DataDir, CacheDir: c.Files().Cache(),
		HostTool: hosthooks.BuiltIn,
	}
	if ch.Agent, err = c.AgentRules(); err != nil {
		return nil, err
	}
	if ch.Profiles, err = c.Agents(); err != nil {
		return nil, err
	}
	if len(c.Servers) > 0 || len(c.MCPConfig) > 0 {
		if ch.Servers, err = c.ProxyServers(); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

// OpenRules opens the worker's rules for a command, to read and to change: the cluster's if there is one, otherwise the
// file. It connects to the cluster when the rules are first read, and then writes to warn if the file differs from the
// rules that apply. The caller MUST call done.
func OpenRules(ctx context.Context, c *config.Config, warn io.Writer) (rules *store.Store, done func(), err error) {
	o := store.Options{Home: xdg.Home}
	if c.Cluster.On() {
		shared := &rulesFromAfar{ctx: ctx, config: c, warn: warn}
		o.Shared, done = shared, shared.close
	} else {
		err, done = notAReplica(c), func() {}
	}
	return store.Open(c.Files().Permissions(), o), done, err
}

// notAReplica returns an error if the configuration has no cluster, but the data directory belongs to a running
// replica: what a command reads and changes there does not apply.
func notAReplica(c *config.Config) error {
	if !cluster.Runs(c.ServedFrom()) {
		return nil
	}
	return fmt.Errorf("a replica of a cluster runs in %s, and the cluster's rules and tools hold there: give its configuration with --config, or its cluster.url and cluster.key (CALLGATE_CLUSTER_URL, CALLGATE_CLUSTER_KEY)", c.ServedFrom())
}

// rulesFromAfar reads and changes the cluster's rules for a command, which is not a replica and asks each time.
type rulesFromAfar struct {
	ctx    context.Context
	config *config.Config
	warn   io.Writer
	one    *cluster.Cluster // nil until it is needed
	newest uint64           // revision that this command has made; 0: none
}

func (r *rulesFromAfar) close() {
	if r.one == nil {
		return
	}
	if r.newest > 0 {
		AwaitReplicas(r.ctx, r.one, r.newest, r.warn)
	}
	r.one.Close()
}

// AwaitReplicas waits until the replicas go by that revision of the rules, and warns of those that do not say so.
func AwaitReplicas(ctx context.Context, one *cluster.Cluster, revision uint64, warn io.Writer) {
	if behind := one.Behind(ctx, revision); len(behind) > 0 {
		fmt.Fprintf(warn, "callgate: replicas that have not confirmed the change: %s; one that has lost the cluster denies every call\n", strings.Join(behind, ", "))
	}
}

// open connects to the cluster on the first call, and makes the folder where commands keep copies.
func (r *rulesFromAfar) open() (text readText, err error) {
	first := r.one == nil
	if first {
		if err := os.MkdirAll(filepath.Dir(r.config.Files().Permissions()), 0o700); err != nil {
			return text, err
		}
		if r.one, err = LookAtCluster(r.ctx, r.config, false); err != nil {
			return text, fmt.Errorf("the cluster's rules apply, but cannot be reached: %w", err)
		}
	}
	text = readText{r.ctx, sharedText{r.one.Document(documentRules), "cli:" + UserName()}}
	if first {
		err = r.compare(text)
	}
	return text, err
}

// compare warns if the file differs from the rules that apply.
func (r *rulesFromAfar) compare(text readText) error {
	held, _, err := text.Text()
	if err != nil {
		return err
	}
	path := r.config.Files().Permissions()
	here, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && bytes.Equal(here, held) {
		return nil
	}
	if err == nil {
		_, err = fmt.Fprintf(r.warn, "%s; these are the cluster's\n", differs(path))
	}
	return err
}

// differs returns the text that warns of a file of rules that is not what the cluster has.
func differs(path string) string {
	return fmt.Sprintf("%s differs from the cluster's rules, which apply: callgate rules diff shows how, rules push takes the file, and rules pull drops it", path)
}

func (r *rulesFromAfar) Text() ([]byte, uint64, error) {
	from, err := r.open()
	if err != nil {
		return nil, 0, err
	}
	text, revision, err := from.Text()
	if err == nil && revision == 0 {
		err = errors.New("the cluster has no rules yet: start a replica, which gives it its own")
	}
	return text, revision, err
}

func (r *rulesFromAfar) Replace(revision uint64, text []byte) error {
	from, err := r.open()
	if err != nil {
		return err
	}
	now, err := from.replace(revision, text)
	r.newest = max(r.newest, now)
	return err
}

// OpenPins opens the accepted tool definitions for a command: the cluster's if there is one. The caller MUST call done.
func OpenPins(ctx context.Context, c *config.Config) (pins *tools.Pins, done func() error, err error) {
	if pins, err = tools.OpenPins(c.Files().Pins()); err != nil {
		return nil, nil, err
	}
	if !c.Cluster.On() {
		return pins, func() error { return nil }, notAReplica(c)
	}
	one, err := LookAtCluster(ctx, c, false)
	if err != nil {
		return nil, nil, err
	}
	pins.Share(func(server string) store.Shared {
		return readText{ctx, sharedText{one.Document(documentPins(server)), "a command"}}
	}, "a command")
	return pins, one.Close, nil
}

// readText is a sharedText for commands, which are not replicas: it asks the cluster each time.
type readText struct {
	ctx context.Context
	sharedText
}

func (r readText) Text() ([]byte, uint64, error) {
	v, err := r.document.Read(r.ctx)
	return v.Text, v.Revision, err
}

// Package inventory asks the configured servers what they offer, for commands that list, label, pin and lint tools.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/app/backend"
	"callgate/internal/config"
	"callgate/internal/rulebook"
	"callgate/internal/upstream"
	"callgate/internal/visible"
	"callgate/permissions"
	"callgate/permissions/lint"
	"callgate/proxy"
)

// Tool is one tool as `callgate tools` shows it.
type Tool struct {
	Tool     string            `json:"tool"`
	Server   string            `json:"server"`
	Name     string            `json:"name"` // the upstream's own name for it
	Kind     string            `json:"kind,omitzero"`
	Bound    bool              `json:"bound"`
	Why      string            `json:"why,omitzero"`
	Subjects map[string]string `json:"subjects,omitempty"` // argument → role, for each argument that is judged
	Labels   *tools.Labels     `json:"labels,omitempty"`   // of a tool in the catalogue
	Verdict  string            `json:"verdict"`
	Rule     string            `json:"rule"`
	Patterns int               `json:"patterns"` // number of rules for this tool that depend on values
}

// Found holds what the configured servers offer.
type Found struct {
	Tools []Tool            `json:"tools"`
	Guard map[string]string `json:"guard"` // by server: what keeps its process away from callgate
	Down  map[string]string `json:"down"`  // by server: why it does not answer
}

// Accept pins the definitions of the named tools, or of all if none is named, and prints the new ones.
func Accept(ctx context.Context, w io.Writer, c *config.Config, names []string) (err error) {
	servers, err := c.ProxyServers()
	if err != nil {
		return err
	}
	pins, done, err := app.OpenPins(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	var offered []proxy.Offered
	for _, s := range servers {
		more, _, err := proxy.Survey(ctx, s, c.Files().Cache(), app.Version)
		if err != nil {
			return fmt.Errorf("server %s: %w", s.Tools.Name, err)
		}
		offered = append(offered, more...)
	}
	described := proxy.Name(offered)
	for _, name := range names {
		if !slices.ContainsFunc(described, func(t *tools.Tool) bool { return t.Qualified == name }) {
			return fmt.Errorf("no tool is called %q: callgate tools lists them", name)
		}
	}
	accepted := map[string]map[string][]byte{}
	n := 0
	for i, t := range described {
		if len(names) > 0 && !slices.Contains(names, t.Qualified) {
			continue
		}
		identity := offered[i].Identity()
		known, changed, old, err := pins.Check(identity, t.Name, t.Hash)
		if err != nil {
			return err
		}
		if known && !changed {
			continue
		}
		fmt.Fprintf(w, "%s\n", t.Qualified)
		if changed {
			fmt.Fprintf(w, "  was  %s\n", visible.Text(string(old)))
		}
		fmt.Fprintf(w, "  now  %s\n", visible.Text(string(t.Definition)))
		if accepted[identity] == nil {
			accepted[identity] = map[string][]byte{}
		}
		accepted[identity][t.Name] = t.Definition
		n++
	}
	for identity, definitions := range accepted {
		if err := pins.Accept(identity, definitions); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s accepted\n", visible.Count(n, "definition"))
	return err
}

// List asks all servers at the same time.
func List(ctx context.Context, c *config.Config, slow Slow) (_ *Found, err error) {
	servers, err := c.ProxyServers()
	if err != nil {
		return nil, err
	}
	pins, done, err := app.OpenPins(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	checker, closed, err := app.OpenChecker(ctx, c, io.Discard)
	if err != nil {
		return nil, err
	}
	defer closed()
	found, offered := survey(ctx, c, servers, slow)
	for i, t := range proxy.Name(offered) {
		row := rowOf(checker, t)
		_, changed, _, err := pins.Check(offered[i].Identity(), t.Name, t.Hash)
		if err != nil {
			return nil, err
		}
		if changed && row.Verdict != permissions.Deny.String() {
			row.Verdict, row.Rule = permissions.Ask.String(), "its definition changed since it was accepted: callgate tools accept "+t.Qualified
		}
		found.Tools = append(found.Tools, row)
	}
	return found, nil
}

// Slow, if not nil, is called once with the servers that have not answered after a few seconds.
type Slow func(servers []string)

// patience is how long to wait before saying which servers are slow.
const patience = 3 * time.Second

// survey asks all servers at the same time.
func survey(ctx context.Context, c *config.Config, servers []proxy.Server, slow Slow) (*Found, []proxy.Offered) {
	catalogues := make([][]proxy.Offered, len(servers))
	found := &Found{Tools: []Tool{}, Guard: map[string]string{}, Down: map[string]string{}}
	var mu sync.Mutex // guards asked and found's maps
	asked := map[string]bool{}
	for _, s := range servers {
		asked[s.Tools.Name] = true
	}
	if slow != nil {
		defer time.AfterFunc(patience, func() {
			mu.Lock()
			defer mu.Unlock()
			slow(slices.Sorted(maps.Keys(asked)))
		}).Stop()
	}
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() {
			offered, wall, err := proxy.Survey(ctx, s, c.Files().Cache(), app.Version)
			catalogues[i] = offered
			mu.Lock()
			defer mu.Unlock()
			delete(asked, s.Tools.Name)
			if err != nil {
				found.Down[s.Tools.Name] = whyDown(ctx, err)
			}
			if wall != "" {
				found.Guard[s.Tools.Name] = wall
			}
		})
	}
	asking.Wait()
	return found, slices.Concat(catalogues...)
}

// Down starts every configured server, and returns why a server does not answer, by name.
func Down(ctx context.Context, c *config.Config, slow Slow) (map[string]string, error) {
	servers, err := c.ProxyServers()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, liveWait, fmt.Errorf("it did not answer within %s", liveWait))
	defer cancel()
	found, _ := survey(ctx, c, servers, slow)
	return found.Down, nil
}

// whyDown returns why a server did not answer, and what helps.
func whyDown(ctx context.Context, err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if down, ok := errors.AsType[*upstream.DownError](err); ok {
		return down.Explain()
	}
	return err.Error()
}

// rowOf returns a tool's row. Its verdict is for a call whose values match no pattern.
func rowOf(ch *rulebook.Checker, t *tools.Tool) Tool {
	row := Tool{Tool: t.Qualified, Server: t.Server, Name: t.Name, Kind: t.Kind, Bound: t.Bound, Why: t.Why, Subjects: backend.Judged(t)}
	if labels := t.Labels; labels.Effect != "" || len(labels.Returns) > 0 {
		row.Labels = &labels
	}
	policy, err := ch.Policy()
	if err != nil {
		row.Verdict, row.Rule = permissions.Deny.String(), err.Error()
		return row
	}
	o := backend.OutlookOf(policy, t, ch.Judge.Mode, ch.Judge.Autonomy.String())
	row.Verdict, row.Rule, row.Patterns = o.Verdict, o.Rule, o.Patterns
	return row
}

// Of returns the tools of the named server, which it asks for them.
func Of(ctx context.Context, c *config.Config, name string) ([]*tools.Tool, error) {
	servers, err := c.ProxyServers()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range servers {
		if s.Tools.Name != name {
			names = append(names, s.Tools.Name)
			continue
		}
		offered, _, err := proxy.Survey(ctx, s, c.Files().Cache(), app.Version)
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", name, err)
		}
		return proxy.Name(offered), nil
	}
	return nil, fmt.Errorf("no server is called %q: use one of %s", name, strings.Join(names, ", "))
}

// liveWait is how long servers may take to start.
const liveWait = time.Minute

// allTools lists the tools of all servers. Every server must answer: a rule for a server that is down would look like a
// rule for no tool.
func allTools(ctx context.Context, c *config.Config) ([]Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	found, err := List(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	var down []error
	for _, name := range slices.Sorted(maps.Keys(found.Down)) {
		down = append(down, fmt.Errorf("server %s: %s", name, found.Down[name]))
	}
	return found.Tools, errors.Join(down...)
}

// LintTools lists the tools of all servers, and callgate's own, for lint.
func LintTools(ctx context.Context, c *config.Config) ([]lint.Tool, error) {
	rows, err := allTools(ctx, c)
	if err != nil {
		return nil, err
	}
	var list []lint.Tool
	for _, r := range rows {
		list = append(list, lint.Tool{Name: r.Tool, Kind: r.Kind, Bound: r.Bound})
	}
	for _, name := range tools.Own() { // every new file has rules for them
		list = append(list, lint.Tool{Name: proxy.OwnName + "_" + name})
	}
	return list, nil
}

// Leaks finds the tools that together make up an exfiltration with these servers and rules.
func Leaks(ctx context.Context, c *config.Config) (*rulebook.Leaks, error) {
	rows, err := allTools(ctx, c)
	if err != nil {
		return nil, err
	}
	list := make([]rulebook.LabeledTool, 0, len(rows))
	for _, r := range rows {
		runs := r.Verdict == permissions.Allow.String() || r.Verdict == "by risk" && c.AutonomyLevel == gate.FullAuto
		list = append(list, rulebook.LabeledTool{Name: r.Tool, Kind: r.Kind, Labels: r.Labels, Runs: runs})
	}
	return rulebook.FindLeaks(list, !c.NoFlow && !c.GateOff), nil
}

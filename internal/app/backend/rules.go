package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adrg/xdg"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/permissions"
	"callgate/permissions/lint"
)

// rulesPart serves the worker's rules and grants.
type rulesPart struct{ b *Backend }

// checkedRules caches the check of the last text: a check takes long, and the page asks for it again and again.
type checkedRules struct {
	mu    sync.Mutex
	text  string
	check *companion.RulesCheck // nil until the first text
}

func (p rulesPart) Worker() string { return p.b.Config.Worker }

func (p rulesPart) Rules() (companion.RulesView, error) {
	text, err := p.b.Store.Text()
	if err != nil {
		return companion.RulesView{}, err
	}
	view := companion.RulesView{Worker: p.b.Config.Worker, File: p.b.Store.Path(), Text: string(text), RulesCheck: p.CheckRules(string(text))}
	for _, agent := range p.b.Gate.Agents() {
		if len(agent.Rules) > 0 {
			view.Layers = append(view.Layers, layerOf(permissions.LayerAgent, agent.Name, agent.Rules))
		}
	}
	if file, err := permissions.ParseFile(p.b.Store.Path(), text, xdg.Home); err == nil {
		view.Layers = append(view.Layers, layerOf(permissions.LayerFile, filepath.Base(p.b.Store.Path()), file.Rules))
	}
	return view, nil
}

// Grants lists the grants of the file and of sessions. A file that cannot be parsed has none: nothing in it applies.
func (p rulesPart) Grants() ([]companion.GrantView, error) {
	text, err := p.b.Store.Text()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var grants []companion.GrantView
	if file, err := permissions.ParseFile(p.b.Store.Path(), text, xdg.Home); err == nil {
		for _, g := range file.Grants {
			grants = append(grants, p.grantView(gate.HeldGrant{Grant: g}, permissions.LayerAlways, now))
		}
	}
	for _, held := range p.b.Gate.Controls.HeldGrants() {
		grants = append(grants, p.grantView(held, permissions.LayerSession, now))
	}
	return grants, nil
}

func layerOf(layer permissions.Layer, name string, rules []permissions.Rule) companion.RuleLayer {
	l := companion.RuleLayer{Layer: layer, Name: name, Rules: make([]companion.RuleView, len(rules))}
	for i, r := range rules {
		l.Rules[i] = companion.RuleView{Place: filepath.Base(r.Source), Tool: r.Tool, Pattern: r.Pattern, Action: r.Action.String()}
	}
	return l
}

func (p rulesPart) grantView(held gate.HeldGrant, layer permissions.Layer, now time.Time) companion.GrantView {
	g := held.Grant
	return companion.GrantView{
		ID: grantID(held, layer), Worker: p.b.Config.Worker, Layer: layer, SessionID: held.SessionID, Expired: !g.Expires.IsZero() && !now.Before(g.Expires),
		Tool: g.Tool, Pattern: g.Covers(), Risk: g.Risk.String(), Server: g.Server, Workspace: g.Workspace, By: g.By, At: g.At, Expires: g.Expires,
	}
}

// grantID names a grant by its content and its place, so that nobody revokes a newer grant by mistake.
func grantID(held gate.HeldGrant, layer permissions.Layer) string {
	g := held.Grant
	said := []string{
		string(layer), held.SessionID, g.Tool, g.Pattern, g.Folder, g.Denied, g.Risk.String(), g.Server, g.Workspace, g.By,
		g.At.UTC().Format(time.RFC3339Nano), g.Expires.UTC().Format(time.RFC3339Nano),
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", said))
	return hex.EncodeToString(sum[:8])
}

func (p rulesPart) CheckRules(text string) companion.RulesCheck {
	last := &p.b.checked
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.check == nil || last.text != text {
		check := p.checkRules(text)
		last.text, last.check = text, &check
	}
	return *last.check
}

func (p rulesPart) checkRules(text string) companion.RulesCheck {
	file, err := permissions.ParseFile(p.b.Store.Path(), []byte(text), xdg.Home)
	var fault *permissions.FileError
	switch {
	case errors.As(err, &fault):
		return companion.RulesCheck{Fault: &companion.RulesFault{Line: fault.Line, Column: fault.Column, Message: fault.Message}}
	case err != nil:
		return companion.RulesCheck{Fault: &companion.RulesFault{Line: 1, Column: 1, Message: err.Error()}}
	}
	check := companion.RulesCheck{Rules: len(file.Rules)}
	check.Problems, err = lint.Rules(file.Rules, lint.Options{Kinds: tools.Kinds()})
	if err != nil {
		check.Fault = &companion.RulesFault{Line: 1, Column: 1, Message: err.Error()}
	}
	for i := range check.Problems {
		check.Problems[i].Source = filepath.Base(check.Problems[i].Source)
	}
	return check
}

func (p rulesPart) ReplaceRules(base, text string, who audit.Author) error {
	file, err := permissions.ParseFile(p.b.Store.Path(), []byte(text), xdg.Home)
	if err != nil {
		return err
	}
	now, err := p.b.Store.Text()
	if err != nil {
		return err
	}
	if string(now) == text {
		return nil
	}
	return p.b.change("", who, "Edited the rules: "+differences(p.rulesOf([]byte(base)), file.Rules)+".", func() error {
		return p.b.Store.Replace([]byte(base), []byte(text))
	})
}

// rulesOf returns the rules of a text, or nil if it is not valid.
func (p rulesPart) rulesOf(text []byte) []permissions.Rule {
	file, err := permissions.ParseFile(p.b.Store.Path(), text, xdg.Home)
	if err != nil {
		return nil
	}
	return file.Rules
}

// maxNamed bounds how many rules a record names.
const maxNamed = 20

// differences lists the rules that were added and removed.
func differences(before, after []permissions.Rule) string {
	var changes []string
	name := func(what string, rules, others []permissions.Rule) {
		for i := range rules {
			same := func(r permissions.Rule) bool {
				return r.Tool == rules[i].Tool && r.Pattern == rules[i].Pattern && r.Action == rules[i].Action
			}
			if !slices.ContainsFunc(others, same) {
				changes = append(changes, fmt.Sprintf("%s %s %q %s", what, rules[i].Tool, rules[i].Pattern, rules[i].Action))
			}
		}
	}
	name("removed", before, after)
	name("added", after, before)
	switch n := len(changes); {
	case n == 0:
		return "order, comments or grants"
	case n > maxNamed:
		changes = append(changes[:maxNamed], fmt.Sprintf("and %d more changes", n-maxNamed))
	}
	return strings.Join(changes, ", ")
}

func (p rulesPart) RevokeGrant(id string, who audit.Author) error {
	grants, err := p.Grants()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(grants, func(g companion.GrantView) bool { return g.ID == id })
	if i < 0 {
		return companion.ErrNoGrant
	}
	g := grants[i]
	return p.b.change(g.SessionID, who, fmt.Sprintf("Revoked the grant %s %q up to %s.", g.Tool, g.Pattern, g.Risk), func() error {
		var n int
		var err error
		if g.Layer == permissions.LayerAlways {
			n, err = p.b.Store.RemoveGrants(func(grant permissions.Grant) bool {
				return grantID(gate.HeldGrant{Grant: grant}, permissions.LayerAlways) == id
			})
		} else {
			n = p.b.Gate.Controls.RevokeHeld(func(held gate.HeldGrant) bool { return grantID(held, permissions.LayerSession) == id })
		}
		if err == nil && n == 0 {
			return companion.ErrNoGrant
		}
		return err
	})
}

package tools

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"callgate/gate/tools/definitions"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/permissions"
)

// Describe returns what is known of the tool that server s calls name and that rules see as qualified. The user's
// mapping wins over the catalogue, and the catalogue over a guess. definition is the upstream's raw definition, or nil
// if none was seen; the Tool keeps it, so the caller MUST NOT change it afterwards. Call it once per definition:
// Analyze is what runs for every call.
func Describe(s Server, name, qualified string, definition []byte) *Tool {
	t := &Tool{Qualified: qualified, Server: s.Name, Name: name, Definition: definition}
	if definition != nil {
		t.Hash = definitions.HashOf(definition)
	}
	d := parseDefinition(definition)
	t.enums = d.enums

	switch e, from, ok := lookUp(s, name); {
	case mapped(t, s, d):
	case ok && !e.isLabelled(definition):
		t.guessFrom(d)
		t.suspected, t.Outgrown = e.labels, true
		t.Why = fmt.Sprintf("catalogue: %s, but its arguments are not those that were labelled: label it anew (callgate tools label %s)", from, s.Name)
	case ok:
		t.Kind, t.Roles, t.Bound, t.remote, t.Local = e.kind, e.roles, true, e.remote, e.local
		t.baseRisk, t.category, t.Labels = e.risk, e.category, e.labels
		if k, ok := kinds.Of[e.kind]; ok {
			t.category = k.Category
			if t.baseRisk == permissions.Unknown || !t.baseRisk.Exceeds(k.Risk) {
				t.baseRisk = k.Risk
			}
		}
		t.Why = "catalogue: " + from
	default:
		t.guessFrom(d)
		if l, sure := draft(name, d); sure {
			t.suspected = l
		}
	}
	t.applyHints(d.hints, s.Trusted)
	t.heed(d, s.Trusted)
	return t
}

// harmlessRole returns the role of an argument of a tool that a person labelled without naming any role. An argument
// that could be a path, a command or code stays unmapped, so that calls with it ask, unless it holds a plain name
// (builder.bare).
func harmlessRole(name string) Role {
	switch role := guessRole(name); role {
	case Unmapped, kinds.Input:
		return Plain
	case kinds.URL:
		return kinds.URL
	case kinds.SQL:
		if name == "query" {
			return Plain
		}
	}
	return Unmapped
}

// heed adds what a labelled tool's server claims beyond the labels to its returns, and to its effect only if the server
// is not trusted. It also raises the effect of a tool that sets a credential, because that decides who may do what.
func (t *Tool) heed(d definition, trusted bool) {
	if t.Labels.Effect != "" {
		for _, r := range d.returns {
			if !slices.Contains(t.Labels.Returns, r) {
				t.Labels.Returns, t.Labels.Fields = append(slices.Clip(t.Labels.Returns), r), nil
			}
		}
	}
	if t.Kind != "" || t.Labels.Effect != EffectNone && t.Labels.Effect != EffectOwn {
		return
	}
	to := t.Labels.Effect
	switch {
	case t.Labels.Effect == EffectOwn && slices.ContainsFunc(d.arguments, namesCredential):
		to = EffectAccess
	case trusted:
	case d.hints.destructive == yes && d.hints.readOnly != yes:
		to = EffectDeletes
	case d.hints.readOnly == no && t.Labels.Effect == EffectNone:
		to = EffectOwn
	}
	if to != t.Labels.Effect {
		t.Why += fmt.Sprintf("; effect %s raised to %s by its definition", t.Labels.Effect, to)
		t.Labels.Effect, t.baseRisk = to, t.baseRisk.Worse(effectRisk[to])
		if t.category == kinds.CategoryRead {
			t.category = CategoryNetwork
		}
	}
}

// namesCredential reports whether an argument's name says that it sets a credential.
func namesCredential(argument string) bool {
	return slices.ContainsFunc(wordsOf(argument), func(w string) bool { return credentialWords[w] })
}

// NamesCredential reports whether the tool's name says that it is about credentials.
func (t *Tool) NamesCredential() bool { return namesCredential(t.Name) }

var credentialWords = wording.Set("password passwords passwd passphrase pwd secret secrets credential credentials apikey")

// Risk returns the lowest class of the tool's calls. The content of a call can only raise it.
func (t *Tool) Risk() permissions.Risk { return t.baseRisk }

// mapped fills t from the user's own mapping, and reports whether there is one.
func mapped(t *Tool, s Server, d definition) bool {
	for _, m := range s.Mappings {
		if ok, err := path.Match(m.Tool, t.Name); err == nil && ok {
			t.apply(m, d)
			return true
		}
	}
	return false
}

func (t *Tool) apply(m Mapping, d definition) {
	k, ok := kinds.Of[m.Kind]
	if !ok && m.Kind != "" {
		// This binds nothing: the tool stays unknown, and all its arguments stay unmapped.
		t.Bound, t.Roles, t.category = true, roles{}, CategoryNetwork
		t.Why = fmt.Sprintf("configuration: %q is not a kind", m.Kind)
		return
	}
	t.Kind, t.Bound, t.baseRisk, t.category = m.Kind, true, m.Risk, k.Category
	t.Why = "configuration"
	if m.Risk == permissions.Unknown || m.Kind == KindShell {
		t.baseRisk = k.Risk
	}
	t.Labels = m.Labels
	if t.Labels.Effect == "" {
		t.Labels.Effect = kindEffect[m.Kind]
	} else if m.Risk == permissions.Unknown && m.Kind == "" {
		t.baseRisk = m.Labels.risk()
	}
	t.giveRoles(m, d)
	if t.category == "" {
		t.category = categoryOf(t.baseRisk)
	}
}

// giveRoles gives the arguments the roles that a mapping names, or that its labels let them have.
func (t *Tool) giveRoles(m Mapping, d definition) {
	t.Roles = roles{}
	maps.Copy(t.Roles, m.Roles)
	if t.unroled = m.Kind == "" && m.Labels.Effect != "" && len(m.Roles) == 0; t.unroled {
		for _, name := range d.arguments {
			if t.Roles[name] = harmlessRole(name); m.Labels.Effect == EffectNone && name == "code" {
				t.Roles[name] = Plain // to format or count code is not an effect, and to run it would be one
			}
		}
	}
	for _, name := range slices.Concat(m.Labels.Destination, m.Labels.Content) {
		if name, _, _ = strings.Cut(name, "."); t.Roles[name] == Unmapped {
			t.Roles[name] = Plain
		}
	}
}

// applyHints lets the annotations of the definition raise the risk of a tool that is not bound, and lower it if the
// server is trusted. A bound tool is known better than its server's claims.
func (t *Tool) applyHints(h hints, trusted bool) {
	if t.Bound {
		return
	}
	if trusted {
		switch {
		case h.readOnly == yes && acts(t.Name): // the name and the claim contradict each other
		case h.readOnly == yes:
			t.baseRisk = permissions.ReadOnly
		case h.readOnly == no && h.destructive == no && t.Kind == "":
			t.baseRisk = permissions.Write
		}
		if t.Kind == "" {
			t.category = categoryOf(t.baseRisk)
			if c := audioCategory(t.Name); c != "" {
				t.category = c
			}
		}
	}
	// A tool that only reads cannot destroy, so the hint destructive does not count for it.
	if h.destructive == yes && h.readOnly != yes {
		t.baseRisk = t.baseRisk.Worse(permissions.Destructive)
	}
	if h.openWorld == yes {
		t.baseRisk = t.baseRisk.Worse(permissions.Network)
	}
}

// categoryOf returns the category of a tool without kind.
func categoryOf(r permissions.Risk) string {
	switch r {
	case permissions.ReadOnly:
		return kinds.CategoryRead
	case permissions.Write:
		return kinds.CategoryWrite
	}
	return CategoryNetwork
}

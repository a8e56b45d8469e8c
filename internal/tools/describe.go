package tools

import (
	"fmt"
	"path"

	"callgate/permissions"
)

// Describe says what is known of the tool that server s calls name and that rules see as qualified. The
// user's mapping wins over the catalogue, the catalogue over a guess. definition is the upstream's raw
// definition, or nil when none was seen; the Tool keeps it, so the caller MUST NOT change it afterwards.
// Callers describe a tool once per definition: Analyze is what runs for every call.
func Describe(s Server, name, qualified string, definition []byte) *Tool {
	t := &Tool{Qualified: qualified, Server: s.Name, Name: name, Definition: definition}
	if definition != nil {
		t.Hash = HashOf(definition)
	}
	d := parseDefinition(definition)
	t.enums = d.enums

	switch e, from, ok := lookUp(s, name); {
	case mapped(t, s):
	case ok:
		t.Kind, t.Roles, t.Bound, t.remote = e.kind, e.roles, true, e.remote
		t.baseRisk, t.category, t.Labels = e.risk, e.category, e.labels
		if k, ok := kinds[e.kind]; ok {
			t.category = k.category
			if t.baseRisk == permissions.Unknown || !t.baseRisk.Exceeds(k.risk) {
				t.baseRisk = k.risk
			}
		}
		t.Why = "catalogue: " + from
	default:
		t.guessFrom(d)
	}
	t.applyHints(d.hints, s.Trusted)
	return t
}

// Risk is the least class of the tool's calls: what a call holds can only raise it.
func (t *Tool) Risk() permissions.Risk { return t.baseRisk }

// mapped fills t from the user's own mapping, and reports whether there is one.
func mapped(t *Tool, s Server) bool {
	for _, m := range s.Mappings {
		if ok, err := path.Match(m.Tool, t.Name); err != nil || !ok {
			continue
		}
		t.Roles = m.Roles
		if t.Roles == nil {
			t.Roles = roles{}
		}
		k, ok := kinds[m.Kind]
		if !ok && m.Kind != "" {
			// Binds nothing: the tool stays unknown and every argument of it unmapped.
			t.Bound, t.Roles, t.category = true, roles{}, CategoryNetwork
			t.Why = fmt.Sprintf("configuration: %q is no kind", m.Kind)
			return true
		}
		t.Kind, t.Bound, t.baseRisk, t.category = m.Kind, true, m.Risk, k.category
		t.Why = "configuration"
		if m.Risk == permissions.Unknown || m.Kind == KindShell {
			t.baseRisk = k.risk
		}
		if t.category == "" {
			t.category = categoryOf(t.baseRisk)
		}
		return true
	}
	return false
}

// applyHints lets the annotations of the definition raise the risk, and lower it for a trusted server. What
// is bound is known better than by what the server says of itself.
func (t *Tool) applyHints(h hints, trusted bool) {
	if t.Bound {
		return
	}
	if trusted {
		switch {
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
	// What only reads cannot destroy: of the two claims the other one is noise.
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
		return CategoryRead
	case permissions.Write:
		return CategoryWrite
	}
	return CategoryNetwork
}

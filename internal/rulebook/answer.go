package rulebook

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Request is one call to check.
type Request struct {
	ID          jsontext.Value `json:"id,omitzero"`
	Tool        string         `json:"tool"`
	Arguments   jsontext.Value `json:"arguments,omitzero"`
	Permissions jsontext.Value `json:"permissions,omitzero"` // replaces the worker's file
	Autonomy    *string        `json:"autonomy,omitzero"`
	Mode        *string        `json:"mode,omitzero"`
	Cwd         string         `json:"cwd,omitzero"`
	Given       *Given         `json:"given,omitzero"`

	project string // the folder that the call's host worked in; "" if it is unknown
}

// Answer is what would happen to a call.
type Answer struct {
	ID       jsontext.Value `json:"id,omitzero"`
	Action   string         `json:"action"` // allow, deny or ask
	Risk     string         `json:"risk,omitzero"`
	Category string         `json:"category,omitzero"`
	By       string         `json:"by,omitzero"`
	Rule     string         `json:"rule,omitzero"`
	Reason   string         `json:"reason,omitzero"`
	Summary  string         `json:"summary,omitzero"`
	Subjects []Subject      `json:"subjects"`
	Marks    []tools.Mark   `json:"marks,omitempty"`
	Always   []Offer        `json:"always"`
	Error    string         `json:"error,omitzero"`
}

// Subject is the answer for one subject of a call.
type Subject struct {
	Tool   string `json:"tool"`
	Kind   string `json:"kind,omitzero"`
	Value  string `json:"value,omitzero"`
	Action string `json:"action"`
	Rule   string `json:"rule"`
	Layer  string `json:"layer"`
	Risk   string `json:"risk"`
	Effect string `json:"effect,omitzero"`
	// DeniesOnly means that the subject needs no allow. It is judged only by what denies it or requires a confirmation.
	DeniesOnly bool `json:"deniesOnly,omitempty"`
	// AllowedBy lists rules, each of which would allow a subject that asks.
	AllowedBy []NamedRule `json:"allowedBy,omitempty"`
	// Lost lists, with --explain, what also matched but did not decide.
	Lost []string `json:"lost,omitempty"`
}

// NamedRule names a rule by its tool and pattern.
type NamedRule struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

// Offer is a grant that "always" would offer.
type Offer struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Risk    string `json:"risk"`
	Default bool   `json:"default,omitzero"`
}

// Print shows the answer to a person.
func (a *Answer) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  risk %s\n", strings.ToUpper(a.Action), a.Risk)
	if a.Summary != "" {
		fmt.Fprintf(&b, "  %s\n", tools.Visible(a.Summary))
	}
	if a.Category != "" {
		fmt.Fprintf(&b, "  Category %s, for levels in lower case.\n", a.Category)
	}
	if a.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", tools.Visible(a.Reason))
	}
	for _, m := range a.Marks {
		fmt.Fprintf(&b, "  mark %s: %s\n", m.Code, tools.Visible(m.Text))
	}
	if len(a.Subjects) > 0 {
		fmt.Fprintln(&b, "\nSubjects")
	}
	sort := slices.Clone(a.Subjects)
	slices.SortStableFunc(sort, func(x, y Subject) int { return cmp.Compare(x.rank(), y.rank()) })
	for _, s := range sort {
		why := tools.Visible(s.Rule) + ", layer " + s.Layer
		if s.DeniesOnly && s.Action == permissions.Allow.String() {
			if s.Value == "" {
				continue
			}
			s.Action, why = "-", "no deny or confirm matches, and an allow would not count"
		}
		name := cmp.Or(s.Kind, s.Tool)
		fmt.Fprintf(&b, "  %-7s %-12s %s\n          %s\n", s.Action, s.Risk, strings.TrimSpace(name+" "+tools.Visible(s.Value)), why)
		if s.Effect != "" {
			fmt.Fprintf(&b, "          hidden effect: %s\n", tools.Visible(s.Effect))
		}
		for i, r := range s.AllowedBy {
			if i == 0 {
				fmt.Fprint(&b, "          would be allowed by: ")
			} else {
				fmt.Fprint(&b, ", ")
			}
			fmt.Fprintf(&b, "%s %q", r.Tool, r.Pattern)
		}
		if len(s.AllowedBy) > 0 {
			fmt.Fprintln(&b)
		}
		for _, other := range s.Lost {
			fmt.Fprintf(&b, "          lost: %s\n", tools.Visible(other))
		}
	}
	if len(a.Always) > 0 {
		fmt.Fprintln(&b, "\n\"Always\" would offer")
	}
	for _, o := range a.Always {
		star := " "
		if o.Default {
			star = "*"
		}
		fmt.Fprintf(&b, "  %s %s %q up to %s\n", star, o.Tool, o.Pattern, o.Risk)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

package rulebook

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"callgate/gate/tools"
)

// Leaks is what rules and servers leave open together: untrusted text comes in, and readable private data can leave.
type Leaks struct {
	Untrusted []string `json:"untrusted"` // tools whose results others write
	Private   []string `json:"private"`   // tools whose results are private or secret
	Unguarded []string `json:"unguarded"` // tools that let data out without a question, according to the rules and the level
	Unknown   []string `json:"unknown"`   // tools without labels that run without a question
	Flow      bool     `json:"flow"`      // flow asks about what the rules leave open
	Open      bool     `json:"open"`      // data can leave and nothing asks
}

// LabeledTool is a tool of a server, with the properties that matter for leaks.
type LabeledTool struct {
	Name   string
	Kind   string
	Labels *tools.Labels // nil if the catalogue does not know the tool
	Runs   bool          // it runs without a question
}

// FindLeaks sorts tools into the three parts of an exfiltration. flow says whether flow is on. A tool without labels
// counts as untrusted and private.
func FindLeaks(list []LabeledTool, flow bool) *Leaks {
	found := &Leaks{Untrusted: []string{}, Private: []string{}, Unguarded: []string{}, Unknown: []string{}, Flow: flow}
	for _, t := range list {
		found.add(t)
	}
	found.Open = !flow && len(found.Untrusted) > 0 && len(found.Private) > 0 && len(found.Unguarded)+len(found.Unknown) > 0
	return found
}

func (l *Leaks) add(t LabeledTool) {
	if t.Labels == nil || t.Labels.Effect == "" && t.Kind == "" {
		l.Untrusted, l.Private = append(l.Untrusted, t.Name), append(l.Private, t.Name)
		if t.Runs {
			l.Unknown = append(l.Unknown, t.Name)
		}
		return
	}
	returns, shell := t.Labels.Returns, t.Kind == tools.KindShell
	if slices.Contains(returns, tools.ReturnsUntrusted) || t.Kind == tools.KindFetch || shell {
		l.Untrusted = append(l.Untrusted, t.Name)
	}
	if slices.Contains(returns, tools.ReturnsPrivate) || slices.Contains(returns, tools.ReturnsSecret) || t.Kind == tools.KindReadFile || shell {
		l.Private = append(l.Private, t.Name)
	}
	if t.Runs && (letsOut(t.Labels) || shell) {
		l.Unguarded = append(l.Unguarded, t.Name)
	}
}

// letsOut reports whether a tool with these labels acts on the outside world.
func letsOut(labels *tools.Labels) bool {
	return labels.Effect == tools.EffectOutside || labels.Effect == tools.EffectMoney || labels.Effect == tools.EffectAccess
}

// Print prints the tools, and what would close the leak.
func (l *Leaks) Print(w io.Writer) error {
	var text strings.Builder
	line := func(what string, names []string) {
		if len(names) == 0 {
			names = []string{"none"}
		}
		fmt.Fprintf(&text, "%s: %s\n", what, tools.Visible(strings.Join(names, ", ")))
	}
	line("untrusted text comes from", l.Untrusted)
	line("private data comes from", l.Private)
	line("rules let data leave without a question through", l.Unguarded)
	line("tools without labels that run without a question", l.Unknown)
	switch {
	case l.Open:
		fmt.Fprintln(&text, "OPEN: untrusted text can send private data out without a question. Cure: flow: on, or rules that ask.")
	case len(l.Unguarded)+len(l.Unknown) > 0 && l.Flow:
		fmt.Fprintln(&text, "Flow asks about the destinations that nobody named. Tools without labels: callgate tools label SERVER.")
	default:
		fmt.Fprintln(&text, "Nothing leaves without a question.")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

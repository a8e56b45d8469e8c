package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/permissions"
)

// flowLint is what rules and servers together leave open: text of others comes in, private data is at hand, and data
// can leave.
type flowLint struct {
	Untrusted []string `json:"untrusted"` // tools whose results others write
	Private   []string `json:"private"`   // tools whose results are private or secret
	Unguarded []string `json:"unguarded"` // tools that let data out unasked as far as the rules and the level go
	Unknown   []string `json:"unknown"`   // tools without labels that run unasked
	Flow      bool     `json:"flow"`      // flow asks about what the rules leave open
	Open      bool     `json:"open"`      // nothing asks
}

// lintFlow says which tools are the three parts of an exfiltration with these servers and rules.
func lintFlow(ctx context.Context, b *ruleFile, asJSON bool) error {
	servers, err := b.config.servers()
	if err != nil {
		return err
	}
	checker, err := newChecker(b.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	rows, _, failures := listTools(ctx, b.config, checker, servers)
	for name, why := range failures {
		return fmt.Errorf("server %s: %s", name, why)
	}
	found := flowLint{Untrusted: []string{}, Private: []string{}, Unguarded: []string{}, Unknown: []string{}, Flow: !b.config.noFlow && !b.config.gateOff}
	for _, r := range rows {
		runs := r.Verdict == permissions.Allow.String() || r.Verdict == "by risk" && b.config.autonomy == gate.FullAuto
		if r.Labels == nil || r.Labels.Effect == "" && r.Kind == "" {
			found.Untrusted, found.Private = append(found.Untrusted, r.Tool), append(found.Private, r.Tool)
			if runs {
				found.Unknown = append(found.Unknown, r.Tool)
			}
			continue
		}
		if slices.Contains(r.Labels.Returns, tools.ReturnsUntrusted) || r.Kind == tools.KindFetch || r.Kind == tools.KindShell {
			found.Untrusted = append(found.Untrusted, r.Tool)
		}
		if slices.Contains(r.Labels.Returns, tools.ReturnsPrivate) || slices.Contains(r.Labels.Returns, tools.ReturnsSecret) || r.Kind == tools.KindReadFile || r.Kind == tools.KindShell {
			found.Private = append(found.Private, r.Tool)
		}
		if leaves := r.Labels.Effect == tools.EffectOutside || r.Labels.Effect == tools.EffectMoney || r.Labels.Effect == tools.EffectAccess || r.Kind == tools.KindShell; leaves && runs {
			found.Unguarded = append(found.Unguarded, r.Tool)
		}
	}
	found.Open = !found.Flow && len(found.Untrusted) > 0 && len(found.Private) > 0 && len(found.Unguarded)+len(found.Unknown) > 0
	if asJSON {
		return printJSON(b.out, found)
	}
	return printFlowLint(b.out, &found)
}

func printFlowLint(w io.Writer, found *flowLint) error {
	var text strings.Builder
	line := func(what string, names []string) {
		if len(names) == 0 {
			names = []string{"none"}
		}
		fmt.Fprintf(&text, "%s: %s\n", what, tools.Visible(strings.Join(names, ", ")))
	}
	line("text of others comes from", found.Untrusted)
	line("private data comes from", found.Private)
	line("data leaves unasked, as far as rules go, through", found.Unguarded)
	line("tools without labels that run unasked", found.Unknown)
	switch {
	case found.Open:
		fmt.Fprintln(&text, "OPEN: what others write can take private data out without a question. Cure: flow: on, or rules that ask.")
	case len(found.Unguarded)+len(found.Unknown) > 0 && found.Flow:
		fmt.Fprintln(&text, "Flow asks about the destinations that nobody named. Tools without labels: callgate tools label SERVER.")
	default:
		fmt.Fprintln(&text, "Nothing leaves unasked.")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

package output

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"callgate/internal/visible"
	"callgate/permissions"
	"callgate/permissions/lint"
)

// Problems prints what lint found.
func Problems(w io.Writer, problems []lint.Problem) error {
	var text strings.Builder
	warnings := 0
	for _, p := range problems {
		if p.Severity == lint.Warning {
			warnings++
		}
		fmt.Fprintf(&text, "%s: %s %s: %s\n    %s\n    cure: %s\n", visible.Text(filepath.Base(p.Source)), p.Severity, p.Check, visible.Text(p.Rule), visible.Text(p.Why), visible.Text(p.Cure))
	}
	fmt.Fprintf(&text, "%s, %s\n", visible.Count(warnings, "warning"), visible.Count(len(problems)-warnings, "note"))
	_, err := io.WriteString(w, text.String())
	return err
}

// Rule is one rule as `callgate rules list --json` shows it.
type Rule struct {
	Source  string `json:"source"`
	Layer   string `json:"layer"`
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Action  string `json:"action"`
}

// Grant is one grant. Index is the argument of `callgate rules revoke`.
type Grant struct {
	Index     int       `json:"index"`
	Source    string    `json:"source"`
	Layer     string    `json:"layer"`
	Tool      string    `json:"tool"`
	Pattern   string    `json:"pattern"`
	Risk      string    `json:"risk"`
	Server    string    `json:"server,omitzero"`
	Workspace string    `json:"workspace,omitzero"`
	By        string    `json:"by,omitzero"`
	At        time.Time `json:"at,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	Expired   bool      `json:"expired,omitzero"`
}

// RulesOf returns the rules in the order in which they apply.
func RulesOf(p *permissions.Policy) []Rule {
	rows := make([]Rule, 0, len(p.Agent)+len(p.File))
	for _, r := range slices.Concat(p.Agent, p.File) {
		rows = append(rows, Rule{r.Source, string(r.Layer), r.Tool, r.Pattern, r.Action.String()})
	}
	return rows
}

// GrantsOf returns the grants with their indices.
func GrantsOf(grants []permissions.Grant, now time.Time) []Grant {
	rows := make([]Grant, len(grants))
	for i, g := range grants {
		rows[i] = Grant{
			i + 1, g.Source, string(g.Layer), g.Tool, g.Covers(), g.Risk.String(), g.Server, g.Workspace, g.By, g.At, g.Expires,
			!g.Expires.IsZero() && !now.Before(g.Expires),
		}
	}
	return rows
}

// Rules prints a table of rules and one of grants. The long column comes last and is cut to fit a terminal.
func Rules(w io.Writer, rules []Rule, grants []Grant) error {
	return tables(w, rules, grants, widthOf(w))
}

// tables is Rules for a terminal of that width. A width of 0 means not to cut.
func tables(w io.Writer, rules []Rule, grants []Grant, width int) error {
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "ACTION\tPLACE\tLAYER\tTOOL\tPATTERN")
	for _, r := range rules {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", r.Action, filepath.Base(r.Source), r.Layer, cut(visible.Text(r.Tool), width/3), visible.Text(strconv.Quote(r.Pattern)))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, cut(strings.TrimSuffix(line, "\n"), width)); err != nil {
			return err
		}
	}
	if len(grants) == 0 {
		return nil
	}
	out = tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "\nINDEX\tUP TO\tEXPIRES\tTOOL\tPATTERN\tSERVER\tWORKSPACE\tBY\tAT\tPLACE")
	for _, g := range grants {
		expires := moment(g.Expires)
		if g.Expired {
			expires += " (expired)"
		}
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Index, g.Risk, expires, visible.Text(g.Tool), cut(visible.Text(strconv.Quote(g.Pattern)), width/3),
			orDash(visible.Text(g.Server)), orDash(visible.Text(g.Workspace)), orDash(visible.Text(g.By)), moment(g.At), filepath.Base(g.Source))
	}
	return out.Flush()
}

// cut shortens text to width characters. A width of 0 means not to cut.
func cut(text string, width int) string {
	if runes := []rune(text); width > 0 && len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

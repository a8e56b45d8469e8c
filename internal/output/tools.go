package output

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"callgate/gate/tools"
	"callgate/internal/inventory"
	"callgate/internal/visible"
)

// Tools prints a table of tools and unreachable servers, and the guard of each server.
func Tools(w io.Writer, found *inventory.Found) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "TOOL\tKIND\tEFFECT\tVERDICT\tRULE")
	for _, r := range found.Tools {
		kind := r.Kind
		if kind != "" && !r.Bound {
			kind += "?"
		}
		verdict := r.Verdict
		if r.Patterns > 0 {
			verdict += fmt.Sprintf(" (%d by value)", r.Patterns)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", r.Tool, orDash(kind), effectOf(r.Labels), verdict, visible.Text(placeOf(r.Rule)))
	}
	for _, name := range slices.Sorted(maps.Keys(found.Down)) {
		fmt.Fprintf(out, "%s\t-\t-\tdown\t%s\n", name, visible.Text(found.Down[name]))
	}
	err := out.Flush()
	if len(found.Tools) > 0 && err == nil {
		_, err = fmt.Fprintln(w, coverage(found.Tools))
	}
	for _, name := range slices.Sorted(maps.Keys(found.Guard)) {
		_, more := fmt.Fprintf(w, "Guard of %s: %s\n", name, found.Guard[name])
		err = errors.Join(err, more)
	}
	return err
}

// placeOf returns the place of a file rule, or any other decider unchanged.
func placeOf(rule string) string {
	if at := strings.LastIndexByte(rule, '('); at >= 0 {
		if place, ok := strings.CutSuffix(rule[at+1:], ", file)"); ok {
			return place
		}
	}
	return rule
}

// effectOf returns a tool's effect and what it returns: "outside", "none (private, untrusted)".
func effectOf(l *tools.Labels) string {
	switch {
	case l == nil:
		return "-"
	case len(l.Returns) == 0:
		return orDash(l.Effect)
	}
	return orDash(l.Effect) + " (" + strings.Join(l.Returns, ", ") + ")"
}

// Draft prints labels for the tools that have none, as YAML.
func Draft(w io.Writer, server string, list []*tools.Tool) error {
	list = slices.DeleteFunc(slices.Clone(list), labelled)
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "# Every tool of %s is labelled.\n", server)
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# A draft from names, schemas and annotations: correct it before you use it.\n")
	fmt.Fprintf(&b, "# effect: none, own, outside, money, deletes, access. returns: private, untrusted, secret, public.\n")
	fmt.Fprintf(&b, "servers:\n  - name: %s\n    tools:\n", quoteYAML(server))
	for _, t := range list {
		l := t.Draft()
		fmt.Fprintf(&b, "      - name: %s\n        effect: %s\n", quoteYAML(t.Name), l.Effect)
		for _, row := range []struct {
			key    string
			values []string
		}{{"returns", l.Returns}, {"destination", l.Destination}, {"content", l.Content}} {
			if len(row.values) == 0 {
				continue
			}
			quoted := make([]string, len(row.values))
			for i, v := range row.values {
				quoted[i] = quoteYAML(v)
			}
			fmt.Fprintf(&b, "        %s: [%s]\n", row.key, strings.Join(quoted, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoteYAML quotes a string unless YAML reads it as the same string anyway.
func quoteYAML(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == "" && strings.ContainsFunc(s, func(r rune) bool { return r > '9' }) {
		switch strings.ToLower(s) {
		case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		default:
			return s
		}
	}
	return fmt.Sprintf("%q", s)
}

// labelled reports whether a tool's effect is known.
func labelled(t *tools.Tool) bool { return t.Labels.Effect != "" || t.Bound && t.Kind != "" }

// coverage describes how many tools are labelled, and which servers have unlabelled ones.
func coverage(rows []inventory.Tool) string {
	missing, n := []string{}, 0
	for _, r := range rows {
		switch {
		case r.Labels != nil && r.Labels.Effect != "" || r.Bound && r.Kind != "":
			n++
		case !slices.Contains(missing, r.Server):
			missing = append(missing, r.Server)
		}
	}
	text := fmt.Sprintf("%d of %d tools are labelled.", n, len(rows))
	if len(missing) > 0 {
		text += " Others: callgate tools label " + strings.Join(missing, " | ") + "."
	}
	return text
}

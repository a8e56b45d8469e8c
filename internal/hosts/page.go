package main

import (
	"fmt"
	"os"
	"strings"
)

// table prints what was found.
func table(rows []row) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| host | over | revision | offered | allowed | denied | asked | form | URL | list_changed | limit | interrupted |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		cells := []string{
			r.host + " " + r.version, r.transport, r.era, r.offered, r.allowed, r.denied, r.asked, r.form, r.url, r.relisted, r.limited, r.interrupted,
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// The table stands between these in the page.
const (
	begins = "<!-- made by internal/hosts -->\n"
	ends   = "<!-- until here -->\n"
)

// update puts the table into the page.
func update(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table: a line %q and later a line %q", path, strings.TrimSpace(begins), strings.TrimSpace(ends))
	}
	return os.WriteFile(path, []byte(before+begins+table+ends+after), 0o644)
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// columns are the names of a row's cells, in the order of the table.
var columns = []string{"offered", "allowed", "denied", "asked", "form", "URL", "list_changed", "limit", "interrupted"}

func (r row) cells() []string {
	return []string{r.offered, r.allowed, r.denied, r.asked, r.form, r.url, r.relisted, r.limited, r.interrupted}
}

// line holds the findings about a host in one revision. If the transports differ, a cell shows both.
type line struct {
	host, over, era string
	cells           []string
}

// lines joins the rows that differ only in their transport.
func lines(rows []row) []line {
	var joined []line
	for _, r := range rows {
		l := line{host: r.host + " " + r.version, over: r.transport, era: r.era, cells: r.cells()}
		if len(joined) == 0 || joined[len(joined)-1].host != l.host || joined[len(joined)-1].era != l.era {
			joined = append(joined, l)
			continue
		}
		last := &joined[len(joined)-1]
		for i, cell := range l.cells {
			if last.cells[i] != cell {
				last.cells[i] += fmt.Sprintf(" (%s: %s)", l.over, cell)
			}
		}
		last.over += ", " + l.over
	}
	return joined
}

// table returns the findings as a table. Columns that say ok in every line become one sentence.
func table(rows []row) string {
	var b strings.Builder
	all := lines(rows)
	var good []string
	var shown []int
	for i, name := range columns {
		if slices.ContainsFunc(all, func(l line) bool { return l.cells[i] != ok }) {
			shown = append(shown, i)
		} else {
			good = append(good, "**"+name+"**")
		}
	}
	if len(good) > 0 {
		fmt.Fprintf(&b, "ok in every run: %s.\n\n", strings.Join(good, ", "))
	}
	head := []string{"host", "revision", "over"}
	for _, i := range shown {
		head = append(head, columns[i])
	}
	fmt.Fprintf(&b, "|%s|\n|%s\n", strings.Join(head, "|"), strings.Repeat("---|", len(head)))
	for _, l := range all {
		cells := []string{l.host, l.era, l.over}
		for _, i := range shown {
			cells = append(cells, l.cells[i])
		}
		fmt.Fprintf(&b, "|%s|\n", strings.Join(cells, "|"))
	}
	return b.String()
}

// The lines around the table in the page.
const (
	begins = "<!-- made by internal/dev/hosts -->\n"
	ends   = "<!-- until here -->\n"
)

// update replaces the table in the page.
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

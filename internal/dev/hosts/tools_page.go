package main

import (
	"cmp"
	"fmt"
	"strings"
)

// toolColumns lists the tools of a row, in the order of the table.
var toolColumns = []string{"shell", "read", "edit", "write", "fetch", "MCP"}

func (row *toolRow) line() []string {
	cells := []string{row.host + " " + row.version}
	for _, c := range toolColumns {
		cell := cmp.Or(row.cells[c], "–")
		cells = append(cells, cell)
	}
	cells = append(cells, "0", row.canary, "–", ok)
	if len(row.unjudged) > 0 {
		cells[len(cells)-4] = "**" + strings.Join(row.unjudged, "; ") + "**"
	}
	if row.cases > 0 {
		cells[len(cells)-2] = fmt.Sprintf("%d of %d", row.refused, row.cases)
	}
	var files []string
	if len(row.undone)+len(row.left) > 0 {
		files = append(files, "**not as before: "+strings.Join(append(row.undone, row.left...), ", ")+"**")
	}
	if len(row.rewrote) > 0 {
		files = append(files, fmt.Sprintf("ok, but for %d that the host wrote meanwhile", len(row.rewrote)))
	}
	if len(files) > 0 {
		cells[len(cells)-1] = strings.Join(files, "; ")
	}
	return cells
}

// toolTable returns the findings as a table.
func toolTable(rows []toolRow) string {
	var b strings.Builder
	head := append(append([]string{"host"}, toolColumns...), "ran undecided", "canary", "corpus", "files")
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for i := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(rows[i].line(), " | "))
	}
	return b.String()
}

// broken reports whether something ran that nobody allowed, a corpus command was not refused, or a file changed.
func (row *toolRow) broken() bool {
	return len(row.unjudged)+len(row.undone)+len(row.left) > 0 || row.refused < row.cases
}

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
)

// Nearest returns the name that text most likely is a misspelling of, "" when it looks like none.
func Nearest(text string, names []string) (best string) {
	least := 1 + max(1, len(text)/4)
	for _, name := range names {
		if d := distance(strings.ToLower(text), strings.ToLower(name)); d < least && name != text {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be added, removed, replaced or swapped with their neighbour.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// meant is a hint at the end of an error, "" when there is none.
func meant(text string, names []string) string {
	if name := Nearest(text, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// Misspelled reports a tool that no rule could be about because a kind or the name of a configured server is
// misspelled in it. Globs and names of servers that this command does not know pass.
func Misspelled(c *Config, tool string) error {
	if strings.ContainsAny(tool, `*?[{(\`) || slices.Contains(tools.Kinds(), tool) {
		return nil
	}
	servers, err := c.ServerNames()
	if err != nil {
		return err
	}
	for _, s := range servers {
		if strings.HasPrefix(tool, s+"_") {
			return nil
		}
	}
	if kind := Nearest(tool, tools.Kinds()); kind != "" {
		return fmt.Errorf("unknown tool %q: did you mean %q?", tool, kind)
	}
	for i := range tool {
		if tool[i] != '_' {
			continue
		}
		if s := Nearest(tool[:i], servers); s != "" {
			return fmt.Errorf("unknown tool %q: did you mean %q? No configured server is called %q", tool, s+tool[i:], tool[:i])
		}
	}
	return nil
}

// workerMakers are the subcommands that may be the first to name a worker.
var workerMakers = []string{"run", "wrap", "serve", "hub"}

// CheckWorker looks at the worker that the command line names.
func (s *Settings) CheckWorker(cmd *cobra.Command) error {
	if !s.Common.Changed("worker") || slices.Contains(workerMakers, cmd.Name()) {
		return nil
	}
	c, err := s.Load()
	if err != nil {
		return nil // the command says what is wrong
	}
	if path := cmd.CommandPath(); path == "callgate rules add" || path == "callgate rules edit" {
		return c.Files().mayMakeWorker()
	}
	return c.Files().knowWorker()
}

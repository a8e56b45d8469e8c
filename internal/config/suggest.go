package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/spelling"
)

// meant is a hint at the end of an error, "" when there is none.
func meant(text string, names []string) string {
	if name := spelling.Nearest(text, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// Misspelled reports a tool that no rule could be about because a kind or the name of a configured server is
// misspelled in it. Globs and names of servers that this command does not know pass.
func Misspelled(c *Config, tool string) error {
	if strings.ContainsAny(tool, `*?[{(\`) {
		return nil
	}
	servers, err := c.ServerNames()
	if err != nil {
		return err
	}
	if meant := spelling.Tool(tool, tools.Kinds(), servers); meant != "" {
		return fmt.Errorf("unknown tool %q: did you mean %q?", tool, meant)
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

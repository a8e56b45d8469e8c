package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/spelling"
)

// didYouMean returns a hint for the end of an error, or "" if no name is near.
func didYouMean(text string, names []string) string {
	if name := spelling.Nearest(text, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// Misspelled returns an error for a tool that no rule could match because a kind or a configured server's name is
// misspelled in it. It accepts globs, and servers that this command does not know.
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

// workerMakers lists the subcommands that may create a worker.
var workerMakers = []string{"run", "wrap", "serve", "hub"}

// CheckWorker returns an error if the worker on the command line does not exist, unless the command may create it.
func (s *Settings) CheckWorker(cmd *cobra.Command) error {
	if !s.Common.Changed("worker") || slices.Contains(workerMakers, cmd.Name()) {
		return nil
	}
	c, err := s.Load()
	if err != nil {
		return nil // the command itself reports what is wrong
	}
	if path := cmd.CommandPath(); path == "callgate rules add" || path == "callgate rules edit" {
		return c.Files().mayMakeWorker()
	}
	return c.Files().knowWorker()
}

package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"callgate/internal/config"
)

// explainConnected adds a command line to an error about a tool, if the tool belongs to a connected host's server.
func explainConnected(err error, c *config.Config, tool string) error {
	if names, wrong := c.ServerNames(); wrong != nil || isOf(tool, names) {
		return err
	}
	for _, file := range config.ConnectedFiles() {
		one := *c
		one.Servers, one.MCPConfig = nil, []string{file}
		if names, wrong := one.ServerNames(); wrong == nil && isOf(tool, names) {
			return fmt.Errorf("%w\nA connected host has its server: %s", err, config.WithServers(os.Args[1:], file))
		}
	}
	return err
}

// isOf reports whether the tool belongs to one of these servers.
func isOf(tool string, servers []string) bool {
	return slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(tool, s+"_") })
}

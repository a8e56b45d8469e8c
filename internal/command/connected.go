package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"callgate/internal/config"
)

// ofConnected says which command lines are about the servers of connected hosts, a line for each file; "" if no host is
// connected.
func ofConnected(args []string) string {
	var b strings.Builder
	for _, file := range config.ConnectedFiles() {
		if b.Len() == 0 {
			b.WriteString("The servers of your connected hosts are in files of their own:\n")
		}
		b.WriteString("  " + withServers(args, file) + "\n")
	}
	return b.String()
}

// withServers is the command line of args with the servers of a file.
func withServers(args []string, file string) string {
	words := []string{"callgate"}
	for _, word := range append(slices.Clone(args), "--mcp-config", file) {
		words = append(words, config.Quote(word))
	}
	return strings.Join(words, " ")
}

// explainConnected adds to an error about a tool which command line knows it, if the tool is that of a connected host.
func explainConnected(err error, c *config.Config, tool string) error {
	if names, wrong := c.ServerNames(); wrong != nil || isOf(tool, names) {
		return err
	}
	for _, file := range config.ConnectedFiles() {
		one := *c
		one.Servers, one.MCPConfig = nil, []string{file}
		if names, wrong := one.ServerNames(); wrong == nil && isOf(tool, names) {
			return fmt.Errorf("%w\nA connected host has its server: %s", err, withServers(os.Args[1:], file))
		}
	}
	return err
}

// isOf reports whether the tool is one of these servers.
func isOf(tool string, servers []string) bool {
	return slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(tool, s+"_") })
}

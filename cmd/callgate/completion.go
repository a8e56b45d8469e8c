package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/gate/tools"
)

// flagValues are the words that a flag takes.
var flagValues = map[string][]string{
	"mode":                   {"ask", "auto-approve", "auto-deny", "no-prompt"},
	"autonomy":               {"FULL_AUTO", "SUPERVISED", "GUIDED", "CAUTIOUS", "MANUAL", "always-ask", "ask-on-write", "ask-on-external", "allow-safe-readonly"},
	"escalation":             {"reject", "ask"},
	"remember":               {"storage", "memory"},
	"terminal":               {"open", "allowlist"},
	"expose-tools":           {exposeAll, exposeSearch},
	"gate":                   {"on", "off"},
	"flow":                   {"on", "off"},
	"log-level":              {"debug", "info", "warn", "error"},
	"auth":                   {"token", "oauth", "none"},
	"checkpoints":            {"disk", checkpointsInMemory, checkpointsOff},
	"checkpoints-on-failure": {"continue", "ask", "deny"},
	"verify-on-failure":      {"report", verifyRollback},
	"rag-kb":                 {kbOfWorker, kbOfSession},
	"embedder":               {embedderStatic, "openai", "ollama"},
	"decision":               decisions,
}

// completeValues lets a shell complete the values of flags and arguments.
func (s *settings) completeValues(cmd *cobra.Command) {
	each := func(f *pflag.Flag) {
		complete := cobra.FixedCompletions(flagValues[f.Name], cobra.ShellCompDirectiveNoFileComp)
		switch {
		case f.Name == "worker":
			complete = s.complete(func(c *config) []string { return append(c.workers(), defaultWorker) })
		case f.Name == "agent":
			complete = s.complete((*config).agentNames)
		case f.Name == "tool":
			complete = s.complete((*config).toolWords)
		case flagValues[f.Name] == nil:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails for a flag that several commands share: it is there already
	}
	cmd.LocalFlags().VisitAll(each)
	switch cmd.CommandPath() {
	case "callgate call", "callgate check", "callgate rules remove":
		cmd.ValidArgsFunction = s.arguments((*config).toolWords)
	case "callgate rules add":
		cmd.ValidArgsFunction = s.arguments((*config).toolWords, nil, func(*config) []string { return []string{"allow", "ask", "confirm", "deny"} })
	case "callgate login", "callgate logout":
		cmd.ValidArgsFunction = s.arguments((*config).knownServers)
	}
	for _, sub := range cmd.Commands() {
		s.completeValues(sub)
	}
}

func (s *settings) complete(words func(*config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		c, err := s.load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		fitting := slices.DeleteFunc(words(c), func(w string) bool { return !strings.HasPrefix(w, begun) })
		slices.Sort(fitting)
		return slices.Compact(fitting), cobra.ShellCompDirectiveNoFileComp
	}
}

// arguments completes the first argument with the first function, and so on; nil completes nothing.
func (s *settings) arguments(at ...func(*config) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(at) || at[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.complete(at[len(args)])(cmd, args, begun)
	}
}

func (c *config) agentNames() (names []string) {
	agents, err := c.agents()
	if err != nil {
		return nil // the command says what is wrong
	}
	for _, a := range agents {
		names = append(names, a.Name)
	}
	return names
}

func (c *config) knownServers() []string {
	names, err := c.serverNames()
	if err != nil {
		return nil // likewise
	}
	return names
}

// toolWords are the kinds, and the beginnings of the names of servers' tools.
func (c *config) toolWords() []string {
	words := slices.Clone(tools.Kinds())
	for _, name := range c.knownServers() {
		words = append(words, name+"_*")
	}
	return words
}

package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/config"
)

// flagValues lists the words that each flag takes.
var flagValues = map[string][]string{
	"mode":                   {"ask", "auto-approve", "auto-deny", "no-prompt"},
	"autonomy":               {"FULL_AUTO", "SUPERVISED", "GUIDED", "CAUTIOUS", "MANUAL", "always-ask", "ask-on-write", "ask-on-external", "allow-safe-readonly"},
	"escalation":             {"reject", "ask"},
	"remember":               {"storage", "memory"},
	"terminal":               {"open", "allowlist"},
	"expose-tools":           {config.ExposeAll, config.ExposeSearch},
	"gate":                   {"on", "off"},
	"flow":                   {"on", "off"},
	"log-level":              {"debug", "info", "warn", "error"},
	"auth":                   {"token", "oauth", "none"},
	"checkpoints":            {"disk", config.CheckpointsInMemory, config.CheckpointsOff},
	"checkpoints-on-failure": {"continue", "ask", "deny"},
	"verify-on-failure":      {"report", config.VerifyRollback},
	"rag-kb":                 {config.KBOfWorker, config.KBOfSession},
	"embedder":               {config.EmbedderStatic, "openai", "ollama"},
	"decision":               gate.Decisions(),
}

// completeValues lets shells complete the values of flags and arguments.
func completeValues(s *config.Settings, cmd *cobra.Command) {
	each := func(f *pflag.Flag) {
		complete := cobra.FixedCompletions(flagValues[f.Name], cobra.ShellCompDirectiveNoFileComp)
		switch {
		case f.Name == "worker":
			complete = completeFrom(s, func(c *config.Config) []string { return append(c.Files().Workers(), config.DefaultWorker) })
		case f.Name == "agent":
			complete = completeFrom(s, agentNames)
		case f.Name == "tool":
			complete = completeFrom(s, toolWords)
		case flagValues[f.Name] == nil:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails if another command shares the flag, which is then already registered
	}
	cmd.LocalFlags().VisitAll(each)
	switch cmd.CommandPath() {
	case "callgate call", "callgate check", "callgate rules remove":
		cmd.ValidArgsFunction = completeArguments(s, toolWords)
	case "callgate rules add":
		cmd.ValidArgsFunction = completeArguments(s, toolWords, nil, func(*config.Config) []string { return []string{"allow", "ask", "confirm", "deny"} })
	case "callgate login", "callgate logout":
		cmd.ValidArgsFunction = completeArguments(s, knownServers)
	}
	for _, sub := range cmd.Commands() {
		completeValues(s, sub)
	}
}

func completeFrom(s *config.Settings, words func(*config.Config) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		c, err := s.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		fitting := slices.DeleteFunc(words(c), func(w string) bool { return !strings.HasPrefix(w, begun) })
		slices.Sort(fitting)
		return slices.Compact(fitting), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeArguments completes each argument with the function at its position. A nil function completes nothing.
func completeArguments(s *config.Settings, at ...func(*config.Config) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(at) || at[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeFrom(s, at[len(args)])(cmd, args, begun)
	}
}

func agentNames(c *config.Config) (names []string) {
	agents, err := c.Agents()
	if err != nil {
		return nil // the command itself reports what is wrong
	}
	for _, a := range agents {
		names = append(names, a.Name)
	}
	return names
}

func knownServers(c *config.Config) []string {
	names, err := c.ServerNames()
	if err != nil {
		return nil // likewise
	}
	return names
}

// toolWords returns the kinds, and the prefixes of the names of servers' tools.
func toolWords(c *config.Config) []string {
	words := slices.Clone(tools.Kinds())
	for _, name := range knownServers(c) {
		words = append(words, name+"_*")
	}
	return words
}

package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/manual"
)

// flagGroup is a section in the help of subcommands with many flags.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

func flagGroups(s *config.Settings) []flagGroup {
	return []flagGroup{
		{"General", s.Common}, {"Decisions", s.Policy}, {"Approvers", s.Listen}, {"Hosts over HTTP", s.Serve}, {"Search", s.Search},
		{"Checkpoints", s.Keep}, {"Verification", s.Checks}, {"Cluster", s.Shared},
	}
}

// firstFlags lists the settings that help shows without --help-all, if a subcommand has one flag and not the other.
var firstFlags = []struct {
	having, without string
	show            []string
}{
	{"config", "", []string{"config", "data-dir", "worker"}},
	{"mcp-config", "", []string{"mcp-config"}},
	{"mode", "", []string{"agent", "mode", "autonomy"}},
	{"verify-timeout", "", []string{"timeout", "listen", "rag"}},
	{"mcp-listen", "", []string{"mcp-listen", "auth", "mcp-host"}},
	{"listen", "mode", []string{"listen", "listen-remote", "listen-host", "tls-cert", "tls-key"}},
	{"root", "mode", []string{"root", "embedder"}},
	{"cluster", "", []string{"cluster"}},
}

const helpAll = "help-all"

// explainCommands gives every subcommand a help text that begins with what people use first.
func explainCommands(s *config.Settings, root *cobra.Command) {
	root.PersistentFlags().Bool(helpAll, false, "show every flag")
	root.PersistentFlags().Lookup(helpAll).Hidden = true // the help names it if there are more flags
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageOf(s, cmd))
		return err
	})
}

// askForHelp adds --help in front of --help-all.
func askForHelp(args []string) []string {
	at := slices.Index(args, "--"+helpAll)
	if end := slices.Index(args, "--"); at < 0 || end >= 0 && end < at {
		return args
	}
	return slices.Insert(slices.Clone(args), at, "--help")
}

func usageOf(s *config.Settings, cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	writeFlags(s, &b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

func writeFlags(s *config.Settings, b *strings.Builder, cmd *cobra.Command) {
	everything, _ := cmd.Flags().GetBool(helpAll) // fails only before the flags are parsed
	accepts := func(name string) bool {
		return cmd.LocalFlags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
	}
	var first []string
	for _, f := range firstFlags {
		if accepts(f.having) && (f.without == "" || !accepts(f.without)) {
			first = append(first, f.show...)
		}
	}
	groups := flagGroups(s)
	own, shown := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	more := 0
	each := func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case !slices.ContainsFunc(groups, func(g flagGroup) bool { return g.flags.Lookup(f.Name) == f }) || !cmd.HasParent():
			own.AddFlag(f)
		case slices.Contains(first, f.Name):
			shown.AddFlag(f)
		default:
			more++
		}
	}
	cmd.LocalFlags().VisitAll(each)
	cmd.InheritedFlags().VisitAll(each)
	section := func(title string, flags *pflag.FlagSet) {
		if flags.HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s:\n%s", title, flags.FlagUsagesWrapped(120))
		}
	}
	section("Flags", own)
	if !everything {
		section("Settings, also in callgate.yaml", shown)
		if more > 0 {
			fmt.Fprintf(b, "\n%d more settings: %s --%s\n", more, cmd.CommandPath(), helpAll)
		}
		return
	}
	for _, g := range groups {
		accepted := pflag.NewFlagSet("", pflag.ContinueOnError)
		g.flags.VisitAll(func(f *pflag.Flag) {
			if f.Name != helpAll && accepts(f.Name) && own.Lookup(f.Name) == nil {
				accepted.AddFlag(f)
			}
		})
		section(g.title, accepted)
	}
}

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    `Man writes a manual page for callgate and for each of its commands, with the texts of --help.`,
		Example: "  callgate man ~/.local/share/man/man1",
		Args:    config.ArgsExactly(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return manual.Write(args[0], cmd.Root(), app.Version) },
	}
}

package rules

import (
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/rulebook"
	"callgate/internal/translate"
)

func newRulesExportCommand(s *config.Settings) *cobra.Command {
	var to, rulesFile string
	formats := translate.To()
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the rules in the language of another program",
		Long: `Export prints your rules in the language of Claude Code (settings.json), Codex (.rules), opencode (opencode.json), Gemini
CLI (.toml) or Cedar. It lists on standard error what does not translate, and leaves out grants.`,
		Example: `  callgate rules export --to claude > .claude/settings.json
  callgate rules export --to cedar --file permissions.jsonc`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(formats, to) {
				return config.OneOf("--to", to, formats)
			}
			c, book, done, err := openFor(cmd, s)
			if err != nil {
				return err
			}
			defer done()
			policy, err := rulebook.ReadPolicy(rulesFile)
			if policy == nil && err == nil {
				policy, err = book.Store.Policy()
			}
			if err != nil {
				return err
			}
			e := &translate.Export{Rules: policy.File, Home: xdg.Home}
			for _, server := range c.Servers {
				e.Servers = append(e.Servers, server.Name)
			}
			text, _, err := e.Write(to)
			if err != nil {
				return err
			}
			if _, err := cmd.OutOrStdout().Write(text); err != nil {
				return err
			}
			return translate.Print(cmd.ErrOrStderr(), e.Left)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the other `program`: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // the flag is declared
	cmd.Flags().StringVar(&rulesFile, "file", "", "export this rules `file` instead of the worker's")
	return cmd
}

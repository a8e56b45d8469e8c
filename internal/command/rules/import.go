package rules

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/translate"
	"callgate/permissions"
)

func newRulesImportCommand(s *config.Settings) *cobra.Command {
	var from string
	var applies bool
	formats := translate.From()
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read permissions of another program",
		Long: `Import translates a settings.json of Claude Code, a .rules file of Codex, an opencode.json or a policy
of Gemini CLI into rules of callgate, and prints them. FILE is - for standard input. Standard error lists what does not
translate.

--apply adds the rules to the end of the worker's file, where they win, and keeps a backup. A deny takes the place of a
rule with the same pattern. The exit code is 1 if a rule that asks or denies is not in force afterwards. Without
--apply, nothing changes.`,
		Example: `  callgate rules import --from claude ~/.claude/settings.json
  callgate rules import --from codex ~/.codex/rules/default.rules --apply`,
		Args: config.ArgsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, ok := translate.Importers[from]
			if from == "cedar" {
				return fmt.Errorf("--from cedar: callgate evaluates Cedar policies as they are: write policy: {cedar: [%s]} into callgate.yaml instead", args[0])
			}
			if !ok {
				return config.OneOf("--from", from, formats)
			}
			text, err := readOrStdin(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			im, err := read(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := translate.Print(cmd.ErrOrStderr(), im.Left); err != nil {
				return err
			}
			file, err := im.File()
			if err != nil {
				return err
			}
			if _, err := permissions.ParseFile("the imported rules", file, xdg.Home); err != nil {
				return err
			}
			if !applies {
				_, err = cmd.OutOrStdout().Write(file)
				return err
			}
			return applyImport(cmd, s, im, from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the other `program`: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // the flag is declared
	cmd.Flags().BoolVar(&applies, "apply", false, "add the rules to the worker's file and keep a backup")
	return cmd
}

func readOrStdin(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

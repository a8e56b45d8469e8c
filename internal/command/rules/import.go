package rules

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/translate"
	"callgate/permissions"
	"callgate/permissions/store"
)

func newRulesImportCommand(s *config.Settings) *cobra.Command {
	var from string
	var applies bool
	formats := translate.From()
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read permissions of another program",
		Long: `Import translates a settings.json of Claude Code, a .rules file of Codex, an opencode.json or a policy of Gemini CLI into
rules of callgate, and prints them. FILE is - for standard input. Standard error lists what does not translate.

--apply adds the rules to the end of the worker's file, where they win, and keeps a backup. Without it, nothing changes.`,
		Example: `  callgate rules import --from claude ~/.claude/settings.json
  callgate rules import --from codex ~/.codex/rules/default.rules --apply`,
		Args: config.ArgsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, ok := translate.Importers[from]
			if from == "cedar" {
				return fmt.Errorf("--from cedar: callgate evaluates Cedar policies as they are: write policy: {cedar: [%s]} into callgate.yaml instead", args[0])
			}
			if !ok {
				return fmt.Errorf("--from %q: use %s", from, strings.Join(formats, ", "))
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
	cmd.Flags().BoolVar(&applies, "apply", false, "add the rules to the worker's file and keep a backup")
	return cmd
}

func readOrStdin(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

func applyImport(cmd *cobra.Command, s *config.Settings, im *translate.Import, from string) error {
	_, book, err := Open(s, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	im.Rules = im.Ordered()
	var refused []translate.Left
	var lost []int // of the rules: what is not an allow and is refused
	add := func(rules *store.Store) error {
		refused, lost = nil, nil
		for i, r := range im.Rules {
			if _, err := rules.AddRule(r.Tool, r.Pattern, r.Action, r.Before); err != nil {
				refused = append(refused, translate.Left{What: r.From, Why: err.Error()})
				if r.Action != permissions.Allow {
					lost = append(lost, i)
				}
			}
		}
		return nil
	}
	base, text, err := book.Changed(add)
	if err == nil && len(lost) > 0 { // a rule that is in the file stays where it is, before what is added
		known := len(im.Left)
		im.WithdrawFor(lost, "is in the file already, before it")
		base, text, err = book.Changed(add)
		refused = append(refused, im.Left[known:]...)
	}
	if err != nil {
		return err
	}
	if err := translate.Print(cmd.ErrOrStderr(), refused); err != nil || string(base) == string(text) {
		return err
	}
	output.Diff(cmd.OutOrStdout(), base, text)
	return book.Install(base, text, im.Summary(from))
}

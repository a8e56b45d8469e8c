package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/permissions"
)

func newRulesCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List, change and test rules and grants",
		Long: `Rules works on the worker's permissions.jsonc. Every change is checked first, keeps comments and order, is on record,
and applies to the next call, also in running callgates.`,
		Example: `  callgate rules list
  callgate rules add shell_exec 'git push *' confirm
  callgate rules test
  callgate rules simulate --file new.jsonc --since 168h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newRulesListCommand(s), newRulesRevokeCommand(s), newRulesAddCommand(s), newRulesRemoveCommand(s),
		newRulesEditCommand(s), newRulesTestCommand(s), newRulesSimulateCommand(s), newRulesLintCommand(s), newRulesDefaultsCommand(s),
	)
	return cmd
}

// ruleFile is the worker's rules file as the subcommands that change it see it.
type ruleFile struct {
	config *config.Config
	store  *permissions.Store
	out    io.Writer
}

func openRulebook(s *config.Settings, out io.Writer) (*ruleFile, error) {
	c, err := s.Load()
	if err != nil {
		return nil, err
	}
	store := permissions.OpenStore(c.PermissionsFile(), permissions.StoreOptions{Home: xdg.Home})
	return &ruleFile{config: c, store: store, out: out}, nil
}

// change runs a change of the file and puts it on record. Where nothing can be recorded, nothing changes. The
// summary that apply returns says what changed; "" is no change.
func (b *ruleFile) change(apply func() (summary string, err error)) (err error) {
	return changeRules(b.config, apply)
}

// change is what a person changes from a command line: on record, or not done.
func changeRules(c *config.Config, apply func() (summary string, err error)) (err error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("dataDir: %w", err)
	}
	log, err := audit.Open(audit.Dir(c.DataDir), audit.Options{})
	if err != nil {
		return fmt.Errorf("the change could not be recorded, so nothing was changed: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	summary, err := apply()
	if summary == "" {
		return err
	}
	_, recordErr := log.Append(audit.Record{Event: audit.Control, Worker: c.Worker, By: "cli:" + userName(), Summary: summary})
	if recordErr != nil {
		recordErr = fmt.Errorf("the change was made, but could not be recorded: %w", recordErr)
	}
	return errors.Join(err, recordErr)
}

// say prints one line.
func (b *ruleFile) say(format string, args ...any) error {
	_, err := fmt.Fprintln(b.out, tools.Visible(fmt.Sprintf(format, args...)))
	return err
}

// readRules reads the rules file at path.
func readRules(path string) (*permissions.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return permissions.ParseFile(path, text, xdg.Home)
}

// oneLine joins rules for a sentence.
func oneLine(rules []permissions.Rule) string {
	texts := make([]string, len(rules))
	for i := range rules {
		texts[i] = rules[i].String()
	}
	return strings.Join(texts, "; ")
}

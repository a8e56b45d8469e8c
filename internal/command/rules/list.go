package rules

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/permissions"
)

func newRulesListCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List rules and grants in the order that they apply",
		Long: `List prints the rules in the order of the file (the last that matches wins), and the grants with their numbers for
"callgate rules revoke". With --agent the profile's rules come first; its denies are final. Grants for one session are
not in the file and not listed.`,
		Args: config.NoArgs,
		RunE: opened(s, func(cmd *cobra.Command, c *config.Config, b *rulebook.Book, _ []string) error {
			policy, err := layers(c, b)
			if err != nil {
				return err
			}
			rules, grants := output.RulesOf(policy), output.GrantsOf(policy.Grants, time.Now())
			if asJSON {
				return output.JSON(b.Out, map[string]any{"file": b.Store.Path(), "rules": rules, "grants": grants})
			}
			return output.Rules(b.Out, rules, grants)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// layers returns the worker's rules, with those of the configured agent profile in front.
func layers(c *config.Config, b *rulebook.Book) (*permissions.Policy, error) {
	policy, err := b.Store.Policy()
	if err != nil || c.Agent == "" {
		return policy, err
	}
	agent, err := c.AgentRules()
	if err != nil {
		return nil, err
	}
	return policy.With(agent, nil)
}

func newRulesRevokeCommand(s *config.Settings) *cobra.Command {
	var all bool
	var tool string
	cmd := &cobra.Command{
		Use:   "revoke NUMBER... | --all | --tool GLOB",
		Short: "Take back grants (answers of \"always\")",
		Long: `Revoke removes grants from the file: by the numbers that "callgate rules list" shows, by a glob over tools, or all.
From the next call on, their calls ask again.`,
		Example: `  callgate rules revoke 2
  callgate rules revoke --tool 'github_*'`,
		Args: func(_ *cobra.Command, args []string) error {
			ways := 0
			for _, given := range []bool{len(args) > 0, all, tool != ""} {
				if given {
					ways++
				}
			}
			if ways != 1 {
				return errors.New("revoke needs the numbers of grants in callgate rules list, --all or --tool")
			}
			return nil
		},
		RunE: opened(s, func(cmd *cobra.Command, _ *config.Config, b *rulebook.Book, args []string) error {
			return b.Revoke(args, tool)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all grants")
	cmd.Flags().StringVar(&tool, "tool", "", "grants whose tool matches this `glob`")
	return cmd
}

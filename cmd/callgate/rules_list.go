package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/output"

	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/visible"
	"callgate/permissions"
)

func newRulesListCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List rules and grants in the order that they apply",
		Long: `List prints the rules in the order of the file (the last that matches wins), and the grants with the index for
"callgate rules revoke". With --agent the profile's rules come first; its denies are final. Grants for one session are
not in the file and not listed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			policy, err := b.layers()
			if err != nil {
				return err
			}
			rules, grants := output.RulesOf(policy), output.GrantsOf(policy.Grants, time.Now())
			if asJSON {
				return output.JSON(b.out, map[string]any{"file": b.store.Path(), "rules": rules, "grants": grants})
			}
			return output.Rules(b.out, rules, grants)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// layers returns the worker's rules, behind those of the agent profile if one is configured.
func (b *ruleFile) layers() (*permissions.Policy, error) {
	policy, err := b.store.Policy()
	if err != nil || b.config.Agent == "" {
		return policy, err
	}
	agent, err := b.config.AgentRules()
	if err != nil {
		return nil, err
	}
	return policy.With(agent, nil)
}

func newRulesRevokeCommand(s *config.Settings) *cobra.Command {
	var all bool
	var tool string
	cmd := &cobra.Command{
		Use:   "revoke INDEX... | --all | --tool GLOB",
		Short: "Take back grants (answers of \"always\")",
		Long: `Revoke removes grants from the file: those with the indices that "callgate rules list" shows, those whose tool matches
a glob, or all. From the next call on, their calls ask again.`,
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
				return errors.New("revoke needs either indices from callgate rules list, --all, or --tool")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return b.change(func() (string, error) { return b.revoke(args, tool) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all grants")
	cmd.Flags().StringVar(&tool, "tool", "", "grants whose tool matches this `glob`")
	return cmd
}

// revoke removes the grants at the indices, or those whose tool matches, or all. An index means the grant that
// stands there now: when another process changes the file in between, it is still that grant that goes.
func (b *ruleFile) revoke(indices []string, tool string) (string, error) {
	policy, err := b.store.Policy()
	if err != nil {
		return "", err
	}
	var chosen []permissions.Grant
	for _, text := range indices {
		i, err := strconv.Atoi(text)
		if err != nil || i < 1 || i > len(policy.Grants) {
			return "", fmt.Errorf("there is no grant %s: callgate rules list shows %s", text, visible.Count(len(policy.Grants), "grant"))
		}
		chosen = append(chosen, policy.Grants[i-1])
	}
	if len(indices) == 0 {
		glob, err := permissions.CompileGlob(cmp.Or(tool, "*"))
		if err != nil {
			return "", err
		}
		chosen = slices.DeleteFunc(slices.Clone(policy.Grants), func(g permissions.Grant) bool { return !glob.Match(g.Tool) })
	}
	var gone []string
	n, err := b.store.RemoveGrants(func(g permissions.Grant) bool {
		if !slices.ContainsFunc(chosen, g.Same) {
			return false
		}
		gone = append(gone, g.String())
		return true
	})
	if err != nil {
		return "", err
	}
	gone = gone[len(gone)-n:] // a retry asks about each grant again
	slices.Reverse(gone)
	for _, g := range gone {
		if err := b.say("revoked %s", g); err != nil {
			return "", err
		}
	}
	if n == 0 {
		return "", b.say("nothing to revoke")
	}
	return fmt.Sprintf("Revoked %s: %s.", visible.Count(n, "grant"), strings.Join(gone, "; ")), nil
}

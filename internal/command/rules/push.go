package rules

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/permissions"
)

func newRulesPushCommand(s *config.Settings) *cobra.Command {
	var file string
	var onto uint64
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Replace the rules of all replicas with a file",
		Long: `Push checks the file and makes it the cluster's rules. All replicas use it from the next call on and record it. Push
refuses a file that lacks grants given meanwhile: pull first, or name the revision to replace with --onto.`,
		Example: `  callgate rules push
  callgate rules push --file policy/
  callgate rules push --file permissions.jsonc --onto 42`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSharedRules(cmd.Context(), s, file, func(r sharedRules) error {
				if r.text == nil {
					return fmt.Errorf("%s: there is no such file", r.file)
				}
				next, err := permissions.ParseFile(r.file, r.text, xdg.Home)
				if err != nil {
					return fmt.Errorf("nothing was pushed: %w", err)
				}
				if bytes.Equal(r.text, r.now.Text) {
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "revision %d has these rules already\n", r.now.Revision)
					return err
				}
				if onto != 0 && onto != r.now.Revision {
					return fmt.Errorf("nothing was pushed: the cluster has revision %d, not %d: look at callgate rules diff", r.now.Revision, onto)
				}
				if before, err := permissions.ParseFile("cluster", r.now.Text, xdg.Home); err == nil && onto == 0 && lacksGrants(next.Grants, before.Grants) {
					return fmt.Errorf("nothing was pushed: revision %d has grants that %s lacks: run callgate rules pull and merge them, or drop them with --onto %d", r.now.Revision, r.file, r.now.Revision)
				}
				var revision uint64
				err = app.Change(r.c, func() (string, error) {
					revision, err = r.document.Replace(cmd.Context(), r.now.Revision, r.text, "cli:"+app.UserName())
					if err != nil {
						return "", fmt.Errorf("nothing is known to have changed: %w", err)
					}
					return fmt.Sprintf("Rules: pushed revision %d in place of %d.", revision, r.now.Revision), nil
				})
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "pushed revision %d: %d rules, %d grants\n", revision, len(next.Rules), len(next.Grants))
				app.AwaitReplicas(cmd.Context(), r.cluster, revision, cmd.ErrOrStderr())
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`file`, or folder with workers/NAME/permissions.jsonc (default: the worker's own)")
	cmd.Flags().Uint64Var(&onto, "onto", 0, "`revision` to replace, with its grants; push refuses if it is not the newest")
	return cmd
}

// lacksGrants reports whether next lacks one of the grants in before.
func lacksGrants(next, before []permissions.Grant) bool {
	has := map[string]bool{}
	for _, g := range next {
		has[fmt.Sprintf("%+v", g)] = true
	}
	return slices.ContainsFunc(before, func(g permissions.Grant) bool { return !has[fmt.Sprintf("%+v", g)] })
}

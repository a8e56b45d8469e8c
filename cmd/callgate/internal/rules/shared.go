package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"callgate/cmd/callgate/internal/exit"
	"callgate/internal/app"
	"callgate/internal/cluster"
	"callgate/internal/config"
	"callgate/internal/durable"
	"callgate/internal/output"
	"callgate/permissions"
)

// sharedRules are the rules of a cluster beside a file.
type sharedRules struct {
	c        *config.Config
	document cluster.Document
	now      cluster.Version
	file     string
	text     []byte // of the file; nil when there is none
}

// withSharedRules runs f with the rules of the cluster and those of file, "" for the worker's own.
func withSharedRules(ctx context.Context, s *config.Settings, file string, f func(sharedRules) error) error {
	c, err := s.Load()
	if err != nil {
		return err
	}
	shared, err := app.LookAtCluster(ctx, c, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	r := sharedRules{c: c, document: shared.Document("rules"), file: file}
	if r.file == "" {
		r.file = c.Files().Permissions()
	} else if info, err := os.Stat(r.file); err == nil && info.IsDir() { // a folder of a repository
		r.file = filepath.Join(r.file, "workers", c.Worker, "permissions.jsonc")
	}
	if r.now, err = r.document.Read(ctx); err != nil {
		return err
	}
	if r.text, err = os.ReadFile(r.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return f(r)
}

func newRulesPushCommand(s *config.Settings) *cobra.Command {
	var file string
	var onto uint64
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Make a file the rules of all replicas",
		Long: `Push checks the file and makes it the next version of the cluster's rules. All replicas go by it from the next call on, and
each puts it on record. Grants that people gave meanwhile are kept: push refuses a file that lacks some of them unless
you pull first, or name the revision to replace with --onto.`,
		Example: `  callgate rules push
  callgate rules push --file policy/
  callgate rules push --file permissions.jsonc --onto 42`,
		Args: cobra.NoArgs,
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
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`file`, or folder with workers/NAME/permissions.jsonc (default: the worker's own)")
	cmd.Flags().Uint64Var(&onto, "onto", 0, "`revision` that has to be the newest; its grants may go")
	return shareFlags(s, cmd)
}

// lacksGrants reports whether one of before is not among next.
func lacksGrants(next, before []permissions.Grant) bool {
	has := map[string]bool{}
	for _, g := range next {
		has[fmt.Sprintf("%+v", g)] = true
	}
	for _, g := range before {
		if !has[fmt.Sprintf("%+v", g)] {
			return true
		}
	}
	return false
}

func newRulesPullCommand(s *config.Settings) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Write the rules of all replicas to a file",
		Long: `Pull writes the newest version of the cluster's rules to the file. What was there before stays beside it, as
permissions.jsonc.before.`,
		Example: `  callgate rules pull
  callgate rules pull --file policy/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSharedRules(cmd.Context(), s, file, func(r sharedRules) error {
				if r.now.Revision == 0 {
					return errors.New("the cluster has no rules yet")
				}
				if bytes.Equal(r.text, r.now.Text) {
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is revision %d already\n", r.file, r.now.Revision)
					return err
				}
				if err := os.MkdirAll(filepath.Dir(r.file), 0o700); err != nil {
					return err
				}
				if r.text != nil {
					if err := durable.Replace(r.file+".before", r.text, 0o600); err != nil {
						return err
					}
				}
				if err := durable.Replace(r.file, r.now.Text, 0o600); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is revision %d now, by %s\n", r.file, r.now.Revision, r.now.By)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`file`, or folder with workers/NAME/permissions.jsonc (default: the worker's own)")
	return shareFlags(s, cmd)
}

func newRulesDiffCommand(s *config.Settings) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show what push would change",
		Long:  `Diff shows how the file differs from the newest version of the cluster's rules. It exits with 1 when they differ.`,
		Example: `  callgate rules diff
  callgate rules diff --file policy/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSharedRules(cmd.Context(), s, file, func(r sharedRules) error {
				if bytes.Equal(r.text, r.now.Text) {
					return nil
				}
				output.Diff(cmd.OutOrStdout(), diff.Diff(fmt.Sprintf("cluster (revision %d)", r.now.Revision), r.now.Text, r.file, r.text))
				return exit.Code(1)
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`file`, or folder with workers/NAME/permissions.jsonc (default: the worker's own)")
	return shareFlags(s, cmd)
}

// shareFlags gives a command the flags that name a cluster.
func shareFlags(s *config.Settings, cmd *cobra.Command) *cobra.Command {
	cmd.Flags().AddFlagSet(s.Shared)
	return cmd
}

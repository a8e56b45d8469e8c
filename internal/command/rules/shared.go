package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/cluster"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/durable"
	"callgate/internal/output"
)

// sharedRules holds the rules of a cluster and those of a file.
type sharedRules struct {
	c        *config.Config
	cluster  *cluster.Cluster
	document cluster.Document
	now      cluster.Version
	file     string
	text     []byte // content of the file; nil if there is none
}

// withSharedRules runs f with the rules of the cluster and those of a file. For "", it takes the worker's file.
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
	r := sharedRules{c: c, cluster: shared, document: shared.Document("rules"), file: file}
	if r.file == "" {
		r.file = c.Files().Permissions()
	} else if info, err := os.Stat(r.file); err == nil && info.IsDir() { // a folder in a repository
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

// folder makes the folder that pull writes to, if it is in the data directory or in the folder that was named. If a
// file was named, its folder must exist.
func (r sharedRules) folder(named string) error {
	dir := filepath.Dir(r.file)
	if _, err := os.Stat(dir); named == r.file && err != nil {
		return fmt.Errorf("--file %s: its folder is not there: make it first: %w", named, err)
	}
	return os.MkdirAll(dir, 0o700)
}

func newRulesPullCommand(s *config.Settings) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Write the rules of all replicas to a file",
		Long: `Pull writes the newest version of the cluster's rules to the file. It keeps the old file beside it, as
permissions.jsonc.before.`,
		Example: `  callgate rules pull
  callgate rules pull --file policy/`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSharedRules(cmd.Context(), s, file, func(r sharedRules) error {
				if r.now.Revision == 0 {
					return errors.New("the cluster has no rules yet")
				}
				if bytes.Equal(r.text, r.now.Text) {
					_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is revision %d already\n", r.file, r.now.Revision)
					return err
				}
				if err := r.folder(file); err != nil {
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
	return cmd
}

func newRulesDiffCommand(s *config.Settings) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show what push would change",
		Long:  `Diff shows how the file differs from the newest version of the cluster's rules. It exits with 1 when they differ.`,
		Example: `  callgate rules diff
  callgate rules diff --file policy/`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSharedRules(cmd.Context(), s, file, func(r sharedRules) error {
				if bytes.Equal(r.text, r.now.Text) {
					return nil
				}
				output.Diff(cmd.OutOrStdout(), r.now.Text, r.text)
				return exit.Code(1)
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`file`, or folder with workers/NAME/permissions.jsonc (default: the worker's own)")
	return cmd
}

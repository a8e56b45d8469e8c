package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/companion"
)

// credentialNames are the secrets that can be replaced.
var credentialNames = []string{string(companion.CredentialApprove), string(companion.CredentialView), string(companion.CredentialMCP), string(companion.CredentialWorker), string(companion.CredentialTools)}

func newCredentialsCommand(dataDir func() (string, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Replace the secrets that clients use",
		Long: `Each secret is a file in {dataDir}/credentials that only you can read. None implies another: approve answers,
view watches, mcp is for hosts, worker lets a callgate process join the hub, tools brings tools into
sessions.`,
	}
	cmd.AddCommand(&cobra.Command{
		Use:       "rotate NAME",
		Short:     "Replace one secret; clients that hold the old one are turned away at once",
		Example:   "  callgate credentials rotate approve",
		ValidArgs: credentialNames,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := dataDir()
			if err != nil {
				return err
			}
			credentials, err := companion.OpenCredentials(dir)
			if err != nil {
				return err
			}
			if err := credentials.Rotate(companion.Credential(args[0])); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the credential %s is a new secret now\n", args[0])
			return err
		},
	})
	return cmd
}

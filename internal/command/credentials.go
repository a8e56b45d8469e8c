package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
)

// credentialNames returns the names of the credentials that can be replaced.
func credentialNames() (names []string) {
	for _, name := range credentials.Names() {
		names = append(names, string(name))
	}
	return names
}

// asTheyAre opens the credentials of a data directory even if some are damaged or open to other users.
func asTheyAre(dataDir string) (*credentials.Store, error) { return credentials.At(dataDir), nil }

// changeCredential changes a credential and records that.
func changeCredential(dataDir, summary string, do func() error) error {
	return app.Change(&config.Config{DataDir: dataDir}, func() (string, error) {
		if err := do(); err != nil {
			return "", err
		}
		return summary, nil
	})
}

func newCredentialsCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Manage the credentials of clients and people",
		Long: `Each credential is a file in {dataDir}/credentials that only you can read. No credential can do what
another is for:

  approve   answers calls
  view      watches
  mcp       connects a host
  worker    lets a callgate process join the hub
  tools     brings tools into sessions
  prompt    reports what the user said to the model
  hook      lets hooks of hosts ask about calls

A person can have a credential of their own, such as approve@alice.`,
		Example: `  callgate credentials rotate mcp
  callgate credentials add approve@alice`,
	}
	change := func(done, record string, open func(dataDir string) (*credentials.Store, error), do func(*credentials.Store, credentials.Credential) error) func(*cobra.Command, []string) error {
		return config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			held, err := open(c.DataDir)
			if err != nil {
				return err
			}
			if err := changeCredential(c.DataDir, fmt.Sprintf(record, args[0]), func() error { return do(held, credentials.Credential(args[0])) }); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), done+"\n", args[0], filepath.Join(c.DataDir, "credentials", args[0]))
			return err
		})
	}
	named := func(cmd *cobra.Command, args []string) error {
		if err := config.ArgsExactly(1)(cmd, args); err != nil {
			return err
		}
		role, person, _ := strings.Cut(args[0], "@")
		_, err := credentials.Of(credentials.Credential(role), person)
		return err
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "rotate NAME",
			Short: "Replace a credential, and close connections with the old one within a second",
			Example: `  callgate credentials rotate approve
  callgate credentials rotate approve@alice`,
			ValidArgs: credentialNames(),
			Args: func(cmd *cobra.Command, args []string) error {
				if err := config.ArgsExactly(1)(cmd, args); err != nil {
					return err
				}
				if credentials.Credential(args[0]).Person() == "" && !slices.Contains(credentialNames(), args[0]) {
					return fmt.Errorf("%q is not a credential: use %s, or approve@NAME or view@NAME of a person", args[0], strings.Join(credentialNames(), ", "))
				}
				return nil
			},
			RunE: change("the credential %[1]s is a new secret now", "Credential %s: replaced.", asTheyAre, (*credentials.Store).Rotate),
		},
		&cobra.Command{
			Use:   "add ROLE@PERSON",
			Short: "Create a credential for one person, so that the audit trail proves who answered",
			Long: `Add creates a credential for one person: approve@alice answers as alice, view@bob watches. The audit trail then
proves that alice answered, because nobody else can use the name.`,
			Example: `  callgate credentials add approve@alice
  callgate open --as alice
  callgate approve --as alice`,
			Args: named,
			RunE: change("the credential %s is in %s", "Credential %s: added.", credentials.Open, (*credentials.Store).Add),
		},
		&cobra.Command{
			Use:     "remove ROLE@PERSON",
			Short:   "Remove a person's credential, and close its connections within a second",
			Example: "  callgate credentials remove approve@alice",
			Args:    named,
			RunE:    change("the credential %[1]s no longer works", "Credential %s: removed.", asTheyAre, (*credentials.Store).Remove),
		},
		newCredentialsListCommand(s),
	)
	return cmd
}

func newCredentialsListCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the credentials of people",
		Args:  config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			held, err := credentials.Open(c.DataDir)
			if err != nil {
				return err
			}
			people, err := held.People()
			if err != nil {
				return err
			}
			if len(people) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "No person has a secret of their own: callgate credentials add approve@NAME makes one.")
				return err
			}
			for _, name := range people {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), name); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

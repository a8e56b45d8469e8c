package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/output"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/proxy"
)

func newLabelCommand(s *config.Settings, wait *time.Duration) *cobra.Command {
	return &cobra.Command{
		Use:   "label SERVER",
		Short: "Draft labels for the tools of a server that callgate does not know",
		Long: `Label starts the server and drafts labels from names, schemas and annotations: what each tool returns, what it does,
and which arguments name a destination. The draft has no effect until you correct it and put it into callgate.yaml
(docs/flow.md). Labelled tools are left out.`,
		Example: `  callgate tools label bank
  callgate tools label bank >> callgate.yaml   # then correct it`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Load()
			if err != nil {
				return err
			}
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(servers, func(s proxy.Server) bool { return s.Tools.Name == args[0] })
			if i < 0 {
				var names []string
				for _, s := range servers {
					names = append(names, s.Tools.Name)
				}
				return fmt.Errorf("no server is called %q: use one of %s", args[0], strings.Join(names, ", "))
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), *wait)
			defer cancel()
			offered, _, err := proxy.Survey(ctx, servers[i], c.CacheDir(), app.Version)
			if err != nil {
				return fmt.Errorf("server %s: %w", args[0], err)
			}
			return output.Draft(cmd.OutOrStdout(), args[0], proxy.Name(offered))
		},
	}
}

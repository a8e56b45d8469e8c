package command

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/proxy"
)

func newRunCommand(s *config.Settings) *cobra.Command {
	var try bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Serve one host over stdio, in front of all configured servers",
		Long: `Run serves one host on standard input and output. It offers the tools of all configured servers as {server}_{tool}.
Configure servers under "servers" in callgate.yaml or in --mcp-config files.`,
		Example: `  callgate run --mcp-config servers.mcp.json
  callgate run --config team.yaml --worker review --autonomy CAUTIOUS`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			c.Try = try
			return runSidecar(cmd, c, servers, proxy.View{})
		}),
	}
	cmd.Flags().BoolVar(&try, "try", false, "offer doctor's tool")
	_ = cmd.Flags().MarkHidden("try") // the flag is declared
	return cmd
}

func newWrapCommand(s *config.Settings) *cobra.Command {
	var one config.ServerConfig
	cmd := &cobra.Command{
		Use:   "wrap [flags] -- COMMAND [ARGS...]",
		Short: "Gate one server and keep its tool names",
		Long: `Wrap serves one host on standard input and output and starts COMMAND as the only server behind the gate. The host sees
the server's own tool names; rules see {name}_{tool}. Wrap uses callgate.yaml but does not start its servers.`,
		Example: `  callgate wrap -- npx -y @modelcontextprotocol/server-filesystem@2026.8.31 ~/src
  callgate wrap --name db --env 'PGPASSWORD=${PGPASSWORD}' -- uvx mcp-server-postgres`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return fmt.Errorf("wrap needs the server's command after --, as in: callgate wrap -- npx -y @modelcontextprotocol/server-filesystem@2026.8.31")
			}
			c, err := s.Load()
			if err != nil {
				return err
			}
			one.Command, one.Args = args[0], args[1:]
			if one.Name == "" {
				one.Name = config.AliasOf(args[0], args[1:])
			}
			server, err := one.Assemble(c.ShellSetup)
			if err != nil {
				return err
			}
			if err := c.Enclose(&one, &server.Upstream); err != nil {
				return err
			}
			return runSidecar(cmd, c, []proxy.Server{server}, proxy.View{Server: server.Tools.Name})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&one.Name, "name", "", "`name` of the server in rules and records (default: made from the command)")
	flags.StringArrayVar(&one.Env, "env", nil, "`NAME=value` for the server's environment, ${VAR} is expanded; repeatable")
	flags.BoolVar(&one.InheritEnv, "inherit-env", false, "give the server callgate's whole environment")
	flags.StringVar(&one.Cwd, "cwd", "", "`folder` that the server runs in")
	flags.StringSliceVar(&one.Grants, "grant", nil, "socket to leave reachable behind the guard: dbus, docker, gpg-agent, ssh-agent, terminal; repeatable")
	flags.StringVar(&one.Sandbox, "sandbox", "", "limit what the server can reach: off, workspace (its folder, and what rules open) or strict (less) (default off)")
	flags.StringSliceVar(&one.Read, "read", nil, "`path` that the sandbox can read in addition; repeatable")
	flags.StringSliceVar(&one.Write, "write", nil, "`path` that the sandbox can change in addition; repeatable")
	flags.StringVar(&one.Network, "network", "", "network of the sandbox: none, proxy or open (default proxy for workspace, none for strict)")
	flags.BoolVar(&one.Trusted, "trusted", false, "trust the server's annotations that a tool is harmless")
	return cmd
}

// runSidecar serves one host until the host, a signal or, without nohup, the end of the terminal ends it.
func runSidecar(cmd *cobra.Command, c *config.Config, servers []proxy.Server, v proxy.View) error {
	ctx := cmd.Context()
	if !signal.Ignored(syscall.SIGHUP) {
		hangup, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
		ctx = hangup
	}
	sidecar, err := app.Start(ctx, c, servers)
	if err != nil {
		return err
	}
	defer sidecar.Close()
	return sidecar.Relay(ctx, v)
}

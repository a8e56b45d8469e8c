package command

import (
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
)

func newServeCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve any number of hosts over HTTP, in front of all configured servers",
		Long: `Serve listens for hosts on this machine, at /mcp for Streamable HTTP and at /sse for the older HTTP+SSE. Each host has
its own session and servers. The path says what a host sees:

  /mcp                  all servers, tools named {server}_{tool}
  /mcp/{server}         one server, with its own tool names
  /mcp/agents/{agent}   all servers, under the rules of an agent profile

Hosts send the secret in {dataDir}/credentials/mcp as a Bearer token. Give further clients their own tokens with
mcpTokens in callgate.yaml, or use the tokens of an authorization server with --auth oauth.

A changed configuration is read by itself, and on SIGHUP. Sessions stay open. It is checked whole first; one that is wrong
changes nothing, and the log and doctor say why. What changed is in the audit trail. At once take effect: logLevel,
mode, escalation, timeout, claimWithin, maxPending, handOver, hosts, limits (but maxInFlightBytes), terminal,
allowTerminalWrite, policy, auth, mcpTokens, oauth, mcpHosts, mcpOrigins, tls; for new sessions autonomy, servers,
mcpConfig and callgate.lock. Hosts without sessions count as new with their next request when servers change. All other
keys need a restart: the log and doctor name those that wait for one.

With --cluster several of these are one gate: replicas behind any load balancer, with the same rules, approvals and
credentials. Each needs a name, a data directory of its own and the same --cluster-key.`,
		Example: `  callgate serve --mcp-config ~/.mcp.json
  callgate serve --agent explore --idle-shutdown 2h
  callgate serve --cluster embedded --cluster-key team.key
  callgate serve --mcp-listen 0.0.0.0:7778 --tls-cert chain.pem --tls-key key.pem --mcp-host tools.example.com`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Load()
			if err != nil {
				return err
			}
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			sidecar, err := app.StartReplica(cmd.Context(), c, servers)
			if err != nil {
				return err
			}
			defer sidecar.Close()
			return sidecar.Serve(cmd.Context(), s.Reload)
		},
	}
	cmd.Flags().AddFlagSet(s.Serve)
	cmd.Flags().AddFlagSet(s.Shared)
	return cmd
}

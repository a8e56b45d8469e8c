package command

import (
	"errors"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/proxy"
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

Serve reads the configuration again when it changes, and on SIGHUP. Sessions stay open, except those whose token you
removed. If the new configuration is wrong, nothing changes, and the log and doctor say why. The audit trail says what
changed.

These keys take effect at once: logLevel, mode, escalation, timeout, claimWithin, maxPending, handOver, hosts, limits
(except maxInFlightBytes), terminal, allowTerminalWrite, policy, auth, mcpTokens, oauth, mcpHosts, mcpOrigins, tls.
These take effect for new sessions: autonomy, servers, mcpConfig and callgate.lock. A host without sessions gets new
servers with its next request. All other keys need a restart; the log and doctor name those that changed.

With tenants in callgate.yaml, each tenant is a worker of its own, and the host's token names the tenant:

  /t/{tenant}/mcp       the tenant's servers; the token has to name the tenant

Commands such as audit, approve, rules and credentials work on a tenant with --worker TENANT.

With --cluster, several replicas behind any load balancer are one gate, with the same rules, approvals and credentials.
Each replica needs a name, a data directory of its own and the same --cluster-key.`,
		Example: `  callgate serve --mcp-config servers.mcp.json
  callgate serve --agent explore --idle-shutdown 2h
  callgate serve --cluster embedded --cluster-key team.key
  callgate serve --mcp-listen 0.0.0.0:7778 --tls-cert chain.pem --tls-key key.pem --mcp-host tools.example.com`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			if err := c.CheckServe(); err != nil {
				return err
			}
			servers, err := servedBy(c)
			if err != nil {
				return err
			}
			sidecar, err := app.StartReplica(cmd.Context(), c, servers)
			if err != nil {
				return err
			}
			defer sidecar.Close()
			return sidecar.Serve(cmd.Context(), s.Reload)
		}),
	}
	cmd.Flags().AddFlagSet(s.Serve)
	cmd.Flags().AddFlagSet(s.Shared)
	return cmd
}

// servedBy returns the servers behind the gate. With tenants it returns none, because each has its own, but it checks
// them.
func servedBy(c *config.Config) ([]proxy.Server, error) {
	if !c.Tenants.On() {
		return c.ProxyServers()
	}
	if c.Worker != config.DefaultWorker {
		return nil, errors.New("worker: with tenants, serve serves them all: leave it out")
	}
	for _, name := range c.Tenants.Names {
		one, err := c.ForTenant(name)
		if err == nil {
			_, err = one.ProxyServers()
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

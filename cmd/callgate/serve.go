package main

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/endpoint"
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
mcpTokens in callgate.yaml, or use the tokens of an authorization server with --auth oauth.`,
		Example: `  callgate serve --mcp-config ~/.mcp.json
  callgate serve --agent explore --idle-shutdown 2h
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
			sidecar, err := app.Start(c, servers)
			defer sidecar.Close()
			if err != nil {
				return err
			}
			return serveHosts(cmd.Context(), sidecar)
		},
	}
	cmd.Flags().AddFlagSet(s.Serve)
	return cmd
}

// serve lets hosts connect until ctx ends, or until none did for long.
func serveHosts(ctx context.Context, s *app.Sidecar) error {
	c := &s.Config.ServeConfig
	door, err := c.Door(ctx, s.Config.DataDir, s.Log)
	if err != nil {
		return err
	}
	certificate, err := c.Certificate()
	if err != nil {
		return err
	}
	e, err := endpoint.Listen(endpoint.Options{
		Address: c.MCPListen, TLS: certificate, Hosts: c.MCPHosts, Origins: c.MCPOrigins, Door: door,
		Proxy: s.Proxy, DataDir: s.Config.DataDir, Logger: s.Log, IdleTimeout: c.IdleTimeout, IdleShutdown: c.IdleShutdown, Budget: s.Budget,
	})
	if err != nil {
		return err
	}
	s.Closers = append(s.Closers, e.Close)
	how := []any{"url", e.URL(), "auth", c.Auth}
	if c.Auth == "token" {
		how = append(how, "token", filepath.Join(s.Config.DataDir, "credentials", "mcp"))
	}
	s.Log.Info("hosts are served", how...)
	telling, stop := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { s.TellWhoWaits(telling) })
	defer teller.Wait()
	defer stop()
	select {
	case <-ctx.Done():
		s.Gate.Leave() // hosts find callgate again at its address, and repeat what waits
	case <-e.Idle():
		s.Log.Info("callgate ends: there was no session", "for", c.IdleShutdown)
	}
	return nil
}

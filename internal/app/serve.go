package app

import (
	"context"
	"path/filepath"
	"sync"

	"callgate/internal/endpoint"
)

// Serve lets hosts connect until ctx ends, or until none did for long.
func (s *Sidecar) Serve(ctx context.Context) error {
	c := &s.config.ServeConfig
	door, err := c.Door(ctx, s.config.DataDir, s.log)
	if err != nil {
		return err
	}
	certificate, err := c.Certificate()
	if err != nil {
		return err
	}
	e, err := endpoint.Listen(endpoint.Options{
		Address: c.MCPListen, TLS: certificate, Hosts: c.MCPHosts, Origins: c.MCPOrigins, Door: door,
		Ready: s.replica.fresh(), Replicas: s.replica.forHosts(), Proxy: s.Proxy, DataDir: s.config.DataDir, Logger: s.log, IdleTimeout: c.IdleTimeout, IdleShutdown: c.IdleShutdown, Budget: s.budget,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, e.Close)
	s.replica.serveHosts(e)
	how := []any{"url", e.URL(), "auth", c.Auth}
	if c.Auth == "token" {
		how = append(how, "token", filepath.Join(s.config.DataDir, "credentials", "mcp"))
	}
	s.log.Info("hosts are served", how...)
	telling, stop := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { tellWhoWaits(telling, s.Gate, s.log, s.page) })
	defer teller.Wait()
	defer stop()
	select {
	case <-ctx.Done():
		s.Gate.Leave() // hosts find callgate again at its address, and repeat what waits
	case <-e.Idle():
		s.log.Info("callgate ends: there was no session", "for", c.IdleShutdown)
	}
	return nil
}

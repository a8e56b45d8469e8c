package approve

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"callgate/internal/app"
	"callgate/internal/channels"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
)

// approveChannels asks in all configured channels until ctx or callgate ends.
func approveChannels(ctx context.Context, c *config.Config, o Approving) error {
	list, err := c.Channels.Open(c.DataDir)
	if err != nil {
		return err
	}
	app.OutlivePipes()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.Level}))
	target := companionclient.Target{
		DataDir: c.DataDir, Address: o.address, Sessions: o.sessions, Logger: log,
		Client: wire.ClientInfo{Name: "channels", Version: app.Version, Kind: "custom"},
	}
	approver, err := companionclient.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer approver.Close()
	return channels.Run(ctx, channels.Options{Client: approver, Channels: list, Logger: log, Freeze: func(ctx context.Context, reason, person string) error {
		as := target
		as.Client.Name += "/" + person
		return as.Ask(ctx, http.MethodPut, "/api/freeze", wire.FreezeRequest{Reason: reason}, nil)
	}})
}

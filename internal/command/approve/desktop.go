package approve

import (
	"context"
	"log/slog"
	"os"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/desktop"
)

// approveDesktop asks in desktop notifications until ctx or callgate ends.
func approveDesktop(ctx context.Context, c *config.Config, o Approving) error {
	credential, person, err := As(credentials.Approve, o.as)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.Level}))
	target := companionclient.Target{
		DataDir: c.DataDir, Address: o.address, Sessions: o.sessions, Credential: credential, Logger: log,
		Client: wire.ClientInfo{Name: person, Version: app.Version, Kind: "custom"},
	}
	approver, err := companionclient.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer approver.Close()
	return desktop.Run(ctx, desktop.Options{Client: approver, Logger: log, Open: func() error {
		page, err := companionclient.PageURL(ctx, target)
		if err != nil {
			return err
		}
		return app.OpenBrowser(page)
	}})
}

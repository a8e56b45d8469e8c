package command

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
)

// serveHooks runs the process that judges for hooks: a callgate without servers, which joins the hub like any other.
func serveHooks(s *config.Settings, cmd *cobra.Command) error {
	config, _ := s.Common.GetString("config") // the flags are declared
	worker, _ := s.Common.GetString("worker")
	c, err := s.Load()
	if err != nil {
		return err
	}
	stale := hosthooks.Stale(c.File)
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return err
	}
	held, err := credentials.Open(c.DataDir)
	if err != nil {
		return err
	}
	token := func() (string, error) { return held.Token(credentials.Hook) }
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server, err := hosthooks.Listen(door.Socket(c.DataDir, worker, config), token, log)
	if errors.Is(err, hosthooks.ErrTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := server.Close(); err != nil {
			log.Error("shutdown", "error", err)
		}
	}()
	sidecar, err := app.Start(cmd.Context(), c, nil)
	if err != nil {
		return err
	}
	defer sidecar.Close()
	desk, err := sidecar.Desk()
	if err != nil {
		return err
	}
	defer desk.Close()
	server.Run(cmd.Context(), desk, stale)
	return nil
}

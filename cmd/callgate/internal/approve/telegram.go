package approve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/telegram"
)

const telegramVariable = "CALLGATE_TELEGRAM_TOKEN"

// approveTelegram answers from the allowed chats until ctx or callgate ends.
func approveTelegram(ctx context.Context, c *config.Config, o Approving) error {
	token, err := telegramToken(c.DataDir)
	if err != nil {
		return err
	}
	app.OutlivePipes()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.Level}))
	target := companionclient.Target{
		DataDir: c.DataDir, Address: o.address, Sessions: o.sessions, Logger: log,
		Client: wire.ClientInfo{Name: "telegram", Version: app.Version, Kind: "custom"},
	}
	approver, err := companionclient.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer approver.Close()
	return telegram.Run(ctx, telegram.Options{Client: approver, Token: token, Chats: c.Telegram.ChatIDs, API: c.Telegram.API, Logger: log, Freeze: func(ctx context.Context, end bool, reason, person string) error {
		as := target
		as.Client.Name += "/" + person
		method := http.MethodPut
		if end {
			method, reason = http.MethodDelete, ""
		}
		return as.Ask(ctx, method, "/api/freeze", wire.FreezeRequest{Reason: reason}, nil)
	}})
}

// telegramToken reads the bot's token.
func telegramToken(dataDir string) (string, error) {
	if token := strings.TrimSpace(os.Getenv(telegramVariable)); token != "" {
		return token, nil
	}
	token, err := credentials.Foreign(dataDir, "telegram")
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no bot: put the token that @BotFather gave you into %s (mode 0600), or into %s", filepath.Join(dataDir, "credentials", "telegram"), telegramVariable)
	}
	return token, err
}

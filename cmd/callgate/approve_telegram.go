package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/loopback"
	"callgate/internal/telegram"
)

// telegramConfig says where "approve --telegram" asks. The bot's token is no key: it is a secret, and comes from
// telegramVariable or from the file {dataDir}/credentials/telegram alone.
type telegramConfig struct {
	Chats []string // ids
	API   string

	chats []int64
}

const telegramVariable = "CALLGATE_TELEGRAM_TOKEN"

// telegramSettings are those of "approve --telegram".
var telegramSettings = []setting{
	{"telegram.chats", "telegram-chats", "`id` of a chat that may answer; repeatable, or several with commas between", []string{}},
	{"telegram.api", "telegram-api", "base `address` of the Bot API, for a server of your own", "https://api.telegram.org"},
}

// validate reads the ids, and checks that the address keeps the token from other machines: every request holds it.
func (t *telegramConfig) validate() error {
	for _, entry := range t.Chats {
		for id := range strings.FieldsFuncSeq(entry, func(r rune) bool { return r == ',' || r == ' ' }) {
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return fmt.Errorf("chats: %q is not the id of a chat: ids are numbers such as 123456789, or -1001234567890 for a group", id)
			}
			t.chats = append(t.chats, n)
		}
	}
	u, err := url.Parse(t.API)
	if err != nil || u.Host == "" {
		return fmt.Errorf("api: %q is not an address such as https://api.telegram.org", t.API)
	}
	if !loopback.Confidential(u) {
		return fmt.Errorf("api: %q: the bot's token is part of every request, so use https, or http to this machine alone", t.API)
	}
	return nil
}

// approveTelegram answers from the allowed chats until ctx or callgate ends.
func approveTelegram(ctx context.Context, c *config, o approving) error {
	token, err := telegramToken(c.DataDir)
	if err != nil {
		return err
	}
	outlivePipes()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.logLevel}))
	target := companionclient.Target{
		DataDir: c.DataDir, Address: o.address, Sessions: o.sessions, Logger: log,
		Client: wire.ClientInfo{Name: "telegram", Version: version, Kind: "custom"},
	}
	approver, err := companionclient.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer approver.Close()
	return telegram.Run(ctx, telegram.Options{Client: approver, Token: token, Chats: c.Telegram.chats, API: c.Telegram.API, Logger: log, Freeze: func(ctx context.Context, end bool, reason, person string) error {
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

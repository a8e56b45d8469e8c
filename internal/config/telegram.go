package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"callgate/internal/loopback"
)

// telegramConfig says where "approve --telegram" asks. The bot's token is no key: it is a secret, and comes from
// telegramVariable or from the file {dataDir}/credentials/telegram alone.
type telegramConfig struct {
	Chats []string // ids
	API   string

	ChatIDs []int64 `mapstructure:"-"`
}

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
			t.ChatIDs = append(t.ChatIDs, n)
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

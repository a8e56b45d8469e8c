package config

import (
	"strings"
	"testing"
)

// A channel in which nobody could answer is an error that says what to write.
func TestChannelsNeedPeople(t *testing.T) {
	for kind, want := range map[string]string{
		"slack": `["U0123456789=alice"]`, "discord": `["80351110224678912=alice"]`, "matrix": `["@alice:example.com=alice"]`,
		"telegram": `["123456789=alice"]`, "ntfy": `["holder=alice"]`, "webhook": `["alice@example.com=alice"]`,
	} {
		ch := channelConfig{Name: "c", Kind: kind, URL: "https://example.com", To: "1"}
		if kind == "webhook" {
			ch.To, ch.Listen, ch.Answer = "", "127.0.0.1:0", "https://example.com/answer"
		}
		if err := ch.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
		if ch.People = []string{"1=alice"}; ch.validate() != nil || ch.onlyTells() {
			t.Errorf("%s: %v", kind, ch.validate())
		}
	}
	only := channelConfig{Name: "c", Kind: "webhook", URL: "https://example.com"}
	if err := only.validate(); err != nil || !only.onlyTells() {
		t.Errorf("a webhook that only tells: %v", err)
	}
	chat := channelConfig{Name: "c", Kind: "telegram", To: "@me", People: []string{"1=alice"}}
	if err := chat.validate(); err == nil || !strings.Contains(err.Error(), "id of a chat") {
		t.Errorf("%v", err)
	}
}

// A channel gets its secret from a file beside callgate's own secrets, and must never get one of those.
func TestChannelsHaveSecretsOfTheirOwn(t *testing.T) {
	for name, ok := range map[string]bool{"team": true, "approvers": true, "approve": false, "View": false, "approve@alice": false, "mcp": false, "authzen": false} {
		list := channelsConfig{{Name: name, Kind: "ntfy", URL: "https://example.com", To: "t", People: []string{"holder=alice"}}}
		if err := list.validate(); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"callgate/gate"
)

// The keyring entries that the configuration names are known. A missing entry is logged, by its name only.
func TestKeyringEntries(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("github.example", "alice", "correct-horse-7"); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	got := keyringEntries([]string{"github.example/alice", "github.example/bob"}, slog.New(slog.NewTextHandler(&log, nil)))()
	if want := []gate.Credential{{Value: "correct-horse-7", Place: "keyring entry github.example/alice"}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if text := log.String(); !strings.Contains(text, "github.example/bob") || strings.Contains(text, "horse") {
		t.Error(text)
	}
	if keyringEntries(nil, slog.Default()) != nil {
		t.Error("a keyring is asked for nothing")
	}
}

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// load reads a configuration.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "callgate.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", filepath.ToSlash(dir))), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSettings(pflag.NewFlagSet("common", pflag.ContinueOnError))
	if err := s.Common.Parse([]string{"--config", file, "--data-dir", dir}); err != nil {
		t.Fatal(err)
	}
	return s.Load()
}

// A Rego file is refused with an error that says how to build a callgate that compiles it.
func TestRegoNeedsItsBuild(t *testing.T) {
	_, err := load(t, "policy:\n  rego: [DIR/p.rego]\n")
	if err == nil || !strings.Contains(err.Error(), "policy.rego") || !strings.Contains(err.Error(), "go build -C cmd/callgate-opa") {
		t.Errorf("%v", err)
	}
}

// The error for the section telegram of earlier versions says how to write it now.
func TestTelegramOfEarlierVersions(t *testing.T) {
	_, err := load(t, "telegram:\n  chats: [\"123\"]\n")
	if err == nil || !strings.Contains(err.Error(), "kind: telegram") || !strings.Contains(err.Error(), "credentials/telegram") {
		t.Errorf("%v", err)
	}
}

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/gate"
)

// The values in a named file of variables are known, wherever the file is. A missing file is logged.
func TestNamedFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prod.env"), []byte("# no\nexport API_TOKEN='correct-horse-7'\nNAME=x\nURL=postgres://app:battery-staple@db/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.env"), []byte("API_TOKEN=correct-horse-8\n"+strings.Repeat("#", maxVariables)), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	got := namedSecrets(nil, []string{filepath.Join(dir, "prod.env"), filepath.Join(dir, "gone.env"), filepath.Join(dir, "long.env")}, slog.New(slog.NewTextHandler(&log, nil)))()
	want := []gate.Credential{{Value: "correct-horse-7", Place: "value of API_TOKEN in " + filepath.Join(dir, "prod.env")}, {Value: "battery-staple", Place: "password in URL in " + filepath.Join(dir, "prod.env")}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if text := log.String(); !strings.Contains(text, "gone.env") || !strings.Contains(text, "long.env: it is longer than") || strings.Contains(text, "horse") {
		t.Error(text)
	}
	if namedSecrets(nil, nil, slog.Default()) != nil {
		t.Error("nothing is looked for in nothing")
	}
}

package config

import (
	"path/filepath"
	"testing"

	"github.com/adrg/xdg"
)

func TestProgramNamesAnotherDataDirectory(t *testing.T) {
	t.Setenv(Variable("data-dir"), "")
	usual, other := filepath.Join(xdg.DataHome, "callgate"), filepath.Join(t.TempDir(), "my data")
	if got := Program(usual); got != "callgate" {
		t.Errorf("the usual data directory: %s", got)
	}
	if got, want := (&Config{DataDir: other}).Program(), `callgate --data-dir "`+other+`"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	t.Setenv(Variable("data-dir"), other)
	if got := Program(other); got != "callgate" {
		t.Errorf("the data directory of the environment: %s", got)
	}
}

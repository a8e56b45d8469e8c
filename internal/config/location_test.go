package config

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"callgate/internal/tenants"
)

// What differs from the defaults is passed on, with absolute paths. Flags take precedence over variables.
func TestLocation(t *testing.T) {
	here, err := filepath.Abs("x")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args        []string
		dir, worker string // variables
		want        []string
		chosen      string
	}{
		{},
		{args: []string{"--data-dir", DefaultDataDir(), "--config", DefaultFile(), "--worker", DefaultWorker}, chosen: " --data-dir " + DefaultDataDir() + " --config " + DefaultFile() + " --worker default"},
		{args: []string{"--data-dir", "x", "--worker", "w"}, want: []string{"--data-dir=" + here, "--worker=w"}, chosen: " --data-dir x --worker w"},
		{args: []string{"--config", "a b"}, dir: "x", want: []string{"--data-dir=" + here, "--config=" + filepath.Join(filepath.Dir(here), "a b")}, chosen: " --config 'a b'"},
		{args: []string{"--worker", "w"}, worker: "v", want: []string{"--worker=w"}, chosen: " --worker w"},
	} {
		t.Setenv("CALLGATE_DATA_DIR", tt.dir)
		t.Setenv("CALLGATE_WORKER", tt.worker)
		t.Setenv("CALLGATE_CONFIG", "")
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s := NewSettings(flags)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Location(); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v, want %q", tt.args, got, err, tt.want)
		}
		if got := s.Chosen(); got != tt.chosen {
			t.Errorf("%q: chosen%s, want%s", tt.args, got, tt.chosen)
		}
	}
}

// Files that decide about calls, or about who may answer, are as safe from tools as the configuration that names them.
func TestFilesThatDecideAreOwn(t *testing.T) {
	c := &Config{DataDir: t.TempDir(), Channels: channelsConfig{{OnCall: "~/on-call.ics"}}}
	c.Policy.Cedar, c.Policy.Rego = []string{"~/p.cedar"}, []string{"~/p.rego"}
	c.Tenants.Rules, c.Tenants.Each = "~/rules.jsonc", []tenants.Tenant{{Name: "a", Rules: "~/a.jsonc"}}
	own, wall := c.OwnFiles(), c.CommonWall()
	for _, name := range []string{"on-call.ics", "p.cedar", "p.rego", "rules.jsonc", "a.jsonc"} {
		path := ExpandHome(filepath.Join("~", name))
		if !slices.Contains(own, path) || !slices.Contains(wall.Fixed, path) {
			t.Errorf("%s: a tool may change it: %q, %q", path, own, wall.Fixed)
		}
	}
}

func TestProgramNamesAnotherDataDirectory(t *testing.T) {
	t.Setenv(Variable("data-dir"), "")
	usual, other := DefaultDataDir(), filepath.Join(t.TempDir(), "my data")
	if got := Program(usual); got != "callgate" {
		t.Errorf("the usual data directory: %s", got)
	}
	if got, want := (&Config{DataDir: other}).Program(), "callgate --data-dir '"+other+"'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	t.Setenv(Variable("data-dir"), other)
	if got := Program(other); got != "callgate" {
		t.Errorf("the data directory of the environment: %s", got)
	}
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/command/exit"
	"callgate/internal/command/rules"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
	"callgate/internal/doctor"
	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
	"callgate/internal/install"
	"callgate/internal/inventory"
	"callgate/internal/output"
)

func newDoctorCommand(s *config.Settings) *cobra.Command {
	var asJSON, fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that everything that gates your agents works",
		Long: `Doctor checks the hosts on this machine, servers that bypass the gate or do not answer, hooks and whether hosts obey
them, rules, credentials, running processes, files, the audit trail and checkpoints. Each line says ok, warning or
broken, and which command fixes it. Doctor starts every server. It also sends two test calls through the hook and the
MCP entry of each connected host: one that no rule can allow, which must be refused, and one that reads a file in a new
folder.

--fix fixes what needs no decision: hooks of an older callgate, shipped rules that your file lacks (with a backup),
files that others may read or change, and a hub that does not run. The exit code is 1 while something is broken.`,
		Example: `  callgate doctor
  callgate doctor --fix
  callgate doctor --json`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, err := examine(cmd.Context(), s)
			if err != nil {
				return err
			}
			if fix {
				if err := doctor.Fix(findings); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "callgate: %v\n", err)
				}
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), map[string]any{"state": doctor.Worst(findings), "findings": findings})
			} else {
				err = output.Findings(cmd.OutOrStdout(), findings)
			}
			if err == nil && doctor.Worst(findings) == doctor.Broken {
				return exit.Code(1)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&fix, "fix", false, "fix what needs no decision")
	return cmd
}

// examine checks everything, even if the configuration cannot be read.
func examine(ctx context.Context, s *config.Settings) ([]doctor.Finding, error) {
	o := doctor.Options{Version: app.Version, Home: xdg.Home, Kinds: tools.Kinds(), Listen: companionclient.DefaultAddress}
	c, err := s.Load()
	if err != nil {
		o.ConfigErr = err
		c = &config.Config{Worker: "default"}
		if c.DataDir, _ = s.Common.GetString("data-dir"); c.DataDir == "" {
			c.DataDir = config.DefaultDataDir()
		}
	} else if o.Config = c.File; c.Listen != "" {
		o.Listen = c.Listen
	}
	o.Hooks, o.HooksErr = hooksOf(c)
	for name, err := range c.TokenFaults() {
		o.Tokens = append(o.Tokens, doctor.Problem{Name: name, Err: err})
	}
	o.Guard = c.CommonWall().Probe().String()
	o.Presence, o.Servers = c.Presence, serversOf(ctx, c)
	if k := c.Checkpoints.Storage; o.ConfigErr == nil && k != config.CheckpointsOff && k != config.CheckpointsInMemory {
		o.Checkpoints = func() ([]string, error) { return checkpointDamage(c) }
	}
	o.Frozen = func(ctx context.Context) ([]gate.Freeze, error) {
		frozen := app.Frozen(ctx, c)
		return frozen.List, frozen.Unknown
	}
	o.DataDir, o.Rules = c.DataDir, c.Files().Permissions()
	o.Target = companionclient.Target{DataDir: c.DataDir, Credential: credentials.View}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if o.Machine, err = install.ThisMachine(here); err != nil {
		return nil, err
	}
	location, err := s.Location()
	if err != nil {
		return nil, err
	}
	connect := app.Connect{DataDir: c.DataDir, Location: location, Scopes: app.Scopes, Project: here}
	o.Chosen, o.Location = s.Chosen(), locationOf(c, location)
	o.Plan, o.PlanErr = connect.Plan(nil)
	o.Try = func(ctx context.Context, d *hosthooks.Dialect, path, folder string) (string, error) {
		event, body := d.Try(path, folder)
		at := optionsOf(location)
		reply, err := askGate(ctx, s, door.Order{Host: d.ID, Event: event, Config: at["--config"], Worker: at["--worker"]}, body)
		if reply.Exit == 0 {
			return "", err
		}
		return strings.TrimSpace(reply.Stderr), err
	}
	o.Enter = app.Enter
	o.Connect = func(host string) error {
		connect := app.Connect{DataDir: c.DataDir, Location: location, Scopes: []string{"user"}, Project: here, OnlyHooks: true}
		plan, err := connect.Plan([]string{host})
		if err == nil {
			_, err = plan.Apply()
		}
		return err
	}
	o.Rotate = func(name credentials.Credential) error {
		return changeCredential(c.DataDir, fmt.Sprintf("Credential %s: replaced.", name), func() error { return credentials.At(c.DataDir).Rotate(name) })
	}
	o.Merge = func() error {
		_, b, done, err := rules.Open(ctx, s, io.Discard, io.Discard)
		if err != nil {
			return err
		}
		defer done()
		return b.MergeDefaults()
	}
	o.Start = func() error { return app.LaunchHub(ctx, c.DataDir, o.Config) }
	return doctor.Look(ctx, o), nil
}

// optionsOf maps options of the form --NAME=VALUE by name.
func optionsOf(options []string) map[string]string {
	byName := map[string]string{}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		byName[name] = value
	}
	return byName
}

// locationOf returns the data directory, configuration file and worker of a configuration, by option. given holds the
// options that chose them.
func locationOf(c *config.Config, given []string) map[string]string {
	location := map[string]string{"--data-dir": c.DataDir, "--config": config.DefaultFile(), "--worker": c.Worker}
	maps.Copy(location, optionsOf(given))
	return location
}

// checkpointDamage reads all snapshots, and returns what is wrong with them.
func checkpointDamage(c *config.Config) ([]string, error) {
	store, err := c.OpenCheckpoints(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	problems, err := store.Check(true)
	return problems, errors.Join(err, store.Close())
}

// hooksOf returns the hooks of the configuration.
func hooksOf(c *config.Config) (list []doctor.Hook, err error) {
	if c.HookRunner == nil {
		return nil, nil
	}
	known, err := config.KnownNames(c)
	for _, h := range c.HookRunner.List(known) {
		list = append(list, doctor.Hook{Name: tools.Visible(h.Name), Problem: h.Problem})
	}
	return list, err
}

// serversOf starts all servers: those of the configuration and those of connected hosts. It leaves out configurations
// that cannot be read, which are reported elsewhere.
func serversOf(ctx context.Context, c *config.Config) (list []doctor.Server) {
	add := func(c *config.Config) {
		servers, err := c.ServerConfigs()
		if err != nil {
			return
		}
		down, _ := inventory.Down(ctx, c, tellSlow(os.Stderr))
		for _, s := range servers {
			if s.Command != "" && !slices.ContainsFunc(list, func(d doctor.Server) bool { return d.Name == s.Name }) {
				list = append(list, doctor.Server{Name: s.Name, Guard: s.Guard, Sandbox: s.Sandbox, Down: down[s.Name]})
			}
		}
	}
	add(c)
	for _, file := range config.ConnectedFiles() {
		one := *c
		one.Servers, one.MCPConfig = nil, []string{file}
		add(&one)
	}
	return list
}

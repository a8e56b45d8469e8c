package app

import (
	"context"
	"fmt"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app/checkpoints"
	"callgate/internal/config"
	"callgate/internal/verify"
	"callgate/proxy"
)

// openCheckpoints opens the checkpoints, and returns a function that marks calls whose files cannot be kept. Each is
// nil if it is not configured.
func (s *Sidecar) openCheckpoints() (*checkpoints.Checkpoints, func(gate.Call, *tools.Analysis) string, error) {
	store, err := s.config.OpenCheckpoints(s.log)
	if store == nil || err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, store.Close)
	k := &s.config.Checkpoints
	keeps := &checkpoints.Checkpoints{Store: store, Log: s.log, Required: k.OnFailure != "continue", Workspaces: k.Workspaces}
	if k.OnFailure == "ask" {
		return keeps, keeps.Unkept, nil
	}
	return keeps, nil, nil
}

// openVerification returns what runs the checks, or nil if there are none.
func (s *Sidecar) openVerification() (*proxy.Verification, error) {
	v := &s.config.Verify
	if len(v.Commands) == 0 {
		return nil, nil
	}
	o := verify.Options{Commands: v.Commands, Timeout: v.Timeout, Debounce: v.Debounce, Output: v.MaxOutput << 10, Wall: s.config.CommonWall(), Logger: s.log}
	if s.keeps != nil {
		o.Around = s.keeps.AroundVerification(v.OnFailure == config.VerifyRollback, s.config.Checkpoints.ClearVerified, func(summary string) error {
			return s.Gate.Controls.Note("", audit.Author{By: "callgate"}, summary)
		})
	}
	runner, err := verify.New(o)
	if err != nil {
		return nil, fmt.Errorf("configuration: verify: %w", err)
	}
	s.closers = append(s.closers, runner.Close)
	run := func(ctx context.Context, workspace, checkpoint string) (string, map[string]any) {
		report, full, err := runner.Verify(ctx, workspace, checkpoint)
		if err != nil {
			report = &verify.Report{Workspace: workspace, Failure: err.Error()}
		}
		return report.Text(full), report.Meta()
	}
	return &proxy.Verification{Run: run, Workspaces: v.Folders, Paths: v.Globs}, nil
}

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate"
	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/output"
)

// summary is the state of the gate, for prompts and status bars.
type summary struct {
	Running bool   `json:"running"`
	Pending int    `json:"pending"`
	Hosts   int    `json:"hosts"`
	Guard   string `json:"guard"` // on; off if a server runs without it; none if no server runs
	Frozen  bool   `json:"frozen,omitempty"`
	Problem string `json:"problem,omitempty"` // the first problem
}

func newStatusCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the gate in one line",
		Long: `Status prints one line for prompts and status bars: how many calls wait for you, how many hosts are connected, and
whether their servers run behind the guard. It also names a freeze and the first problem.`,
		Example: `  callgate status
  PS1='$(callgate status) \$ '
  callgate status --json | jq .pending`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			one, err := summarize(cmd.Context(), c)
			if err != nil {
				return companionclient.Cure(err, config.Program(c.DataDir))
			}
			if asJSON {
				return output.JSON(cmd.OutOrStdout(), one)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), one.line())
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// summarize asks the running callgate, and otherwise only reads the freezes.
func summarize(ctx context.Context, c *config.Config) (one summary, err error) {
	one.Guard = "none"
	frozen := app.Frozen(ctx, c)
	one.Frozen = frozen.Unknown != nil || slices.ContainsFunc(frozen.List, func(f gate.Freeze) bool { return f.SessionID == "" })
	target := companionclient.Target{DataDir: c.DataDir, Credential: credentials.View}
	var sessions struct {
		Sessions []gate.SessionInfo `json:"sessions"`
	}
	err = target.Ask(ctx, "GET", "/api/sessions", nil, &sessions)
	if errors.Is(err, wire.ErrNotRunning) {
		return one, nil
	}
	var info struct {
		Upstreams []wire.UpstreamState `json:"upstreams"`
		Problems  []string             `json:"problems"`
	}
	var waiting struct { // includes what ended sessions have left
		Approvals []struct{} `json:"approvals"`
	}
	if err == nil {
		err = target.Ask(ctx, "GET", "/api/info", nil, &info)
	}
	if err == nil {
		err = target.Ask(ctx, "GET", "/api/approvals", nil, &waiting)
	}
	if err != nil {
		return one, err
	}
	one.Running, one.Hosts, one.Pending = true, len(sessions.Sessions), len(waiting.Approvals)
	for _, u := range info.Upstreams {
		switch {
		case strings.HasPrefix(u.Guard, "none"):
			one.Guard = "off"
		case u.Guard != "" && one.Guard == "none":
			one.Guard = "on"
		}
	}
	if len(info.Problems) > 0 {
		one.Problem = info.Problems[0]
	}
	return one, nil
}

// line returns the summary as a line for people.
func (s summary) line() string {
	if !s.Running {
		return strings.Join(append([]string{"callgate is not running"}, s.notes()...), " · ")
	}
	hosts := fmt.Sprintf("%d hosts", s.Hosts)
	if s.Hosts == 1 {
		hosts = "1 host"
	}
	parts := []string{fmt.Sprintf("%d pending", s.Pending), hosts}
	if s.Guard != "none" {
		parts = append(parts, "guard "+s.Guard)
	}
	return strings.Join(append(parts, s.notes()...), " · ")
}

func (s summary) notes() (notes []string) {
	if s.Frozen {
		notes = append(notes, "FROZEN")
	}
	if s.Problem != "" {
		notes = append(notes, "problem: callgate doctor")
	}
	return notes
}

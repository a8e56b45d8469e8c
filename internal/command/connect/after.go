package connect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/command/approve"
	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
	"callgate/internal/inventory"
)

// notes prints what the person has to do in the hosts, and where else connect can look.
func (o *connecting) notes(out io.Writer, plan *install.Plan, args []string) error {
	for _, h := range plan.Hosts {
		if h.Note != "" {
			fmt.Fprintln(out, "note     "+h.Note)
		}
		hooked := slices.ContainsFunc(h.Changes, func(c install.Change) bool { return c.Hooks() && c.Changes() })
		if d, err := hosthooks.Find(h.ID); err == nil && hooked && d.Note != "" {
			fmt.Fprintln(out, "note     "+d.Note)
		}
	}
	return o.elsewhere(out, plan, args)
}

// elsewhere prints a note if files of this folder have servers too, and connect was not told to look there. It leaves
// out files that the plan already covers, as it may in the home folder.
func (o *connecting) elsewhere(out io.Writer, planned *install.Plan, args []string) error {
	if slices.Contains(o.Scopes, "project") {
		return nil
	}
	here := *o
	here.Scopes = []string{"project"}
	plan, err := here.Plan(args)
	if err != nil {
		return err
	}
	plan.Leave(planned)
	if !HasUngated(plan) {
		return nil
	}
	fmt.Fprintln(out, "note     files of this folder have servers too: callgate connect --scope project"+o.chosen)
	return nil
}

// nothing returns the text for a plan that changes nothing.
func nothing(plan *install.Plan, args []string) string {
	if slices.ContainsFunc(plan.Hosts, func(h install.HostPlan) bool { return h.Found || h.Project }) {
		return "Nothing to change."
	}
	if len(args) > 0 {
		return "Not found on this machine: " + strings.Join(args, ", ") + "."
	}
	return "No host was found on this machine. callgate knows " + strings.Join(install.IDs(), ", ") + ". To connect another one, let it start \"callgate run --mcp-config FILE\"."
}

// warming bounds how long connect waits for the tools of servers.
const warming = 30 * time.Second

// warm lists the tools of the moved servers, because some hosts list tools only at their start and should see them in
// the first session. It reports failures and goes on.
func (o *connecting) warm(cmd *cobra.Command, s *config.Settings, files []string) {
	c, err := s.Load()
	if err != nil || len(files) == 0 {
		return // callgate itself reports what is wrong
	}
	if !o.asJSON {
		fmt.Fprintln(cmd.OutOrStdout(), "starting the servers once, to know their tools")
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), warming, fmt.Errorf("it did not answer within %s", warming))
	defer cancel()
	for _, file := range files {
		one := *c
		one.Servers, one.MCPConfig = nil, []string{file}
		found, err := inventory.List(ctx, &one, nil)
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "note     %s: %v\n", tools.Visible(file), err)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(found.Down)) {
			fmt.Fprintf(cmd.ErrOrStderr(), "note     the server %s is moved, but is down: %s\n", tools.Visible(name), tools.Visible(found.Down[name]))
		}
	}
}

// openPage opens the page. If it cannot, the printed text is enough.
func (o *connecting) openPage(cmd *cobra.Command, s *config.Settings) {
	open := approve.NewOpenCommand(s)
	open.SetArgs(nil)
	open.SetOut(io.Discard)
	open.SetErr(io.Discard)
	if err := app.CanBrowse(); err == nil {
		_ = open.ExecuteContext(cmd.Context())
	}
}

// Package connect implements `callgate connect` and `callgate disconnect`: flags and printing around internal/install.
package connect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/install"
	"callgate/internal/output"
)

// connecting holds the flags that connect and disconnect share.
type connecting struct {
	app.Connect
	dryRun, yes, asJSON bool
	hosts               []string
	chosen              string // what a command needs at its end to use the same callgate, with a space in front
}

func (o *connecting) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.hosts, "host", nil, "only this `host`, as if it were an argument; repeatable")
	flags.StringSliceVar(&o.Scopes, "scope", []string{"user", "local", "plugin"}, "where to look: user, local (Claude Code's projects), plugin, project")
	flags.StringVar(&o.Project, "project", "", "`folder` for --scope project (default: the current folder)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would change, and change nothing")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON, with --watch an object a line; changes nothing without --yes")
	cmd.ValidArgsFunction = cobra.FixedCompletions(install.IDs(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("host", cmd.ValidArgsFunction) // the flag is declared
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(app.Scopes, cobra.ShellCompDirectiveNoFileComp))
}

func NewConnectCommand(s *config.Settings) *cobra.Command {
	var o connecting
	var watch bool
	var managed string
	cmd := &cobra.Command{
		Use:   "connect [HOST...]",
		Short: "Put callgate between your hosts and their MCP servers",
		Long: `Connect finds the hosts on this machine, shows a diff of every file it would change, asks once, and then moves their
MCP servers behind callgate: the servers go into a file of callgate's own, and the host starts callgate instead.
Hosts with hooks get "callgate hook", so that their built-in tools (shell, files, web) pass the same gate. The rest
of a host's file stays as it is. Connect starts each server once and keeps its tools, because some hosts list tools
only once. Hosts start callgate with the --data-dir, --config and --worker that you give to connect.

Recommended: "autonomy: GUIDED" in callgate.yaml. It runs calls that read, that change your own data, or that send to
a destination you named, and asks about the rest.

"callgate disconnect" undoes all of it.

Hosts: ` + strings.Join(install.IDs(), ", ") + `.`,
		Example: `  callgate connect                    # every host on this machine
  callgate connect claude --dry-run   # what would change
  callgate connect --scope project    # the files in this folder, such as .mcp.json
  callgate connect --server github --yes
  callgate connect --managed ./rollout # for administrators: settings that users cannot switch off
  callgate connect --watch            # say when a host gets a server that callgate does not gate`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.DataDir, err = s.DataDir(); err != nil {
				return err
			}
			o.chosen = s.Chosen()
			if o.Location, err = s.Location(); err != nil {
				return err
			}
			args = append(args, o.hosts...)
			if managed != "" {
				return o.managed(cmd, args, managed)
			}
			if watch {
				return o.watch(cmd, args)
			}
			return o.connect(cmd, s, args)
		},
	}
	o.declare(cmd)
	cmd.Flags().StringSliceVar(&o.Servers, "server", nil, "only the server of this `name`; repeatable")
	cmd.Flags().BoolVar(&o.NoHooks, "no-hooks", false, "gate MCP servers only, not the built-in tools of hosts")
	cmd.Flags().StringVar(&managed, "managed", "", "write settings for administrators below this `folder` (/: in place), so that nobody can take callgate out of Claude Code and Codex, or auto-approve all tools in VS Code")
	cmd.Flags().BoolVar(&watch, "watch", false, "keep running, and report servers that bypass callgate; with --yes, move them behind it")
	return cmd
}

func (o *connecting) connect(cmd *cobra.Command, s *config.Settings, args []string) error {
	plan, err := o.Plan(args)
	if err != nil {
		return err
	}
	if o.asJSON && !o.yes {
		return output.JSON(cmd.OutOrStdout(), plan)
	}
	out := cmd.OutOrStdout()
	if !o.asJSON {
		output.Plan(out, plan)
		for _, name := range o.unknown(plan) {
			fmt.Fprintf(cmd.ErrOrStderr(), "note     these files have no server %q that is not behind callgate yet\n", name)
		}
	}
	switch {
	case !plan.Changes():
		if o.asJSON {
			return output.JSON(out, plan)
		}
		fmt.Fprintln(out, nothing(plan, args))
		return o.elsewhere(out, plan, args)
	case o.dryRun:
		return o.elsewhere(out, plan, args)
	}
	if ok, err := o.confirm(cmd, "Make these changes?"); !ok || err != nil {
		return err
	}
	changed, err := plan.Apply()
	if o.asJSON {
		if err == nil {
			o.warm(cmd, s, plan.Serving())
		}
		return errors.Join(err, output.JSON(out, plan))
	}
	for _, path := range changed {
		fmt.Fprintf(out, "changed  %s\n", tools.Visible(path))
	}
	if err != nil {
		return err
	}
	o.warm(cmd, s, plan.Serving())
	if err := o.notes(out, plan, args); err != nil {
		return err
	}
	fmt.Fprintf(out, "Restart the hosts. Then run \"callgate open%s\" to answer their questions, or \"callgate disconnect%[1]s\" to undo this.\n", o.chosen)
	if !o.yes { // a person is here
		o.openPage(cmd, s)
	}
	return nil
}

// unknown returns the names in --server that no file of the plan has.
func (o *connecting) unknown(plan *install.Plan) []string {
	return slices.DeleteFunc(slices.Clone(o.Servers), func(name string) bool {
		return slices.ContainsFunc(plan.Hosts, func(h install.HostPlan) bool {
			return slices.ContainsFunc(h.Changes, func(c install.Change) bool {
				return slices.ContainsFunc(c.Servers, func(s install.Found) bool { return s.Name == name })
			})
		})
	})
}

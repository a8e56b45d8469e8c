package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/gate/tools"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
	"callgate/internal/output"
	"callgate/proxy"
)

// connecting holds the flags that connect and disconnect share.
type connecting struct {
	dataDir     func() (string, error)
	scopes      []string
	servers     []string
	project     string
	dryRun, yes bool
	asJSON      bool
	noHooks     bool
	onlyHooks   bool
}

func (o *connecting) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.scopes, "scope", []string{"user", "local"}, "where to look: user, local (Claude Code's projects), project")
	flags.StringVar(&o.project, "project", "", "`folder` for --scope project (default: the current folder)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would change, and change nothing")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON; changes nothing without --yes")
	cmd.ValidArgsFunction = cobra.FixedCompletions(install.IDs(), cobra.ShellCompDirectiveNoFileComp)
}

// records is where connect remembers what it changed.
func (o *connecting) records() (string, error) {
	dir, err := o.dataDir()
	return filepath.Join(dir, "connect"), err
}

func newConnectCommand(dataDir func() (string, error)) *cobra.Command {
	o := connecting{dataDir: dataDir}
	var watch bool
	var managed string
	cmd := &cobra.Command{
		Use:   "connect [HOST...]",
		Short: "Put callgate between your hosts and their MCP servers",
		Long: `Connect finds the hosts on this machine (` + strings.Join(install.IDs(), ", ") + `),
shows a diff of every file it would change, asks once, and then moves their MCP servers behind callgate: the servers
go into a file of callgate's own, and the host starts callgate instead. Hosts with hooks get "callgate hook", so that
their built-in tools (shell, files, web) pass the same gate. The rest of a host's file stays as it is.

Recommended: "autonomy: GUIDED" in callgate.yaml. It runs calls that read, that change your own data, or that send to
a destination you named, and asks about the rest.

"callgate disconnect" undoes all of it.`,
		Example: `  callgate connect                    # every host on this machine
  callgate connect claude --dry-run   # what would change
  callgate connect --scope project    # the files in this folder, such as .mcp.json
  callgate connect --server github --yes
  callgate connect --managed ./rollout # for administrators: settings that users cannot switch off
  callgate connect --watch            # say when a host gets a server that callgate does not gate`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if managed != "" {
				return o.managed(cmd, args, managed)
			}
			if watch {
				return o.watch(cmd, args)
			}
			return o.connect(cmd, args)
		},
	}
	o.declare(cmd)
	cmd.Flags().StringSliceVar(&o.servers, "server", nil, "only the server of this `name`; repeatable")
	cmd.Flags().BoolVar(&o.noHooks, "no-hooks", false, "gate MCP servers only, not the built-in tools of hosts")
	cmd.Flags().StringVar(&managed, "managed", "", "write settings for administrators below this `folder` (/: in place), so that nobody can take callgate out of Claude Code, Codex and VS Code")
	cmd.Flags().BoolVar(&watch, "watch", false, "keep running, and report servers that bypass callgate")
	return cmd
}

// plan looks at the hosts as the flags say.
func (o *connecting) plan(args []string) (*install.Plan, error) {
	hosts, err := install.Find(args)
	if err != nil {
		return nil, err
	}
	for _, s := range o.scopes {
		if !slices.Contains([]string{"user", "local", "project"}, s) {
			return nil, fmt.Errorf("--scope %s: use user, local or project", s)
		}
	}
	project, err := filepath.Abs(o.project)
	if err != nil {
		return nil, err
	}
	machine, err := install.ThisMachine(project)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	records, err := o.records()
	if err != nil {
		return nil, err
	}
	dataDir, err := o.dataDir()
	if err != nil {
		return nil, err
	}
	var hooks func(string) []install.HookFile
	if !o.noHooks {
		hooks = func(host string) []install.HookFile {
			return hosthooks.Hooks(host, program, []string{"--data-dir=" + dataDir})
		}
	}
	return install.Make(install.Options{
		Hooks: hooks, OnlyHooks: o.onlyHooks, Machine: machine, Hosts: hosts, Scopes: o.scopes, Servers: o.servers, Callgate: program,
		Folder: filepath.Join(xdg.ConfigHome, "callgate", "servers"), Records: records,
		Sanitize: proxy.Sanitize, Check: proxy.CheckAliases,
	})
}

func (o *connecting) connect(cmd *cobra.Command, args []string) error {
	plan, err := o.plan(args)
	if err != nil {
		return err
	}
	if o.asJSON && !o.yes {
		return output.JSON(cmd.OutOrStdout(), plan)
	}
	out := cmd.OutOrStdout()
	if !o.asJSON {
		output.Plan(out, plan)
	}
	switch {
	case !plan.Changes():
		if o.asJSON {
			return output.JSON(out, plan)
		}
		_, err := fmt.Fprintln(out, "Nothing to change.")
		return err
	case o.dryRun:
		return nil
	}
	if ok, err := o.confirm(cmd, "Make these changes?"); !ok || err != nil {
		return err
	}
	changed, err := plan.Apply()
	if o.asJSON {
		return errors.Join(err, output.JSON(out, plan))
	}
	for _, path := range changed {
		fmt.Fprintf(out, "changed  %s\n", tools.Visible(path))
	}
	if err != nil {
		return err
	}
	for _, h := range plan.Hosts {
		if h.Note != "" {
			fmt.Fprintln(out, "note     "+h.Note)
		}
		if d, err := hosthooks.Find(h.ID); err == nil && h.Found && !o.noHooks && d.Note != "" {
			fmt.Fprintln(out, "note     "+d.Note)
		}
	}
	_, err = fmt.Fprintln(out, "Restart the hosts. Then run \"callgate open\" to answer their questions, or \"callgate disconnect\" to undo this.")
	return err
}

// confirm asks once. Without a terminal it refuses.
func (o *connecting) confirm(cmd *cobra.Command, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false, errors.New("nobody can be asked here: add --yes to make these changes, or --dry-run to look only")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s [y/N] ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if !strings.EqualFold(strings.TrimSpace(answer), "y") && !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "Nothing was changed.")
		return false, err
	}
	return true, nil
}

package connect

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/install"
)

// ungated is a server that bypasses callgate, with the command that moves it, as --json prints them.
type ungated struct {
	Host    string `json:"host"`
	Server  string `json:"server"`
	Path    string `json:"path"`
	Command string `json:"command"`
}

// watch reports servers that bypass callgate, now and whenever a host's file changes, until it is ended. With --yes, it
// moves them behind callgate.
func (o *connecting) watch(cmd *cobra.Command, args []string) (err error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer files.Close()
	said := map[ungated]bool{}
	out := json.NewEncoder(cmd.OutOrStdout())
	out.SetEscapeHTML(false)
	say := func(object any, line string) { // failures to print are ignored
		if o.asJSON {
			_ = out.Encode(object)
		} else {
			fmt.Fprintln(cmd.OutOrStdout(), line)
		}
	}
	var look func() error
	look = func() error {
		// Changes from here on are events.
		if err := o.watchFolders(files, args); err != nil {
			return err
		}
		plan, err := o.Plan(args)
		if err != nil {
			return err
		}
		if o.yes && HasUngated(plan) {
			changed, err := plan.Apply()
			for _, path := range changed {
				say(map[string]string{"takenIn": path}, fmt.Sprintf("taken in  %s", tools.Visible(path)))
			}
			if err != nil {
				return err
			}
			return look() // report the servers that stay
		}
		now := map[ungated]bool{}
		for _, h := range plan.Hosts {
			for _, c := range h.Changes {
				for _, s := range c.Servers {
					if s.Stays != "" {
						continue
					}
					b := ungated{Host: h.ID, Server: s.Name, Path: c.Path, Command: "callgate connect " + h.ID + o.chosen}
					if now[b] = true; !said[b] {
						say(b, fmt.Sprintf("%s: %q in %s is not behind callgate: run %q", h.Name, tools.Visible(s.Name), tools.Visible(c.Path), b.Command))
					}
				}
			}
		}
		said = now
		return nil
	}
	if err := look(); err != nil {
		return err
	}
	for {
		select {
		case <-cmd.Context().Done():
			return nil
		case err := <-files.Errors:
			return err
		case <-files.Events:
			if err := look(); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "callgate: %v\n", err)
			}
		}
	}
}

// HasUngated reports whether the plan would move a server behind callgate. Servers in a file that cannot be changed do
// not count.
func HasUngated(plan *install.Plan) bool {
	for _, h := range plan.Hosts {
		for i := range h.Changes {
			c := &h.Changes[i]
			if c.Error == "" && c.Changes() && slices.ContainsFunc(c.Servers, func(s install.Found) bool { return s.Stays == "" }) {
				return true
			}
		}
	}
	return false
}

// watchFolders watches each folder that can hold a host's file, because hosts replace their files.
func (o *connecting) watchFolders(files *fsnotify.Watcher, args []string) error {
	hosts, err := install.Find(args)
	if err != nil {
		return err
	}
	machine, err := o.Machine()
	if err != nil {
		return err
	}
	for i := range hosts {
		for _, folder := range machine.Folders(&hosts[i], o.Scopes) {
			if err := files.Add(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

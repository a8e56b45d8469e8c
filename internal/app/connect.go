package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
	"callgate/proxy"
)

// Connect looks for hosts and for what would put callgate between them and their servers.
type Connect struct {
	DataDir   string
	Location  []string // the options with which the program of a host finds DataDir, the configuration and the worker
	Scopes    []string // user, local, plugin, project
	Servers   []string // only these; none is all
	Project   string   // folder of the scope project
	NoHooks   bool     // leave the built-in tools of hosts alone
	OnlyHooks bool     // and nothing else
	// AsConnected plans the hooks of each host for the configuration and worker that its entry of callgate names.
	AsConnected bool
}

// Scopes are where hosts have servers: for the person, for the person in a project, in plugins, and in a project's own
// files.
var Scopes = []string{"user", "local", "plugin", "project"}

// Records is the folder in which connect remembers what it changed.
func (o *Connect) Records() string { return filepath.Join(o.DataDir, "connect") }

// Machine is this machine, with the folder of the scope project.
func (o *Connect) Machine() (install.Machine, error) {
	project, err := filepath.Abs(o.Project)
	if err != nil {
		return install.Machine{}, err
	}
	return install.ThisMachine(project)
}

// Plan says what would change for these hosts, or for all that are found.
func (o *Connect) Plan(ids []string) (*install.Plan, error) {
	hosts, err := install.Find(ids)
	if err != nil {
		return nil, err
	}
	for _, s := range o.Scopes {
		if !slices.Contains(Scopes, s) {
			return nil, fmt.Errorf("--scope %s: use %s", s, strings.Join(Scopes, ", "))
		}
	}
	machine, err := o.Machine()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	var hooks func(string) []install.HookFile
	if !o.NoHooks {
		hooks = func(host string) []install.HookFile {
			return hosthooks.Hooks(host, program, o.hookOptions(machine, host))
		}
	}
	return install.Make(install.Options{
		Hooks: hooks, OnlyHooks: o.OnlyHooks, Machine: machine, Hosts: hosts, Scopes: o.Scopes, Servers: o.Servers, Callgate: program, Location: o.Location,
		Folder: config.ServersFolder(), Records: o.Records(),
		Sanitize: proxy.Sanitize, Check: proxy.CheckAliases,
	})
}

// hookOptions are the options of a host's hooks. They name the data directory even if it is the default, because hooks
// are answered before the configuration is read. Who only looks takes configuration and worker from the host's entry.
func (o *Connect) hookOptions(m install.Machine, host string) []string {
	options := []string{"--data-dir=" + o.DataDir}
	location := o.Location
	if o.AsConnected {
		location = locationOf(m, host)
	}
	for _, option := range location {
		if !strings.HasPrefix(option, "--data-dir=") {
			options = append(options, option)
		}
	}
	return options
}

// locationOf returns the options of callgate's first entry in a host's files.
func locationOf(m install.Machine, host string) (options []string) {
	found, err := install.Find([]string{host})
	if err != nil {
		return nil
	}
	entries := install.Entries(m, &found[0])
	if len(entries) == 0 {
		return nil
	}
	location := entries[0].Location()
	for _, name := range []string{"--config", "--worker"} { // in the order of connect
		if value := location[name]; value != "" {
			options = append(options, name+"="+value)
		}
	}
	return options
}

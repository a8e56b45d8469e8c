package app

import (
	"cmp"
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

// Connect looks for hosts, and for the changes that put callgate between them and their servers.
type Connect struct {
	DataDir   string
	Location  []string // the options with which a host's program finds DataDir, the configuration and the worker
	Scopes    []string // user, local, plugin, project
	Servers   []string // only these; nil means all
	Project   string   // folder of the scope "project"
	NoHooks   bool     // leave the built-in tools of hosts alone
	OnlyHooks bool     // change only those
	// AsConnected plans the hooks of each host for the configuration and worker in the host's entry for callgate.
	AsConnected bool
}

// Scopes lists where hosts have servers: for the user, for the user in one project, in plugins, and in a project's
// files.
var Scopes = []string{"user", "local", "plugin", "project"}

// Records returns the folder in which connect remembers what it changed.
func (o *Connect) Records() string { return filepath.Join(o.DataDir, "connect") }

// CheckScopes returns an error if one of the scopes does not exist.
func (o *Connect) CheckScopes() error {
	for _, s := range o.Scopes {
		if !slices.Contains(Scopes, s) {
			return fmt.Errorf("--scope %s: use %s", s, strings.Join(Scopes, ", "))
		}
	}
	return nil
}

// Machine returns this machine, with the folder of the scope "project".
func (o *Connect) Machine() (install.Machine, error) {
	project, err := filepath.Abs(o.Project)
	if err != nil {
		return install.Machine{}, err
	}
	if info, err := os.Stat(project); o.Project != "" && (err != nil || !info.IsDir()) {
		return install.Machine{}, fmt.Errorf("--project %s: there is no such folder", o.Project)
	}
	return install.ThisMachine(project)
}

// Plan returns what would change for these hosts, or for all that are found if ids is empty.
func (o *Connect) Plan(ids []string) (*install.Plan, error) {
	hosts, err := install.Find(ids)
	if err != nil {
		return nil, err
	}
	if err := o.CheckScopes(); err != nil {
		return nil, err
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

// hookOptions returns the options of a host's hooks. They name even the default data directory, because hooks are
// answered before the configuration is read. With AsConnected, configuration and worker come from the host's entry.
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
	for _, name := range []string{"--config", "--worker"} { // in the order in which connect writes them
		if value := location[name]; value != "" {
			options = append(options, name+"="+value)
		}
	}
	return options
}

// Connected is a file of a host that starts callgate.
type Connected struct {
	Path    string
	DataDir string // the data directory with connect's records; "" if none was found
}

// Elsewhere returns the hosts' files that start callgate, for a disconnect that found no record in its data directory.
// Without ids, it looks at all hosts.
func (o *Connect) Elsewhere(ids []string) (list []Connected, err error) {
	hosts, err := install.Find(ids)
	if err != nil {
		return nil, err
	}
	machine, err := o.Machine()
	if err != nil {
		return nil, err
	}
	for i := range hosts {
		var hooked []Connected
		for _, path := range hookFiles(machine, &hosts[i]) {
			for _, dir := range install.HookDataDirs(path, hosts[i].ID) {
				hooked = append(hooked, Connected{path, o.recorded(dir)})
			}
		}
		for _, e := range install.Entries(machine, &hosts[i]) {
			dir := o.recorded(e.Location()["--data-dir"])
			for _, h := range hooked { // older versions named it only there
				dir = cmp.Or(dir, h.DataDir)
			}
			list = append(list, Connected{e.Path, cmp.Or(dir, o.recorded(config.DefaultDataDir()))})
		}
		list = append(list, slices.DeleteFunc(hooked, func(c Connected) bool { return c.DataDir == "" })...)
	}
	return list, nil
}

// recorded returns the data directory if it has records of connect and is not this one, otherwise "".
func (o *Connect) recorded(dir string) string {
	other := Connect{DataDir: dir}
	if dir == "" || dir == o.DataDir || !other.Connected() {
		return ""
	}
	return dir
}

// hookFiles returns the files of a host's hooks that exist.
func hookFiles(m install.Machine, h *install.Host) (paths []string) {
	for _, f := range hosthooks.Hooks(h.ID, "", nil) {
		path := m.Path(h, f.Path)
		if !f.Separate {
			paths = append(paths, path)
			continue
		}
		for _, e := range f.Events {
			paths = append(paths, filepath.Join(path, e.Name))
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { _, err := os.Stat(path); return err != nil })
}

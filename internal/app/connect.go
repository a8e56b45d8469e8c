package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"

	"callgate/internal/hosthooks"
	"callgate/internal/install"
	"callgate/proxy"
)

// Connect looks for hosts and for what would put callgate between them and their servers.
type Connect struct {
	DataDir   string
	Scopes    []string // user, local, plugin, project
	Servers   []string // only these; none is all
	Project   string   // folder of the scope project
	NoHooks   bool     // leave the built-in tools of hosts alone
	OnlyHooks bool     // and nothing else
}

// Scopes are where hosts have servers: for the person, for the person in a project, in plugins, and in a project's own
// files.
var Scopes = []string{"user", "local", "plugin", "project"}

// ServersFolder is where callgate keeps the servers that it took from hosts.
func ServersFolder() string { return filepath.Join(xdg.ConfigHome, "callgate", "servers") }

// Records is the folder in which connect remembers what it changed.
func (o *Connect) Records() string { return filepath.Join(o.DataDir, "connect") }

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
	project, err := filepath.Abs(o.Project)
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
	var hooks func(string) []install.HookFile
	if !o.NoHooks {
		hooks = func(host string) []install.HookFile {
			return hosthooks.Hooks(host, program, []string{"--data-dir=" + o.DataDir})
		}
	}
	return install.Make(install.Options{
		Hooks: hooks, OnlyHooks: o.OnlyHooks, Machine: machine, Hosts: hosts, Scopes: o.Scopes, Servers: o.Servers, Callgate: program,
		Folder: ServersFolder(), Records: o.Records(),
		Sanitize: proxy.Sanitize, Check: proxy.CheckAliases,
	})
}

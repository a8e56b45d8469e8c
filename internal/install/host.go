// Package install moves the MCP servers in hosts' configuration files behind callgate, and back.
//
// It plans every change before it writes one, keeps the old content, and restores exactly that.
package install

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Host describes an LLM application: where it keeps its servers, and what callgate's entry looks like there.
type Host struct {
	ID       string         `yaml:"id"`
	Name     string         `yaml:"name"`
	Program  string         `yaml:"program"` // the command that starts it, or ""
	Homes    []Relocation   `yaml:"homes"`   // the first match counts
	Files    []File         `yaml:"files"`
	Plugins  *Plugins       `yaml:"plugins"`
	Settings []Settings     `yaml:"settings"`
	Shape    string         `yaml:"shape"`  // how an entry names its command: "" command and args, opencode, goose
	Entry    map[string]any `yaml:"entry"`  // further members of callgate's entry
	SSE      string         `yaml:"sse"`    // the member for an HTTP+SSE address, if Streamable HTTP has its own
	Dollar   bool           `yaml:"dollar"` // $NAME is a variable, without braces
	Own      string         `yaml:"own"`    // about built-in tools that no hook sees
	Prompt   string         `yaml:"prompt"`
}

// Relocation is an environment variable that moves a host's folder.
type Relocation struct {
	Variable string `yaml:"variable"`
	Replaces string `yaml:"replaces"`
}

// File is a place where a host keeps servers.
type File struct {
	Scope   string   `yaml:"scope"`   // user, local, project or plugin
	Path    string   `yaml:"path"`    // the last part may have a *
	Format  string   `yaml:"format"`  // json (comments allowed), toml or yaml
	Servers []string `yaml:"servers"` // the path to the entries; * stands for each member
	List    bool     `yaml:"list"`    // the entries are a list; each has a name
	Entry   string   `yaml:"entry"`   // callgate's name there; "": by scope
	Bare    bool     `yaml:"bare"`    // without the first member of servers, the file itself is the object of entries
}

// Settings describes a file in which a host names servers and tools. Their names change behind callgate. In places, *
// stands for each member or file.
type Settings struct {
	Scope    string     `yaml:"scope"`    // "" is user
	Path     string     `yaml:"path"`     // the last part may have a *
	Format   string     `yaml:"format"`   // "" is JSON; front: words between the --- lines at the start of a text
	Tools    []string   `yaml:"tools"`    // the form of a tool's name, such as "mcp__%s__%s" for server and tool
	Wide     bool       `yaml:"wide"`     // no patterns, so a server's name stands for everything that callgate offers
	Lists    [][]string `yaml:"lists"`    // lists of such names
	Keys     [][]string `yaml:"keys"`     // objects with such names as members
	Matchers []string   `yaml:"matchers"` // members below which each "matcher" holds such names
	Allow    []string   `yaml:"allow"`    // the list of tools about which the host does not ask
	Servers  [][]string `yaml:"servers"`  // lists of servers that it starts without asking
	Only     [][]string `yaml:"only"`     // lists of the only servers that it starts
	Off      [][]string `yaml:"off"`      // lists of servers that it does not start
}

//go:embed hosts.yaml
var hostsYAML []byte

// Hosts returns the hosts that callgate knows, in display order.
var Hosts = sync.OnceValue(func() []Host {
	var list []Host
	dec := yaml.NewDecoder(bytes.NewReader(hostsYAML))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil {
		panic("hosts.yaml: " + err.Error()) // a test reads the file, so no release has a bad one
	}
	return list
})

// Find returns the hosts with these ids, or all hosts if none are given.
func Find(ids []string) ([]Host, error) {
	if len(ids) == 0 {
		return Hosts(), nil
	}
	var list []Host
	for _, id := range ids {
		i := slices.IndexFunc(Hosts(), func(h Host) bool { return h.ID == strings.ToLower(id) })
		if i < 0 {
			return nil, fmt.Errorf("unknown host %q: use one of %s", id, strings.Join(IDs(), ", "))
		}
		list = append(list, Hosts()[i])
	}
	return list, nil
}

// IDs returns the ids of all hosts.
func IDs() []string {
	var ids []string
	for _, h := range Hosts() {
		ids = append(ids, h.ID)
	}
	return ids
}

// Machine describes where to look for hosts.
type Machine struct {
	Home    string              // the person's home folder
	Project string              // the folder with project files, or ""
	OS      string              // runtime.GOOS
	Getenv  func(string) string // the environment
}

// ThisMachine returns this machine, with the person's home and this project folder.
func ThisMachine(project string) (Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Machine{}, fmt.Errorf("find the home folder: %w", err)
	}
	return Machine{Home: home, Project: project, OS: runtime.GOOS, Getenv: os.Getenv}, nil
}

// path returns where a host's file is on this machine; "" if it needs a project and there is none.
func (m *Machine) path(h *Host, p string) string {
	for _, home := range h.Homes {
		if rest, ok := strings.CutPrefix(p, home.Replaces+"/"); ok && m.Getenv(home.Variable) != "" {
			return filepath.Join(m.Getenv(home.Variable), filepath.FromSlash(rest))
		}
	}
	if rest, ok := strings.CutPrefix(p, "~/.config/"); ok && m.Getenv("XDG_CONFIG_HOME") != "" {
		return filepath.Join(m.Getenv("XDG_CONFIG_HOME"), filepath.FromSlash(rest))
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return filepath.Join(m.Home, filepath.FromSlash(rest))
	}
	if rest, ok := strings.CutPrefix(p, "$CONFIG/"); ok {
		return filepath.Join(m.configFolder(), filepath.FromSlash(rest))
	}
	if m.Project == "" {
		return ""
	}
	return filepath.Join(m.Project, filepath.FromSlash(p))
}

// matching returns the files that a path stands for: the path itself, or existing files that match its last part.
func (m *Machine) matching(h *Host, p string) (list []string) {
	path := m.path(h, p)
	switch {
	case path == "":
		return nil
	case !strings.Contains(filepath.Base(p), "*"):
		return []string{path}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil // there are none
	}
	for _, e := range entries {
		if ok, _ := filepath.Match(filepath.Base(path), e.Name()); ok { // a test checks the hosts' patterns
			list = append(list, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return list
}

func (m *Machine) configFolder() string {
	switch m.OS {
	case "windows":
		if dir := m.Getenv("APPDATA"); dir != "" {
			return dir
		}
		return filepath.Join(m.Home, "AppData", "Roaming")
	case "darwin":
		return filepath.Join(m.Home, "Library", "Application Support")
	}
	if dir := m.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(m.Home, ".config")
}

// Installed reports whether the host's program is on the PATH or one of its own files exists.
func (m *Machine) Installed(h *Host) bool {
	if h.Program != "" {
		if _, err := exec.LookPath(h.Program); err == nil {
			return true
		}
	}
	return slices.ContainsFunc(h.Files, func(f File) bool {
		if f.Scope == "project" {
			return false
		}
		_, err := os.Stat(m.path(h, f.Path))
		return err == nil
	})
}

// Reads reports whether the host reads servers from this file.
func (m *Machine) Reads(h *Host, path string) bool {
	return slices.ContainsFunc(m.files(h), func(l located) bool { return l.path == path })
}

// Folders returns the existing folders in which the host can have files.
func (m *Machine) Folders(h *Host, scopes []string) []string {
	var list []string
	for _, f := range m.files(h) {
		if !slices.Contains(scopes, f.Scope) {
			continue
		}
		if info, err := os.Stat(filepath.Dir(f.path)); err == nil && info.IsDir() {
			list = append(list, filepath.Dir(f.path))
		}
	}
	if h.Plugins != nil && slices.Contains(scopes, "plugin") {
		if folder := m.path(h, h.Plugins.Folder); isFolder(folder) {
			list = append(list, folder)
		}
	}
	return list
}

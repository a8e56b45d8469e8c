package install

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Plugins describes where a host keeps plugins that bring MCP servers.
type Plugins struct {
	Folder   string `yaml:"folder"`
	Registry bool   `yaml:"registry"` // the folder has a list of installed plugins; otherwise each folder in it is a plugin
	Files    []File `yaml:"files"`    // relative to the plugin
	Root     string `yaml:"root"`     // the variable for the plugin's folder
	Entry    string `yaml:"entry"`    // callgate's entry; %s is the plugin
	Called   string `yaml:"called"`   // the host's name for a server; %s is the plugin, then the server
}

// located is a possible file of servers on this machine.
type located struct {
	*File
	path    string
	entry   string // callgate's entry in it
	plugin  string // the plugin it belongs to, or ""
	folder  string // the plugin's
	plugins *Plugins
}

// entryNames holds the names of callgate's entries by scope. They differ because hosts merge scopes by name.
var entryNames = map[string]string{"user": "callgate", "local": "callgate-local", "project": "callgate-project"}

// called returns the host's name for a server of the file.
func (l *located) called(server string) string {
	if l.plugins == nil || l.plugins.Called == "" {
		return server
	}
	return strings.Replace(strings.Replace(l.plugins.Called, "%s", l.plugin, 1), "%s", server, 1)
}

// files lists the files in which the host may have servers.
func (m *Machine) files(h *Host) []located {
	var list []located
	for i := range h.Files {
		f := &h.Files[i]
		for _, path := range m.matching(h, f.Path) {
			if f.Scope == "project" && slices.ContainsFunc(list, func(l located) bool { return l.path == path }) {
				continue // the project is the home folder, and this file is the user's own
			}
			entry := cmp.Or(f.Entry, entryNames[f.Scope])
			if name := filepath.Base(path); name != filepath.Base(f.Path) {
				extension := filepath.Ext(name)
				entry += "-" + strings.TrimSuffix(name, extension)
				if slices.ContainsFunc(list, func(l located) bool { return l.entry == entry }) { // one.yaml and one.json
					entry += "-" + strings.TrimPrefix(extension, ".")
				}
			}
			list = append(list, located{File: f, path: path, entry: entry})
		}
	}
	if h.Plugins == nil {
		return list
	}
	for _, p := range m.plugins(h) {
		for i := range h.Plugins.Files {
			f := &h.Plugins.Files[i]
			list = append(list, located{
				File: f, path: filepath.Join(p.folder, filepath.FromSlash(f.Path)), entry: strings.Replace(h.Plugins.Entry, "%s", p.name, 1),
				plugin: p.name, folder: p.folder, plugins: h.Plugins,
			})
		}
	}
	return list
}

type plugin struct{ name, folder string }

// plugins finds the host's plugins.
func (m *Machine) plugins(h *Host) (list []plugin) {
	folder := m.path(h, h.Plugins.Folder)
	add := func(name, folder string) {
		if p := (plugin{name, filepath.Clean(folder)}); isFolder(folder) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	if !h.Plugins.Registry {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil // there are none
		}
		for _, e := range entries {
			add(e.Name(), filepath.Join(folder, e.Name()))
		}
		return list
	}
	var installed struct {
		Plugins map[string][]struct {
			InstallPath string `json:"installPath"`
		} `json:"plugins"`
	}
	var known map[string]struct {
		Source struct {
			Source string `json:"source"`
			Path   string `json:"path"`
		} `json:"source"`
	}
	if !readInto(filepath.Join(folder, "installed_plugins.json"), &installed) {
		return nil
	}
	readInto(filepath.Join(folder, "known_marketplaces.json"), &known)
	names := slices.Sorted(maps.Keys(installed.Plugins))
	for _, full := range names {
		name, market, _ := strings.Cut(full, "@")
		for _, i := range installed.Plugins[full] {
			if filepath.IsAbs(i.InstallPath) {
				add(name, i.InstallPath)
			}
		}
		if source := known[market].Source; source.Source == "directory" && filepath.IsAbs(source.Path) {
			add(name, offered(source.Path, name)) // the plugin runs from there
		}
	}
	return list
}

// offered returns a plugin's folder inside a marketplace on this machine; "" if it is elsewhere.
func offered(market, name string) string {
	var list struct {
		Plugins []struct {
			Name   string `json:"name"`
			Source any    `json:"source"`
		} `json:"plugins"`
	}
	readInto(filepath.Join(market, ".claude-plugin", "marketplace.json"), &list)
	for _, p := range list.Plugins {
		if at, ok := p.Source.(string); ok && p.Name == name && filepath.IsLocal(filepath.FromSlash(at)) {
			return filepath.Join(market, filepath.FromSlash(at))
		}
	}
	return ""
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readInto parses a JSON file of a host, and reports whether it could.
func readInto(path string, v any) bool {
	text, err := readFile(path)
	if err == nil {
		text, err = hujson.Standardize(text)
	}
	return err == nil && json.Unmarshal(text, v) == nil
}

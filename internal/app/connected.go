package app

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
)

// Connected is a file of a host that starts callgate.
type Connected struct {
	Path    string
	DataDir string // the data directory that has the record of connect; "" if none was found
}

// Elsewhere returns the files of hosts (of all if none are named) that start callgate, for a disconnect that found no
// record in its data directory.
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
			for _, h := range hooked { // an older connect named it there only
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

// hookFiles returns where a host's hooks are.
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

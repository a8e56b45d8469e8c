package config

import (
	"fmt"

	"callgate/permissions"
)

// toolsConfig says which tools the host sees.
type toolsConfig struct {
	Expose string   // all or search
	Pinned []string // globs over qualified names: seen under search too

	PinnedGlobs []*permissions.Glob `mapstructure:"-"`
}

// Values of tools.expose.
const (
	ExposeAll    = "all"
	ExposeSearch = "search"
)

func (t *toolsConfig) check() error {
	if t.Expose != ExposeAll && t.Expose != ExposeSearch {
		return fmt.Errorf("expose %q: use all or search", t.Expose)
	}
	for i, pattern := range t.Pinned {
		glob, err := permissions.CompileGlob(pattern)
		if err != nil {
			return fmt.Errorf("pinned[%d]: %w", i, err)
		}
		t.PinnedGlobs = append(t.PinnedGlobs, glob)
	}
	return nil
}

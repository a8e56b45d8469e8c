package config

import (
	"fmt"

	"callgate/permissions"
)

// toolsConfig says which tools the host sees.
type toolsConfig struct {
	Expose string   // all or search
	Pinned []string // globs over qualified names: shown under search too

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
	var err error
	t.PinnedGlobs, err = compileGlobs("pinned", t.Pinned)
	return err
}

// compileGlobs compiles the patterns of a key.
func compileGlobs(key string, patterns []string) (globs []*permissions.Glob, err error) {
	for i, pattern := range patterns {
		glob, err := permissions.CompileGlob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		globs = append(globs, glob)
	}
	return globs, nil
}

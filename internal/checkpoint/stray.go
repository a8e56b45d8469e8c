package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/lazyregexp"
	"callgate/internal/nolink"
)

// Programs that replace a file write a temporary file next to it and rename that. If they are killed in between, the
// temporary file stays. No checkpoint has it, because no call named it.
var (
	// temporaryAlone matches names of temporary files for any file: of Go, Python, Rust, GLib, sed and patch.
	temporaryAlone = lazyregexp.New(`^(?:\.?(?:tmp|temp)[-._]?([0-9A-Za-z_-]{4,})|\.goutputstream-([0-9A-Z]{6})|(?:sed|po)([0-9A-Za-z]{6})|.+\.(?:tmp|temp))$`)
	// temporaryOf matches what remains of such a name without the file's name: a word for it, random letters, or both.
	temporaryOf = lazyregexp.New(`^(?:~|[-._](?:tmp|temp|new|part|partial|swp|lock)(?:[-._][0-9A-Za-z]+)*|[-._]?([0-9A-Za-z_]{4,})(?:[-._](?:tmp|temp|[0-9]+))?)$`)
	// extension matches endings that people give to their own files.
	extension = lazyregexp.New(`^[.][A-Za-z]{1,12}[0-9]{0,3}$`)
	wordAlone = lazyregexp.New(`^(?:[0-9A-Z]?[a-z_-]*|[A-Z_-]*)$`)
)

// temporaryFor reports whether name looks like the temporary file of a program that was replacing base. Random letters
// differ from words by their digits and capitals.
func temporaryFor(name, base string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "."), strings.TrimPrefix(base, "."))
	if m := temporaryOf.FindStringSubmatch(rest); ok && m != nil {
		return m[1] == "" || !wordAlone.MatchString(m[1]) && !extension.MatchString(rest)
	}
	m := temporaryAlone.FindStringSubmatch(name)
	return m != nil && !(m[1]+m[3] != "" && wordAlone.MatchString(m[1]+m[3]))
}

// clockSlack is how far a file's time may lie before the clock's: some file systems count in such steps.
const clockSlack = 2 * time.Second

// strays returns files that a program seems to have left when it was killed during the call. They are next to a file
// that the call was to change, are named like temporary files, and were written since the checkpoint was taken.
func (p *plan) strays(ctx context.Context, only []string) (found []step, err error) {
	taken := map[string]bool{}
	var paths []string
	for _, k := range p.checkpoint.Before {
		if k.Scope == Alone && k.Kind != Directory {
			paths = append(paths, k.Path)
		}
	}
	for _, st := range p.steps {
		taken[st.Path] = true
		if st.Before.Kind != Directory {
			paths = append(paths, st.Path)
		}
	}
	for _, path := range paths {
		taken[path] = true
	}
	for _, path := range paths {
		if len(only) > 0 && !slices.ContainsFunc(only, func(o string) bool { return beneath(path, filepath.Clean(o)) }) {
			continue
		}
		names, err := p.writtenSince(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			stray := filepath.Join(filepath.Dir(path), name)
			if taken[stray] || !temporaryFor(name, filepath.Base(path)) {
				continue
			}
			taken[stray] = true
			now, err := p.store.look(ctx, &p.checkpoint, stray)
			if err != nil {
				return nil, err
			}
			if now.Kind != Absent {
				found = append(found, step{Change: Change{Path: stray, Before: Entry{Kind: Absent}, After: now}})
			}
		}
	}
	slices.SortFunc(found, func(a, b step) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// writtenSince returns the regular files in the folder of path that were written since the checkpoint was taken.
func (p *plan) writtenSince(path string) (names []string, err error) {
	dir, _, _, err := openFolderOf(path, p.checkpoint.Workspace)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, nolink.ErrNoFolder) || errors.Is(err, nolink.ErrLink) {
		return nil, nil // there is no folder, so nothing is in it
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, why := namesIn(dir)
	if why != "" {
		return nil, nil
	}
	since := p.checkpoint.CreatedAt.Add(-clockSlack)
	for _, e := range all {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().After(since) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

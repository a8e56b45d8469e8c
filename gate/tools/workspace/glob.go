package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// MaxGlob bounds how many files of one glob are judged one by one.
const MaxGlob = 200

// Globs expands the globs of one call within one budget: the bounds of DeniedBeneath, for all globs together.
type Globs struct {
	deadline time.Time
	entries  int
	Listed   map[string]bool // folders that were looked into
}

// expansion is what a pattern stands for.
type expansion struct {
	Files   []string // that exist and match
	Folders []string // any file in them may be meant
}

// Expand returns what an absolute pattern stands for. The syntax is that of path.Match, where a segment "**" is a
// folder and everything below it. If loose is true, options of the shell may let it match more: files with a leading
// dot, and names in another case. What a pattern without metacharacters names need not exist. On an error nobody knows
// what the pattern stands for.
func (g *Globs) Expand(pattern string, loose bool) (expansion, error) {
	if g.Listed == nil {
		g.Listed = map[string]bool{}
		g.deadline = time.Now().Add(maxWalkTime)
	}
	volume := filepath.VolumeName(pattern)
	bases := []string{volume + string(filepath.Separator)}
	segments := strings.FieldsFunc(pattern[len(volume):], func(r rune) bool { return r == '/' })
	literal, folders := true, strings.HasSuffix(pattern, "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch {
		case segment == "**" && last:
			return expansion{Folders: bases}, nil
		case segment == "**":
			literal, loose = false, true
			var all []string
			for _, base := range bases {
				below, err := g.below(base)
				if err != nil {
					return expansion{}, err
				}
				all = append(all, below...)
			}
			bases = all
		case !isPattern(segment):
			name := unescaped(segment)
			for j := range bases {
				bases[j] = strings.TrimSuffix(bases[j], string(filepath.Separator)) + string(filepath.Separator) + name
			}
			if !literal {
				var err error
				if bases, err = g.existing(bases); err != nil {
					return expansion{}, err
				}
			}
		default:
			literal = false
			var matches []string
			for _, base := range bases {
				var err error
				if matches, err = g.list(matches, base, segment, !last || folders, loose); err != nil {
					return expansion{}, err
				}
			}
			bases = matches
		}
	}
	return expansion{Files: bases}, nil
}

// spend takes n entries from the budget.
func (g *Globs) spend(n int) error {
	if g.entries += n; g.entries > maxEntries || time.Now().After(g.deadline) {
		return ErrBound
	}
	return nil
}

// list appends the entries of folder that match segment. onlyFolders keeps only folders and links that may lead to one.
func (g *Globs) list(matches []string, folder, segment string, onlyFolders, loose bool) ([]string, error) {
	entries, err := g.read(folder)
	if err != nil {
		return nil, err
	}
	dots := strings.HasPrefix(strings.TrimPrefix(segment, `\`), ".")
	try := func(name string) error {
		if name[0] == '.' && !dots && !loose {
			return nil
		}
		ok, err := path.Match(segment, name)
		if err == nil && !ok && (loose || caseInsensitive) {
			ok, err = path.Match(strings.ToLower(segment), strings.ToLower(name))
		}
		if ok {
			matches = append(matches, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator)+name)
		}
		return err
	}
	if dots { // many shells match these too
		if err := errors.Join(try("."), try("..")); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if onlyFolders && !e.IsDir() && e.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			continue
		}
		if err := try(e.Name()); err != nil {
			return nil, err
		}
	}
	return matches, nil
}

// read lists a folder. A path that does not exist, or is no folder, holds nothing.
func (g *Globs) read(folder string) ([]fs.DirEntry, error) {
	if err := g.spend(1); err != nil {
		return nil, err
	}
	f, err := os.Open(folder)
	if Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	real, _, err := RealPath(Clean(folder))
	if err != nil {
		return nil, err
	}
	g.Listed[real] = true
	var all []fs.DirEntry
	for {
		entries, err := f.ReadDir(1024)
		all = append(all, entries...)
		if bound := g.spend(len(entries)); bound != nil {
			return nil, bound
		}
		switch {
		case len(entries) == 0 || Missing(err):
			return all, nil
		case err != nil:
			return nil, err
		}
	}
}

// existing returns the paths that exist, and notes the folders that they were looked for in.
func (g *Globs) existing(paths []string) ([]string, error) {
	kept := paths[:0]
	for _, p := range paths {
		if err := g.spend(1); err != nil {
			return nil, err
		}
		real, _, err := RealPath(Clean(filepath.Dir(p)))
		if err != nil {
			return nil, err
		}
		g.Listed[real] = true
		switch _, err := os.Lstat(p); {
		case err == nil:
			kept = append(kept, p)
		case !Missing(err):
			return nil, err
		}
	}
	return kept, nil
}

// below returns folder and every folder below it, except those that links lead to.
func (g *Globs) below(folder string) ([]string, error) {
	all := []string{folder}
	for i := 0; i < len(all); i++ {
		entries, err := g.read(all[i])
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, filepath.Join(all[i], e.Name()))
			}
		}
	}
	return all, nil
}

// Splits reports whether the name of folder, or of anything below it, is one that a shell or xargs may take for
// something other than one name.
func (g *Globs) Splits(folder string) (bool, error) {
	if Splits(folder) {
		return true, nil
	}
	folders, err := g.below(folder)
	if err != nil {
		return false, err
	}
	for _, f := range folders {
		entries, err := g.read(f)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if Splits(e.Name()) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Splits reports whether a name can become several words where a shell or xargs splits it, or an option.
func Splits(name string) bool {
	return strings.ContainsAny(name, " \t\n*?['\"\\") || strings.HasPrefix(name, "-") || strings.Contains(name, "/-")
}

// Missing reports whether err means that a file does not exist, or that its folder is not one.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isPattern reports whether a segment holds a metacharacter that is not escaped.
func isPattern(segment string) bool {
	for i := 0; i < len(segment); i++ {
		switch segment[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// unescaped returns what a segment without metacharacters names.
func unescaped(segment string) string {
	if strings.IndexByte(segment, '\\') < 0 {
		return segment
	}
	b := make([]byte, 0, len(segment))
	for i := 0; i < len(segment); i++ {
		if segment[i] == '\\' && i+1 < len(segment) {
			i++
		}
		b = append(b, segment[i])
	}
	return string(b)
}

// FixedPart returns the folder below which everything lies that a pattern matches.
func FixedPart(pattern string) string {
	segments := strings.Split(pattern, "/")
	n := slices.IndexFunc(segments, isPattern)
	if n < 0 {
		n = len(segments) - 1
	}
	for i := range segments[:n] {
		segments[i] = unescaped(segments[i])
	}
	if n <= 1 {
		return "/"
	}
	return strings.Join(segments[:n], "/")
}

package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/permissions"
)

// reading and writing list the kinds in rules that open files.
var (
	reading = []string{"read_file", "grep", "glob", "resource_read", "sandbox_read"}
	writing = []string{"write_file", "edit_file", "delete_file", "move_file", "sandbox_write"}
)

// ruled holds what rules and grants say about files, by their paths.
type ruled struct{ open, denied []named }

// named is a file or folder that a rule for a kind names.
type named struct {
	path, kind string
	write      bool
}

// ruled reads the rules in their order, as the last one that matches wins, and then the grants.
func (o *Options) ruled() (r ruled) {
	for i := range o.Rules {
		if rule := &o.Rules[i]; rule.Action == permissions.Allow {
			r.allow(o, rule)
		} else {
			r.close(o, rule)
		}
	}
	byRules := ruled{slices.Clip(r.open), r.denied}
	for i := range o.Grants {
		if g := &o.Grants[i]; o.holds(g) {
			r.allow(o, &permissions.Rule{Tool: g.Tool, Pattern: g.Pattern, Capped: true, Risk: g.Risk})
		}
	}
	granted := slices.DeleteFunc(r.open[len(byRules.open):], func(n named) bool { // no grant lifts a deny
		return slices.ContainsFunc(byRules.denied, func(d named) bool { return d.write == n.write && within(n.path, d.path) })
	})
	r = ruled{append(byRules.open, granted...), byRules.denied}
	// What is open in a denied part of an open folder stays closed: the wall closes the whole part.
	all := slices.Clone(r.open)
	r.open = slices.DeleteFunc(r.open, func(n named) bool {
		return slices.ContainsFunc(r.denied, func(d named) bool {
			return within(n.path, d.path) && slices.ContainsFunc(all, func(around named) bool { return d.path != around.path && within(d.path, around.path) })
		})
	})
	return r
}

// allow opens what an allow rule names. A rule under a condition opens nothing: the box stays as it is when the
// condition ends.
func (r *ruled) allow(o *Options, rule *permissions.Rule) {
	kind := o.kind(rule.Tool)
	write := slices.Contains(writing, kind)
	if !write && !slices.Contains(reading, kind) || rule.When != (permissions.When{}) || write && rule.Capped && permissions.Write.Exceeds(rule.Risk) {
		return
	}
	for _, path := range o.paths(rule.Pattern, true) {
		r.open = append(r.open, named{path, kind, write})
		r.denied = slices.DeleteFunc(slices.Clone(r.denied), func(d named) bool { return d.write == write && within(d.path, path) })
	}
}

// close closes again what a rule other than an allow covers. A deny also closes what it names in open folders.
func (r *ruled) close(o *Options, rule *permissions.Rule) {
	tool, err := permissions.CompileGlob(rule.Tool)
	if err != nil {
		return // the store has refused it
	}
	names := func(kind string) bool { return tool.Match(kind) || o.kind(rule.Tool) == kind }
	paths := o.paths(rule.Pattern, false)
	r.open = slices.DeleteFunc(r.open, func(n named) bool {
		return names(n.kind) && (strings.Trim(rule.Pattern, "*") == "" || slices.ContainsFunc(paths, func(path string) bool { return within(n.path, path) }))
	})
	if rule.Action != permissions.Deny {
		return
	}
	for _, path := range paths {
		if names("read_file") || names("sandbox_read") {
			r.denied = append(r.denied, named{path: path})
		}
		if names("write_file") || names("edit_file") || names("sandbox_write") {
			r.denied = append(r.denied, named{path: path, write: true})
		}
	}
}

// kind returns the kind that a tool's name in a rule means for this server.
func (o *Options) kind(tool string) string {
	if own, ok := strings.CutPrefix(tool, o.Server+"_"); ok && strings.HasPrefix(own, "sandbox_") {
		return own
	}
	return tool
}

// paths returns the folders and files that a pattern names, none as wide as a home. A pattern that begins with a
// wildcard names none. around lets a pattern for some files of the server's own folder name the folder around them: the
// server makes files there.
func (o *Options) paths(text string, around bool) (paths []string) {
	pattern, plain := literal(text)
	if !plain {
		pattern = text
	}
	for prefix, dir := range map[string]string{"$WORKSPACE/": o.Dir, "~/": o.Home, "$HOME/": o.Home} {
		if rest, ok := strings.CutPrefix(pattern, prefix); ok {
			pattern = dir + "/" + rest
			break
		}
	}
	if !filepath.IsAbs(pattern) {
		return nil
	}
	if paths = []string{pattern}; !plain {
		paths = o.matched(pattern, around)
	}
	for i := range paths {
		paths[i] = filepath.Clean(paths[i])
	}
	return slices.DeleteFunc(paths, o.wide)
}

// matched returns what a pattern with wildcards names: the folder before a last /* or /**, or else the files that match
// now.
func (o *Options) matched(pattern string, around bool) []string {
	const special = `*?[{(\`
	whole := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(pattern, "/*"), "/**"), "/*")
	folder := whole
	if i := strings.IndexAny(whole, special); i >= 0 {
		folder = whole[:strings.LastIndexByte(whole[:i], '/')+1]
	}
	if folder == whole || around && within(filepath.Clean(folder), o.Dir) {
		return []string{folder}
	}
	found, _ := filepath.Glob(strings.ReplaceAll(whole, "[!", "[^")) // one that Go cannot read names none
	return found
}

// literal returns the only text that a pattern matches; ok is false if it matches others too.
func literal(pattern string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteByte(pattern[i])
		case strings.IndexByte(`*?[{(\`, c) >= 0:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

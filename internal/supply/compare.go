package supply

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is one difference between a server and its lock.
type Change struct {
	What    string // one line
	Package string // the package whose version changed, if the registry can explain it; else ""
	Was, Is string // versions; Was is "" for a new package
	Notes   []string
}

func (c Change) String() string {
	if len(c.Notes) == 0 {
		return c.What
	}
	return c.What + " (" + strings.Join(c.Notes, "; ") + ")"
}

// Compare lists how a server differs from its lock. Locked packages that are missing now do not count, because optional
// packages are not installed everywhere. Tools count only if both sides know them.
func Compare(locked, now *Entry) (changes []Change) {
	say := func(format string, args ...any) {
		changes = append(changes, Change{What: fmt.Sprintf(format, args...)})
	}
	if !slices.Equal(locked.Command, now.Command) {
		say("command: was %q, is %q", strings.Join(locked.Command, " "), strings.Join(now.Command, " "))
	}
	if locked.URL != now.URL {
		say("url: was %q, is %q", locked.URL, now.URL)
	}
	for _, name := range now.Variables {
		if !slices.Contains(locked.Variables, name) {
			say("variable %s: new", name)
		}
	}
	for _, name := range locked.Variables {
		if !slices.Contains(now.Variables, name) {
			say("variable %s: gone", name)
		}
	}
	changes = append(changes, comparePackages(locked, now)...)
	for _, path := range slices.Sorted(maps.Keys(now.Files)) {
		switch was, known := locked.Files[path]; {
		case !known:
			say("file %s: new, %s", path, now.Files[path])
		case was != now.Files[path]:
			say("file %s: changed, was %s, is %s", path, was, now.Files[path])
		}
	}
	if locked.Tools != nil && now.Tools != nil {
		for _, name := range slices.Sorted(maps.Keys(now.Tools)) {
			switch was, known := locked.Tools[name]; {
			case !known:
				say("tool %s: new", name)
			case was != now.Tools[name]:
				say("tool %s: its definition changed", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(locked.Tools)) {
			if _, there := now.Tools[name]; !there {
				say("tool %s: gone", name)
			}
		}
	}
	return changes
}

// comparePackages lists the packages that the lock does not contain or holds differently, the server's own first.
func comparePackages(locked, now *Entry) (changes []Change) {
	versions, scripts := map[string][]string{}, map[string]bool{} // those in the lock
	for key, p := range locked.Packages {
		name, version := splitKey(key)
		versions[name] = append(versions[name], version)
		scripts[name] = scripts[name] || p.Script
	}
	for _, key := range slices.Sorted(maps.Keys(now.Packages)) {
		p := now.Packages[key]
		name, version := splitKey(key)
		c := Change{Package: name, Is: version}
		switch was, known := locked.Packages[key]; {
		case !known && versions[name] == nil:
			c.What = fmt.Sprintf("package %s: new", key)
		case !known:
			slices.Sort(versions[name])
			c.Was = versions[name][len(versions[name])-1]
			c.What = fmt.Sprintf("package %s: was %s, is %s", name, strings.Join(versions[name], " and "), version)
		case differ(was.Integrity, p.Integrity):
			c.Package, c.What = "", fmt.Sprintf("package %s: the registry has other contents under the same version, was %s, is %s", key, was.Integrity, p.Integrity)
		case differ(was.Content, p.Content):
			c.Package, c.What = "", fmt.Sprintf("package %s: its files on this machine were changed", key)
		default:
			if p.Script == was.Script || !p.Script {
				continue
			}
			c.Package, c.What = "", fmt.Sprintf("package %s: changed", key)
		}
		if p.Script && !scripts[name] {
			c.Notes = append(c.Notes, "it runs a script when it is installed, which is new")
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return boolRank(b.Package == now.Package) - boolRank(a.Package == now.Package)
	})
	return changes
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// differ reports whether two digests are both known and differ.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// splitKey splits NAME@VERSION. A scoped name begins with another @.
func splitKey(key string) (name, version string) {
	i := strings.LastIndexByte(key, '@')
	return key[:i], key[i+1:]
}

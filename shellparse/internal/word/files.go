package word

import (
	"path"
	"slices"
	"strings"

	"callgate/shellparse/script"
)

// files appends the files that an unknown word can name.
func (a *Reader) files(list []script.File, w Word, by string, sc *Scope) []script.File {
	if w.pipe {
		return list // a process substitution names no file, only its commands' input or output
	}
	f := script.File{Path: script.Word{Value: w.Text, Known: false}, By: by, Split: w.split, Tracked: w.tracked}
	for _, g := range w.Globs {
		if g == "" || g == "-" && by != "redirect" {
			continue
		}
		switch {
		case climbs(g) || sc.Lost && len(sc.Within) == 0 && !path.IsAbs(g):
			f.Pattern = ""
			return a.Note(list, f)
		case path.IsAbs(g):
			f.Pattern = below("/", g)
			list = a.Note(list, f)
		default:
			for _, d := range sc.Dirs {
				f.Pattern = below(literal(d), g)
				list = a.Note(list, f)
			}
			for _, d := range sc.Within {
				f.Pattern = below(d, g)
				list = a.Note(list, f)
			}
		}
	}
	if len(w.Globs) == 0 {
		list = a.Note(list, f)
	}
	return list
}

// below joins a pattern to a directory. A trailing slash is kept: it matches only folders.
func below(dir, pattern string) string {
	p := path.Join(dir, pattern)
	if strings.HasSuffix(pattern, "/") && p != "/" {
		p += "/"
	}
	return p
}

// climbs reports whether a pattern goes up (..) from an uncertain directory. A link can make that any place.
func climbs(pattern string) bool {
	glob := false
	for s := range strings.SplitSeq(pattern, "/") {
		if s == ".." && glob {
			return true
		}
		glob = glob || strings.ContainsAny(s, "*?[")
	}
	return false
}

// File appends the files that a word can name: one for each directory that the command may run in.
func (a *Reader) File(list []script.File, w Word, by string, sc *Scope) []script.File {
	if !w.Known {
		return a.files(list, w, by, sc)
	}
	if w.Text == "" || w.Text == "-" && by != "redirect" {
		return list
	}
	if path.IsAbs(w.Text) {
		p := path.Clean(w.Text)
		if harmlessDevice(p) || by != "redirect" && strings.HasPrefix(p, "/dev/fd/") {
			return list
		}
		return a.Note(list, script.File{Path: script.Word{Value: p, Known: true}, By: by})
	}
	if sc.Lost {
		list = a.lost(list, w, by, sc)
	}
	for _, d := range sc.Dirs {
		p := path.Join(d, w.Text)
		if !harmlessDevice(p) {
			list = a.Note(list, script.File{Path: script.Word{Value: p, Known: true}, By: by})
		}
	}
	return list
}

// lost appends what a known name can be in an unknown directory.
func (a *Reader) lost(list []script.File, w Word, by string, sc *Scope) []script.File {
	f := script.File{Path: script.Word{Value: w.Text}, By: by}
	name := literal(w.Text)
	if len(sc.Within) == 0 || slices.ContainsFunc(sc.Within, func(d string) bool { return climbs(d + "/" + name) }) {
		return a.Note(list, f)
	}
	for _, d := range sc.Within {
		f.Pattern = path.Join(d, name)
		list = a.Note(list, f)
	}
	return list
}

// fileCost is the cost of one path besides its text, in bytes of Spend.
const fileCost = 32

// Note appends a file unless the list has it or the limit of Spend is reached.
func (a *Reader) Note(list []script.File, f script.File) []script.File {
	if slices.Contains(list, f) || !a.Found.Spend(fileCost+len(f.Path.Value)+len(f.Pattern)) {
		return list
	}
	return append(list, f)
}

func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd/1", "/dev/fd/2", "/dev/fd/0":
		return true
	}
	return false
}

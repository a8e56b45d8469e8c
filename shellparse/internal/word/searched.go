package word

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// Options with which search programs print only file names and follow no links. With others they may print anything.
var (
	grepLists = MustOptions("-l,--files-with-matches --files-without-match -r,--recursive -i,--ignore-case,-y -w,--word-regexp " +
		"-x,--line-regexp -v,--invert-match -E,--extended-regexp -F,--fixed-strings -G,--basic-regexp -P,--perl-regexp -s,--no-messages -I -a,--text " +
		"-n,--line-number -H,--with-filename -e,--regexp= -m,--max-count= --include= --exclude= --exclude-dir= -Z,--null")
	rgLists = MustOptions("-l,--files-with-matches --files-without-match --files -i,--ignore-case -w,--word-regexp -x,--line-regexp -v,--invert-match " +
		"-F,--fixed-strings -P,--pcre2 -s,--case-sensitive -S,--smart-case -U,--multiline -n,--line-number -N,--no-line-number -u,--unrestricted --hidden -. --no-ignore " +
		"--no-ignore-vcs --no-messages --no-config -0,--null -a,--text -e,--regexp= -m,--max-count= -g,--glob= --iglob= -t,--type= -T,--type-not= " +
		"-d,--max-depth= -j,--threads= --sort=")
	fdLists = MustOptions("-e,--extension= -t,--type= -H,--hidden -I,--no-ignore -u,--unrestricted -E,--exclude= -d,--max-depth= --min-depth= -g,--glob " +
		"-i,--ignore-case -s,--case-sensitive -F,--fixed-strings -0,--print0 -j,--threads= -S,--size= --changed-within= --changed-before=")
)

// Searched returns the patterns of the files whose names a search prints: grep -rl, rg -l, rg --files, fd. zeros means
// that zero bytes separate the names. It returns no patterns if the search may print something else.
func Searched(argv []Word) (globs []string, zeros bool) {
	var options *Options
	pattern, names := 1, []string(nil) // number of operands before the files
	switch argv[0].Text {
	case "grep", "egrep", "fgrep":
		options = grepLists
	case "rg":
		options = rgLists
	case "fd", "fdfind":
		options = fdLists
	default:
		return nil, false
	}
	s := options.Scan(argv[1:], programs.GNU)
	if s.Unknown != "" || s.Vague != "" {
		return nil, false
	}
	lists, recursive := options == fdLists, options != grepLists
	for _, h := range s.Hits {
		switch h.Opt.Last {
		case "--files-with-matches", "--files-without-match":
			lists = true
		case "--files":
			lists, pattern = true, 0
		case "--regexp":
			pattern = 0
		case "--recursive":
			recursive = true
		case "--include", "--glob", "--iglob":
			names = append(names, h.Value.Text)
		case "--null", "--print0":
			zeros = true
		case "--extension":
			names = append(names, "*."+h.Value.Text)
		}
	}
	if !lists {
		return nil, false
	}
	starts := []string{}
	for i, w := range s.Operands {
		switch {
		case i < pattern:
		case w.Known:
			starts = append(starts, literal(w.Text))
		case len(w.Globs) == 0:
			return nil, false
		default:
			starts = append(starts, w.Globs...)
		}
	}
	if !recursive {
		return starts, zeros
	}
	return beneath(starts, names), zeros
}

// beneath returns the patterns of the files with one of the names in these folders, or in the working directory if
// there are none. If one of the names is too complex, any name counts.
func beneath(starts, names []string) []string {
	if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return n == "" || strings.ContainsAny(n, "!/{}[]\\") }) {
		names = []string{""}
	}
	list, folders := slices.Clone(starts), []string{""} // without starts, the working directory
	if len(starts) > 0 {
		folders = folders[:0]
	}
	for _, s := range starts {
		folders = append(folders, s+"/")
	}
	for _, f := range folders {
		for _, n := range names {
			list = append(list, strings.TrimSuffix(f+"**/"+n, "/"))
		}
	}
	if len(list) > maxGlobs {
		return nil
	}
	return list
}

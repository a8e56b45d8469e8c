package tools

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/gitfiles"
	"callgate/shellparse"
)

// showsNamed are commands of git that show the files which their words name.
var showsNamed = wordSet("blame annotate grep")

// readsIfThere makes the subjects of a path that may as well be something else.
func (b *builder) readsIfThere(path string) {
	if _, err := os.Lstat(path); err == nil {
		b.reads(path)
	}
}

// gitReads notes the files whose content a git command shows: those that its words name, and those that it
// shows without naming them, which are what the repository tracks, as its index lists.
func (b *builder) gitReads(c *shellparse.Command) {
	if len(c.Argv) < 2 || c.Argv[0].Value != "git" {
		return
	}
	whole := showsContent(c) || grepsTracked(c)
	if !whole && !showsNamed[c.Argv[1].Value] {
		return
	}
	at, here := b.place.at(c.Dir), !b.tool.remote && b.place.Dir != ""
	for _, w := range c.Argv[2:] {
		switch {
		case w.Known:
			if here && !isOption(w.Value) && len(w.Value) <= maxPath {
				b.readsIfThere(at.absolute(b.place.expand(w.Value)))
			}
		case here && w.NoOption && isPlainGlob(w.Value):
			b.readsGlob(at.absolute(w.Value))
		case !printsRevision(w.Value):
			b.mark("unknown-read", "What "+quote(w.Value)+" names, which git shows, cannot be told.")
		}
	}
	if whole && here {
		if index, ok := gitIndex(at.Dir); ok {
			b.searches(index, b.pathspecs(c, at))
		}
	}
}

// isPlainGlob reports whether the source of a word is a glob of the shell and nothing else.
func isPlainGlob(source string) bool {
	return strings.IndexFunc(source, func(r rune) bool {
		return r != '*' && r != '?' && r != '.' && r != '/' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// readsGlob notes that the files which a glob matches are read.
func (b *builder) readsGlob(pattern string) {
	found, err := b.globs.expand(pattern, false)
	if err != nil || len(found.files) > maxGlob {
		b.mark("unknown-read", "Which files "+quote(pattern)+" names cannot be told.")
		return
	}
	for _, path := range slices.Concat(found.files, found.folders) {
		b.reads(path)
	}
	b.reads(pattern) // what no file matches is handed on as it is
}

// ownRules reports whether a word of git is no path, or a pattern with rules of its own.
func ownRules(w shellparse.Word) bool {
	return strings.ContainsAny(w.Value, ":\\[") || w.Value == "--no-index" || strings.HasPrefix(w.Value, "--full") ||
		strings.HasPrefix(w.Value, "--path") || !w.Known && !(w.NoOption && isPlainGlob(w.Value))
}

// pathspecs returns what a git command leaves out because its words name the paths that it shows, nil when it may show
// all.
func (b *builder) pathspecs(c *shellparse.Command, at Place) *search {
	args := c.Argv[2:]
	if !takesPaths[c.Argv[1].Value] || slices.ContainsFunc(c.Globals, func(w shellparse.Word) bool { return strings.Contains(w.Value, "path") }) ||
		slices.ContainsFunc(c.Env, func(e shellparse.Assignment) bool { return strings.HasPrefix(e.Name, "GIT_") }) {
		return nil
	}
	from := slices.IndexFunc(args, func(w shellparse.Word) bool { return w.Known && w.Value == "--" })
	var s search
	for i, w := range args {
		path := at.absolute(b.place.expand(w.Value))
		switch {
		case ownRules(w), c.Argv[1].Value != "log" && isObjectName(w.Value):
			return nil // a file of a revision, a pattern with rules of its own
		case from >= 0 && i > from:
			s.only = append(s.only, path)
		case from < 0 && i > 0 && isOption(args[i-1].Value) && !showsOnly[args[i-1].Value]:
			// perhaps the value of the option
		case from < 0 && w.Known && c.Argv[1].Value != "grep" && !isOption(w.Value):
			if _, err := os.Lstat(path); err == nil {
				s.only = append(s.only, path)
			}
		}
	}
	if s.only == nil {
		return nil
	}
	return &s
}

// takesPaths are commands of git that show nothing but what the paths among their words name.
var takesPaths = wordSet("diff log show whatchanged grep diff-tree diff-index diff-files")

// isObjectName reports whether a word may name an object of git by its hash: a file, which is shown whatever paths follow.
func isObjectName(word string) bool {
	return len(word) >= 4 && strings.Trim(word, "0123456789abcdefABCDEF") == ""
}

// showsOnly are options of git that take no value.
var showsOnly = wordSet("-p -u --patch --stat --cached --staged -w -b --follow --oneline --name-only --name-status --numstat --no-color --word-diff -1 -2 -3 -4 -5 -10")

// grepsTracked reports whether a command is a git grep that reads what the repository tracks and nothing else.
func grepsTracked(c *shellparse.Command) bool {
	return len(c.Argv) > 1 && c.Argv[0].Value == "git" && c.Argv[1].Value == "grep" && readsTracked(c)
}

// readsTracked reports whether a git grep reads what the repository tracks and nothing else.
func readsTracked(c *shellparse.Command) bool {
	return !slices.ContainsFunc(c.Argv[2:], func(w shellparse.Word) bool {
		return !w.Known && strings.HasPrefix(w.Value, "-") || strings.HasPrefix(w.Value, "--no-i") || strings.HasPrefix(w.Value, "--unt") ||
			strings.HasPrefix(w.Value, "--rec") || strings.HasPrefix(w.Value, "--no-exc") || strings.HasPrefix(w.Value, "-O") || strings.HasPrefix(w.Value, "--open")
	})
}

// printsRevision reports whether a word is the output of a git command that prints the names of commits or
// branches and nothing else, perhaps as part of a range.
func printsRevision(source string) bool {
	source = strings.Trim(source, `"`)
	for _, command := range []string{"$(git merge-base ", "$(git describe", "$(git branch --show-current"} {
		if inner, ok := strings.CutPrefix(source, command); ok {
			_, suffix, closed := strings.Cut(inner, ")")
			return closed && !strings.ContainsAny(inner[:len(inner)-len(suffix)-1], "$`;|&<>\"'\\\n") && !strings.ContainsAny(suffix, "$`*?[/\"'")
		}
	}
	return false
}

// Options of git: those that have it print names and figures instead of contents, and those with which it prints contents.
var (
	printsNames = wordSet("--stat --shortstat --numstat --dirstat --summary --name-only --name-status --no-patch --quiet --raw --check")
	printsPatch = wordSet("--cc -c --word-diff --word-diff-regex --color-words --binary --unified --text --verbose --remerge-diff --dd --function-context")
)

// showsContent reports whether a git command, by its words, prints what tracked files hold or held.
func showsContent(c *shellparse.Command) bool {
	byDefault := false
	args := c.Argv[2:]
	switch c.Argv[1].Value {
	case "show":
		byDefault = !slices.ContainsFunc(args, func(w shellparse.Word) bool { return strings.Contains(w.Value, ":") }) ||
			slices.ContainsFunc(args, func(w shellparse.Word) bool {
				_, path, ok := strings.Cut(w.Value, ":") // the file at a revision, which is judged by its name
				return !w.Known || !isOption(w.Value) && (!ok || path == "" || path[0] == '/')
			})
	case "diff", "whatchanged", "format-patch", "range-diff":
		byDefault = true
	case "cat-file", "archive", "fast-export", "bundle", "checkout-index", "unpack-file", "show-index":
		return !slices.ContainsFunc(args, func(w shellparse.Word) bool {
			return w.Value == "-t" || w.Value == "-s" || w.Value == "-e" || w.Value == "--list"
		})
	case "stash":
		if len(args) == 0 || args[0].Value != "show" {
			return false
		}
	case "log", "reflog", "diff-tree", "diff-index", "diff-files", "rev-list", "status", "commit", "am", "rebase":
	default:
		return false
	}
	return printsContent(args, byDefault)
}

// printsContent reports whether options have git print what files hold. byDefault is what it does without them.
func printsContent(args []shellparse.Word, byDefault bool) bool {
	for _, w := range args {
		if w.Value == "--" {
			break
		}
		if !w.Known && mayBeAnything(w) {
			continue
		}
		name, _, _ := strings.Cut(w.Value, "=")
		switch {
		case printsNames[name], w.Value == "-s":
			byDefault = false
		case printsPatch[name], len(name) > 4 && strings.HasPrefix("--patch-with-stat", name), strings.HasPrefix(name, "--show-current-patch"):
			return true
		case strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "--") && strings.ContainsAny(name, "puULWv"):
			return true
		}
	}
	return byDefault
}

// readsAnyTracked notes that one or more of the files are read that git tracks below a folder, as far as their names stay
// whole: it is false where that cannot be told.
func (b *builder) readsAnyTracked(f shellparse.File) bool {
	folder := fixedPart(f.Pattern)
	index, ok := gitIndex(folder)
	if !ok || workTree(index) != folder { // git may name them from the top
		return false
	}
	unclear := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.Mode()&os.ModeSymlink != 0 || f.Split && splits(strings.TrimPrefix(path, folder))
	}
	if paths, err := DeniedBeneath(index, unclear); len(paths) > 0 || err != nil {
		return false
	}
	b.readsBeneath(index)
	return true
}

// gitIndex returns the index of the repository that dir lies in.
func gitIndex(dir string) (index string, ok bool) {
	top := gitfiles.Top(dir, true)
	if top == "" {
		return "", false
	}
	repository, err := gitfiles.Repository(top)
	return filepath.Join(repository, gitfiles.IndexName), err == nil
}

// workTree returns the folder that the names in an index are relative to.
func workTree(index string) string { return gitfiles.WorkTree(filepath.Dir(index)) }

// trackedBeneath is DeniedBeneath for the files that a git index lists.
func (w *walker) trackedBeneath(index string) error {
	names, err := gitfiles.Index(index)
	switch {
	case missing(err):
		return nil
	case errors.Is(err, gitfiles.ErrLarge):
		return ErrBound
	case err != nil:
		return err
	}
	top := workTree(index)
	for _, name := range names {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := w.look(path); err != nil {
			return err
		}
		if w.entries++; w.entries%256 == 0 && w.late() {
			return ErrBound
		}
	}
	return nil
}

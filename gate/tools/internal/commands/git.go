package commands

import (
	"slices"
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/internal/lazyregexp"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// IsPlainGlob reports whether the source of a word is a glob of the shell and nothing else.
func IsPlainGlob(source string) bool {
	return strings.IndexFunc(source, func(r rune) bool {
		return r != '*' && r != '?' && r != '.' && r != '/' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// Ancestor returns what a word like HEAD^ or main~2^2..HEAD begins with, before the signs that zsh may take for a glob
// of names that begin like that. It returns "" for other words.
func Ancestor(source string) string {
	if !ancestor.MatchString(source) {
		return ""
	}
	return source[:strings.IndexAny(source, "^~")]
}

var ancestor = lazyregexp.New(`^[A-Za-z0-9_@/.-]+(?:[~^][0-9!-]*)+(?:\.\.\.?[A-Za-z0-9_@/.-]*(?:[~^][0-9]*)*)?$`)

// OwnRules reports whether a word of git is not a path, or is a pattern with rules of its own.
func OwnRules(w shellparse.Word) bool {
	return strings.ContainsAny(w.Value, ":\\[") || w.Value == "--no-index" || strings.HasPrefix(w.Value, "--full") ||
		strings.HasPrefix(w.Value, "--path") || !w.Known && !(w.NoOption && (IsPlainGlob(w.Value) || Ancestor(w.Value) != ""))
}

// IsObjectName reports whether a word may name a git object by its hash. Such a file is shown whatever paths follow.
func IsObjectName(word string) bool {
	return len(word) >= 4 && strings.Trim(word, "0123456789abcdefABCDEF") == ""
}

// ShowsOnly are options of git that take no value.
var ShowsOnly = wording.Set("-p -u --patch --stat --cached --staged -w -b --follow --oneline --name-only --name-status --numstat --no-color --word-diff -1 -2 -3 -4 -5 -10")

// Shows returns what a command shows of a repository, as the table of programs names it.
func Shows(c *shellparse.Command) string {
	if len(c.Argv) < 2 {
		return ""
	}
	if len(c.Argv) > 2 {
		if shows := programs.Find(c.Argv[0].Value, c.Argv[1].Value, c.Argv[2].Value).Shows; shows != "" {
			return shows
		}
	}
	return programs.Find(c.Argv[0].Value, c.Argv[1].Value).Shows
}

// GrepsTracked reports whether a command is a git grep that reads what the repository tracks and nothing else.
func GrepsTracked(c *shellparse.Command) bool { return Shows(c) == "tracked" && readsTracked(c) }

// readsTracked reports whether a git grep reads what the repository tracks and nothing else.
func readsTracked(c *shellparse.Command) bool {
	return !slices.ContainsFunc(c.Argv[2:], func(w shellparse.Word) bool {
		return !w.Known && strings.HasPrefix(w.Value, "-") || strings.HasPrefix(w.Value, "--no-i") || strings.HasPrefix(w.Value, "--unt") ||
			strings.HasPrefix(w.Value, "--rec") || strings.HasPrefix(w.Value, "--no-exc") || strings.HasPrefix(w.Value, "-O") || strings.HasPrefix(w.Value, "--open")
	})
}

// PrintsRevision reports whether a word is the output of a git command that prints only the names of commits or
// branches, perhaps as part of a range.
func PrintsRevision(source string) bool {
	source = strings.Trim(source, `"`)
	for _, command := range []string{"$(git merge-base ", "$(git describe", "$(git branch --show-current"} {
		if inner, ok := strings.CutPrefix(source, command); ok {
			_, suffix, closed := strings.Cut(inner, ")")
			return closed && !strings.ContainsAny(inner[:len(inner)-len(suffix)-1], "$`;|&<>\"'\\\n") && !strings.ContainsAny(suffix, "$`*?[/\"'")
		}
	}
	return false
}

// MayDiscard returns the index of the only word after a command like git checkout that is not an option. It can name a
// branch, or files whose changes are lost. MayDiscard returns 0 for other commands.
func MayDiscard(c *shellparse.Command) (at int) {
	if len(c.Argv) < 3 {
		return 0
	}
	about := programs.Find(c.Argv[0].Value, c.Argv[1].Value)
	if !about.Has(programs.MayDiscard) || about.Row == nil {
		return 0
	}
	options := about.Row.Options
	for i := 2; i < len(c.Argv); i++ {
		w := &c.Argv[i]
		switch {
		case IsOption(w.Value):
			if o := options.Find(w.Value); o != nil && o.Arg == programs.Needed {
				i++
			}
		case at > 0 || !w.Known:
			return 0
		default:
			at = i
		}
	}
	return at
}

// LooksLikeFile reports whether a word has an extension as file names do, unlike v1.2.x.
func LooksLikeFile(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i >= 0 && len(name)-i > 2 && !strings.ContainsAny(name[i:], "/0123456789")
}

// Options with which git prints names and figures instead of contents, and options with which it prints contents.
var (
	printsNames = wording.Set("--stat --shortstat --numstat --dirstat --summary --name-only --name-status --no-patch --quiet --raw --check")
	printsPatch = wording.Set("--cc -c --word-diff --word-diff-regex --color-words --binary --unified --text --verbose --remerge-diff --dd --function-context")
)

// ShowsContent reports whether a command prints, by its words, what the files of a repository hold or held.
func ShowsContent(c *shellparse.Command) bool {
	args := c.Argv[2:]
	switch Shows(c) {
	case "content":
		return printsContent(args, true)
	case "patch":
		return printsContent(args, false)
	case "revision":
		return printsContent(args, !slices.ContainsFunc(args, func(w shellparse.Word) bool { return strings.Contains(w.Value, ":") }) ||
			slices.ContainsFunc(args, func(w shellparse.Word) bool {
				_, path, ok := strings.Cut(w.Value, ":") // the file at a revision, which is judged by its name
				return !w.Known || !IsOption(w.Value) && (!ok || path == "" || path[0] == '/')
			}))
	case "objects":
		return !slices.ContainsFunc(args, func(w shellparse.Word) bool {
			return w.Value == "-t" || w.Value == "-s" || w.Value == "-e" || w.Value == "--list"
		})
	}
	return false
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

// Package searches says which files programs leave out when they read a whole folder.
package searches

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// Search is what a program leaves out when it reads whole folders. The zero value and nil leave out nothing: what is
// not sure to be left out is read.
type Search struct {
	skipsHidden bool     // names that begin with a dot, and what is below them
	skipsListed bool     // what .gitignore files of the repository list
	typed       bool     // files of the chosen types are read even if they are hidden
	globs       []Glob   // of base names, in order: the last that matches decides
	onlyFound   bool     // what no glob matches is left out
	folders     []string // globs of base names of folders that are left out
	Only        []string // paths and patterns of git, outside of which nothing is read; nil means no such bound
	Cure        string   // what makes the program leave out a file, for people: "--exclude=%s"
	Stdin       bool     // without operands it reads its standard input
	Operands    []string
}

// Glob is a glob of base names that are read if keeps is true, and else left out.
type Glob struct {
	pattern string
	keeps   bool
}

// searcher says how a program reads its words.
type searcher struct {
	values string // short options that take a value
	longs  string // long options that take one, without "--"
	flags  string // long options that take none
	read   func(s *Search, option, value string) (known bool)
	cure   string
}

const grepCure = "--exclude=%s leaves it out, and rg leaves out all hidden files"

var searchers = map[string]searcher{
	"rg": {
		values: "eEfgjmMrtTABCd",
		longs: `regexp file glob iglob type type-not type-add type-clear after-context before-context context max-count max-depth
			max-columns max-filesize threads replace encoding sort sortr color colors engine path-separator field-context-separator
			field-match-separator context-separator dfa-size-limit regex-size-limit ignore-file pre pre-glob hostname-bin hyperlink-format generate`,
		flags: `ignore-case smart-case case-sensitive fixed-strings word-regexp line-regexp line-number no-line-number files files-with-matches
			files-without-match count count-matches only-matching invert-match multiline multiline-dotall pcre2 hidden no-hidden unrestricted
			no-ignore no-ignore-vcs no-ignore-parent no-ignore-dot no-ignore-global no-ignore-files no-ignore-exclude follow no-follow text binary
			search-zip heading no-heading with-filename no-filename vimgrep pretty passthru stats json column trim null null-data quiet
			no-messages no-config debug crlf one-file-system sort-files max-columns-preview type-list block-buffered line-buffered no-mmap mmap`,
		read: readRipgrep, cure: "-g '!%s' leaves it out",
	},
	"ag": {
		values: "ABCGgmpW",
		flags: `ignore-case smart-case case-sensitive literal word-regexp numbers nonumbers files-with-matches files-without-matches count only-matching
			invert-match hidden unrestricted all-types all-text nogroup group heading noheading nocolor color filename nofilename vimgrep
			stats follow nobreak break silent null column`,
		longs: "after before context file-search-regex ignore ignore-dir max-count depth pager path-to-ignore width color-line-number color-match color-path",
		read:  readSilverSearcher,
	},
	"grep": {
		values: "efABCmdD",
		longs: `regexp file after-context before-context context max-count directories devices include exclude exclude-dir exclude-from
			label binary-files color colour`,
		flags: `ignore-case no-ignore-case extended-regexp fixed-strings basic-regexp perl-regexp word-regexp line-regexp invert-match count
			files-with-matches files-without-match line-number with-filename no-filename only-matching quiet silent no-messages recursive
			dereference-recursive text null null-data byte-offset initial-tab line-buffered color colour`,
		read: readGrep, cure: grepCure,
	},
}

// searcherWords holds the lists of searchers as sets.
var searcherWords = func() map[string]map[string]bool {
	sets := map[string]map[string]bool{}
	for _, p := range searchers {
		sets[p.longs], sets[p.flags] = wording.Set(p.longs), wording.Set(p.flags)
	}
	return sets
}()

// SearchOf returns what a command leaves out, or nil if it is not one of searchers or has a word that is not
// understood.
func SearchOf(c *shellparse.Command) *Search {
	name := programs.Canonical(c.Argv[0].Value)
	p, ok := searchers[name]
	if !ok || os.Getenv("RIPGREP_CONFIG_PATH") != "" && name == "rg" {
		return nil
	}
	for _, a := range c.Env {
		if a.Name == "RIPGREP_CONFIG_PATH" || strings.HasPrefix(a.Name, "GREP_") {
			return nil
		}
	}
	s := &Search{Cure: p.cure}
	if len(c.Argv) == 2 && c.Argv[1].Known && commands.OnlyAsks[c.Argv[1].Value] {
		return &Search{Stdin: true} // it searches nothing
	}
	if name != "grep" {
		s.skipsHidden, s.skipsListed = true, name == "rg"
		s.Stdin = c.Piped
	}
	r := searchReader{searcher: p, s: s, words: c.Argv}
	if !r.read(name) {
		return nil
	}
	if !r.pattern && len(s.Operands) > 0 {
		s.Operands = s.Operands[1:]
	}
	return s
}

// searchReader reads the words of a searcher, from left to right.
type searchReader struct {
	searcher
	s       *Search
	words   []shellparse.Word
	at      int
	pattern bool // the pattern is an option's value
}

// unquoted holds the characters of globs that need no quotes.
const unquoted = "*?.{,}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// read reads all words. It returns false if one of them is not understood.
func (r *searchReader) read(name string) bool {
	only := false // only operands follow
	for r.at = 1; r.at < len(r.words); r.at++ {
		w := r.words[r.at]
		if value, ok := strings.CutPrefix(w.Value, "--include="); ok && !w.Known && name == "grep" && strings.Trim(value, unquoted) == "" {
			for _, glob := range alternatives(value) {
				if strings.ContainsAny(glob, "{,}") || strings.Contains(value, "{") && strings.Contains(value, "..") {
					return false
				}
				readGrep(r.s, "include", glob) // whatever it expands to, it includes no more
			}
			continue
		}
		ok := true
		switch {
		case !w.Known:
			return false // it may be an option
		case only || w.Value == "-" || !strings.HasPrefix(w.Value, "-"):
			r.s.Operands = append(r.s.Operands, w.Value)
		case w.Value == "--":
			only = true
		case strings.HasPrefix(w.Value, "--"):
			ok = r.long(w.Value[2:])
		default:
			ok = r.short(w.Value[1:])
		}
		if !ok {
			return false
		}
	}
	return true
}

// next takes the next word as a value.
func (r *searchReader) next() (value string, ok bool) {
	if r.at++; r.at >= len(r.words) || !r.words[r.at].Known {
		return "", false
	}
	return r.words[r.at].Value, true
}

func (r *searchReader) long(word string) bool {
	longs, flags := searcherWords[r.longs], searcherWords[r.flags]
	option, value, has := strings.Cut(word, "=")
	if !longs[option] && !flags[option] {
		return false
	}
	if longs[option] && !has && !flags[option] {
		var ok bool
		if value, ok = r.next(); !ok {
			return false
		}
	}
	return r.take(option, value)
}

// short reads options of one letter each, of which the last may take a value.
func (r *searchReader) short(letters string) bool {
	for j := range len(letters) {
		option := letters[j : j+1]
		if !strings.Contains(r.values, option) {
			if !r.searcher.read(r.s, option, "") {
				return false
			}
			continue
		}
		value := strings.TrimPrefix(letters[j+1:], "=")
		if value == "" {
			var ok bool
			if value, ok = r.next(); !ok {
				return false
			}
		}
		return r.take(option, value)
	}
	return true
}

// take notes an option. The value of some is the pattern, so that no operand is.
func (r *searchReader) take(option, value string) bool {
	switch option {
	case "e", "f", "regexp", "file", "files", "type-list":
		r.pattern = true
	}
	return r.searcher.read(r.s, option, value)
}

// safeTypes are types of rg that no credential store belongs to, unless its name has their ending.
var safeTypes = wording.Set("go py python js ts typescript rust java kotlin scala c cpp h csharp cs ruby rb php swift css html markdown md json yaml toml xml sql lua perl haskell elixir erlang dart proto graphql vue svelte tex txt zig ocaml julia r")

// safeEndings are endings of hidden names that no type in safeTypes has.
var safeEndings = wording.Set(".env .envrc .local .production .development .test .staging .prod .dev .netrc .npmrc .pypirc .git-credentials .pgpass .htpasswd .ssh .aws .kube .gnupg .pem .key .p12")

func readRipgrep(s *Search, option, value string) bool {
	switch option {
	case ".", "hidden", "no-ignore", "ignore-file", "pre", "search-zip", "z", "L", "follow", "binary", "a", "text":
		if option == "." || option == "hidden" || option == "ignore-file" {
			s.skipsHidden = false
		}
		if option == "no-ignore" || option == "ignore-file" {
			s.skipsListed = false
		}
	case "no-ignore-vcs", "no-ignore-parent":
		s.skipsListed = false
	case "u", "unrestricted":
		s.skipsListed = false
		s.skipsHidden = false // rg reads hidden files only if told twice, but telling the two apart gains nothing
	case "g", "glob", "iglob":
		if option == "iglob" {
			value = strings.ToLower(value)
		}
		return s.gitGlob(value, option == "iglob")
	case "t", "type":
		s.typed = true
		if !safeTypes[value] {
			s.skipsHidden = false
		}
	case "type-add", "type-clear", "pre-glob", "hostname-bin":
		return false
	}
	return true
}

// gitGlob adds a glob of rg: "!x" leaves files out, "x" leaves out all others and brings in hidden files.
func (s *Search) gitGlob(text string, fold bool) bool {
	text, excludes := strings.CutPrefix(text, "!")
	if excludes {
		if base := strings.TrimPrefix(text, "**/"); !fold && base != "" && !strings.ContainsAny(base, "/{[\\") {
			s.globs = append(s.globs, Glob{base, false}) // others leave out more than is known here
		}
		return true
	}
	for _, one := range alternatives(text) {
		base := one[strings.LastIndexByte(one, '/')+1:]     // a folder that it brings in does not bring in what it holds
		if base == "" || strings.ContainsAny(one, "{[\\") { // [!a] is [^a] elsewhere
			base = "*"
		}
		s.globs = append(s.globs, Glob{base, true})
	}
	s.onlyFound, s.skipsHidden, s.skipsListed = true, false, false
	return true
}

// alternatives returns the globs that a glob with groups {a,b} stands for, or the glob itself if groups nest or are
// many.
func alternatives(glob string) []string {
	before, rest, ok := strings.Cut(glob, "{")
	group, after, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.ContainsAny(glob, "\\") || strings.Contains(group, "{") || strings.Count(glob, "{") > 3 {
		return []string{glob}
	}
	var list []string
	for part := range strings.SplitSeq(group, ",") {
		list = append(list, alternatives(before+part+after)...)
	}
	return list
}

func readSilverSearcher(s *Search, option, _ string) bool {
	switch option {
	case "hidden", "u", "unrestricted", "p", "path-to-ignore":
		s.skipsHidden = false
	}
	return true
}

func readGrep(s *Search, option, value string) bool {
	switch option {
	case "include", "exclude":
		if strings.ContainsAny(value, "/[\\") { // [!a] is [^a] elsewhere
			return option == "exclude"
		}
		if len(s.globs) == 0 {
			s.onlyFound = option == "include"
		}
		s.globs = append(s.globs, Glob{value, option == "include"})
	case "exclude-dir":
		if value = strings.TrimSuffix(value, "/"); !strings.ContainsAny(value, "/[\\") {
			s.folders = append(s.folders, value)
		}
	}
	return true
}

// LeavesOut reports whether the program is sure not to read the file at path when it searches folder.
func (s *Search) LeavesOut(folder, file string) bool {
	if s != nil && s.Only != nil {
		return !slices.ContainsFunc(s.Only, func(p string) bool { return holdsPath(p, file) })
	}
	rel, err := filepath.Rel(folder, file)
	if s == nil || err != nil || strings.HasPrefix(rel, "..") {
		return false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	base := parts[len(parts)-1]
	for i, part := range parts {
		if slices.ContainsFunc(s.folders, func(g string) bool { return i < len(parts)-1 && matches(g, part) }) {
			return true
		}
		if !s.skipsHidden || !strings.HasPrefix(part, ".") || i == len(parts)-1 && s.typed && !safeEndings[part[strings.LastIndexByte(part, '.'):]] {
			continue
		}
		if !unhidden(folder, parts[:i+1]) {
			return true
		}
	}
	if s.skipsListed && listed(file) && !unhidden(folder, parts) {
		return true
	}
	return !s.keeps(base)
}

// holdsPath reports whether a path or pattern names the file or a folder above it.
func holdsPath(path, file string) bool {
	_, in := workspace.Within(path, file)
	return in || strings.ContainsAny(path, "*?") && (commands.Wildcard(path, file) || commands.Wildcard(path+"/*", file))
}

// keeps reports whether a file of this name is read according to the globs, the last of which counts.
func (s *Search) keeps(name string) bool {
	keep := !s.onlyFound
	for _, g := range s.globs {
		if matches(g.pattern, name) {
			keep = g.keeps
		}
	}
	return keep
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// maxIgnore bounds, in bytes, how much of an ignore file is read.
const maxIgnore = 256 << 10

// unhidden reports whether an ignore file may bring back what is hidden: a line that begins with "!" does. It looks at
// the files from the hidden file's folder up to the root.
func unhidden(folder string, parts []string) bool {
	dir := filepath.Join(append([]string{folder}, parts[:len(parts)-1]...)...)
	for {
		for _, name := range []string{".gitignore", ".ignore", ".rgignore", ".agignore"} {
			if bringsBack(filepath.Join(dir, name), parts) {
				return true
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// listed reports whether a .gitignore between the file and the root of its repository is sure to list it.
func listed(file string) bool {
	base, found := filepath.Base(file), false
	for dir := filepath.Dir(file); ; {
		if text, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err == nil && len(text) <= maxIgnore {
			for line := range strings.Lines(string(text)) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "**/")
				found = found || line != "" && !strings.ContainsAny(line, `#!/{\\`) && matches(line, base)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return found
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

func bringsBack(file string, parts []string) bool {
	f, err := os.Open(file)
	if err != nil {
		return !workspace.Missing(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore+1))
	if err != nil || len(text) > maxIgnore {
		return true
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "!")
		if !ok {
			continue
		}
		last := path.Base(strings.TrimSuffix(line, "/"))
		if strings.ContainsAny(last, `{\`) || last == "**" || slices.ContainsFunc(parts, func(p string) bool { return matches(last, p) }) {
			return true
		}
	}
	return lines.Err() != nil
}

// Package ignore decides which files of a workspace are left out.
package ignore

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// rule is a line of an ignore file.
type rule struct {
	segments []string // of the pattern, split at slashes; "**" matches any number of them
	negated  bool
	dirOnly  bool
}

// rules holds the rules of one ignore file.
type rules struct {
	dir   string // the file's folder, relative to the workspace
	up    string // set if the file is above the workspace: the workspace's path from its folder
	why   string // the reason to give for what these rules leave out
	rules []rule
}

// Files decides what is left out, by git's rules. The user's .callgateignore has the last word, even on files that look
// like secrets.
type Files struct {
	own     []rules // .callgateignore, outermost first
	secrets rules
	git     []rules // built-in rules, .git/info/exclude and .gitignore, outermost first
}

const (
	GitName = ".gitignore"
	OwnName = ".callgateignore"
)

// builtin lists what is left out unless an ignore file says otherwise.
var builtin = withReason("left out by default", `
.git
.hg
.svn
.jj
node_modules/
bower_components/
.venv/
__pycache__/
.mypy_cache/
.pytest_cache/
.ruff_cache/
.tox/
.gradle/
.terraform/
.next/
.nuxt/
.cache/
.DS_Store
*.min.js
*.min.css
*.map
package-lock.json
npm-shrinkwrap.json
yarn.lock
pnpm-lock.yaml
Cargo.lock
poetry.lock
uv.lock
Pipfile.lock
composer.lock
Gemfile.lock
go.sum
flake.lock
`)

// secretFiles lists names that suggest secrets. Only .callgateignore can include such files.
var secretFiles = withReason("its name suggests secrets", `
.env
.env.*
!.env.example
!.env.sample
!.env.template
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
*.kdbx
id_rsa
id_dsa
id_ecdsa
id_ed25519
.netrc
.pgpass
.npmrc
.pypirc
.htpasswd
.ssh/
.gnupg/
.aws/
`)

func withReason(why, text string) rules {
	r := parseRules(".", text)
	r.why = why
	return r
}

func parseRules(dir, text string) rules {
	out := rules{dir: dir}
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			out.rules = append(out.rules, r)
		}
	}
	return out
}

func parseRule(line string) (r rule, ok bool) {
	// Spaces at the end do not count unless escaped.
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.negated = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly = true
		line = strings.TrimRight(line, "/")
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	if !anchored {
		r.segments = []string{"**"}
	}
	r.segments = append(r.segments, SplitGlob(line)...)
	return r, true
}

// Read reads the ignore files that apply to the top folder of the workspace. dir is its absolute path, without links;
// root is its file system.
func Read(dir string, root fs.FS) *Files {
	git := []rules{builtin}
	if user, ok := userRules(); ok {
		git = append(git, user)
	}
	return (&Files{secrets: secretFiles, git: append(git, rulesAbove(dir)...)}).With(root, ".")
}

// With returns the Files for the directory dir. It reads the directory's ignore files from root.
func (g *Files) With(root fs.FS, dir string) *Files {
	git, hasGit := readRules(root, dir, GitName)
	own, hasOwn := readRules(root, dir, OwnName)
	if !hasGit && !hasOwn {
		return g
	}
	inner := *g
	if hasGit {
		inner.git = append(g.git[:len(g.git):len(g.git)], git)
	}
	if hasOwn {
		inner.own = append(g.own[:len(g.own):len(g.own)], own)
	}
	return &inner
}

// maxIgnoreFile is the size in bytes above which an ignore file is not read.
const maxIgnoreFile = 1 << 20

func readRules(root fs.FS, dir, name string) (rules, bool) {
	name = path.Join(dir, name)
	info, err := fs.Stat(root, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return rules{}, false
	}
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return rules{}, false
	}
	r := parseRules(dir, string(data))
	r.why = "ignored by " + name
	return r, true
}

// Ignored reports whether name, relative to the workspace, is left out. The caller MUST have asked about the
// directories above it: nothing inside an ignored directory can come back.
func (g *Files) Ignored(name string, dir bool) bool { return g.Why(name, dir) != "" }

// Why returns the reason why name is left out, or "" if it is not. See Ignored.
func (g *Files) Why(name string, dir bool) string {
	if why, said := decide(g.own, name, dir); said {
		return why
	}
	if ignored, said := g.secrets.decide(name, dir); said && ignored {
		return g.secrets.why
	}
	why, _ := decide(g.git, name, dir)
	return why
}

// Secret reports whether the file's name suggests secrets.
func (g *Files) Secret(name string) bool {
	ignored, said := g.secrets.decide(name, false)
	return said && ignored
}

// decide asks the innermost file first. why is the reason to leave out name. said reports whether a rule matched.
func decide(files []rules, name string, dir bool) (why string, said bool) {
	for i := len(files) - 1; i >= 0; i-- {
		if ignored, said := files[i].decide(name, dir); ignored {
			return files[i].why, true
		} else if said {
			return "", true
		}
	}
	return "", false
}

// decide returns the result of the last rule that matches. said reports whether there is one.
func (f *rules) decide(name string, dir bool) (ignored, said bool) {
	switch {
	case f.up != "":
		name = f.up + "/" + name
	case f.dir != ".":
		name = strings.TrimPrefix(name, f.dir+"/")
	}
	for i := len(f.rules) - 1; i >= 0; i-- {
		r := &f.rules[i]
		if r.dirOnly && !dir {
			continue
		}
		if r.match(name) {
			return !r.negated, true
		}
	}
	return false, false
}

func (r *rule) match(name string) bool {
	if len(r.segments) == 2 && r.segments[0] == "**" { // the usual case: a pattern for names
		return matchName(r.segments[1], name[strings.LastIndexByte(name, '/')+1:])
	}
	return MatchPath(r.segments, name)
}

// MatchPath matches name segment by segment. It retries only the last **. That is enough, and no pattern can make it
// slow.
func MatchPath(pattern []string, name string) bool {
	segments := strings.Split(name, "/")
	star, again := -1, 0 // position of the last **, and how far it reaches
	p := 0
	for i := 0; i < len(segments); {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, again = p, i
			p++
		case p < len(pattern) && matchName(pattern[p], segments[i]):
			p++
			i++
		case star >= 0:
			again++
			p, i = star+1, again
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// SplitGlob splits a pattern at its slashes. A final ** matches what is inside a folder, not the folder itself.
func SplitGlob(glob string) []string {
	segments := strings.Split(strings.ReplaceAll(glob, "[!", "[^"), "/")
	if last := len(segments) - 1; segments[last] == "**" {
		segments = append(segments[:last], "*", "**")
	}
	return segments
}

// matchName matches one name. A pattern that path.Match refuses matches nothing, as in git.
func matchName(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	if pattern[0] == '*' && !strings.ContainsAny(pattern[1:], `*?[\`) { // *.ext
		return strings.HasSuffix(name, pattern[1:])
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// ignoredBy returns the reason for leaving out what an ignore file outside the workspace names.
func ignoredBy(dir, name string) string {
	return "ignored by " + filepath.Join(dir, filepath.FromSlash(name))
}

// rulesAbove reads info/exclude of dir's git repository, and .gitignore files above dir, outermost first.
func rulesAbove(dir string) []rules {
	var inward []rules
	for at, up := dir, ""; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if exclude, ok := readRules(os.DirFS(at), ".git/info", "exclude"); ok {
				exclude.dir, exclude.up, exclude.why = ".", up, ignoredBy(at, ".git/info/exclude")
				inward = append([]rules{exclude}, inward...)
			}
			return inward
		}
		parent := filepath.Dir(at)
		if parent == at {
			return nil // no repository
		}
		up = strings.TrimSuffix(path.Join(filepath.Base(at), up), "/")
		at = parent
		if r, ok := readRules(os.DirFS(at), ".", GitName); ok {
			r.up, r.why = up, ignoredBy(at, GitName)
			inward = append([]rules{r}, inward...)
		}
	}
}

package supply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/lazyregexp"
	"callgate/internal/upstream"
	"callgate/internal/upstream/environment"
)

// npmRunners lists the programs that run npm packages.
var npmRunners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx"}

// exactVersion matches a spec that names one version, not a tag or a range.
var exactVersion = lazyregexp.New(`^(.[^@]*)@([0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9.+-]*)$`)

// npm adds to e what a runner of npm packages would run.
func (x *Examiner) npm(ctx context.Context, s *Server, e *Entry, program, spec string, before time.Time) error {
	e.Package = upstream.Packages(s.Command, s.Args, "")[0]
	exact := exactVersion.FindStringSubmatch(spec)
	if before.IsZero() {
		for _, folder := range npmInstalls(s, e.Package, spec) {
			alias := ""
			if _, of, ok := strings.Cut(spec, "npm:"); ok { // name@npm:other@range
				alias, _, _ = strings.Cut(strings.TrimPrefix(of, "@"), "@")
				alias = of[:len(of)-len(strings.TrimPrefix(of, "@"))] + alias
			}
			if err := installed(ctx, folder, alias, e); err != nil {
				return err
			}
		}
		if exact != nil && e.Packages[e.Package+"@"+exact[2]] != (Package{}) {
			e.Version = exact[2]
			return nil
		}
	}
	return x.resolveNPM(ctx, s, e, program, spec, before)
}

// npmInstalls returns the folders in which the runner finds the package before it asks the registry: in the server's
// folder and above it, beside the runner, and in the runner's cache.
func npmInstalls(s *Server, name, spec string) (folders []string) {
	for dir := s.Dir; ; dir = filepath.Dir(dir) {
		folders = append(folders, filepath.Join(dir, "node_modules", filepath.FromSlash(name)))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if npx, err := environment.LookPath(s.Command, s.Dir, s.Env); err == nil {
		folders = append(folders, filepath.Join(filepath.Dir(filepath.Dir(npx)), "lib", "node_modules", filepath.FromSlash(name)))
	}
	cache := cmp.Or(valueOf(s.Env, "npm_config_cache"), filepath.Join(s.Home, ".npm"))
	trees, _ := filepath.Glob(filepath.Join(cache, "_npx", "*", "package.json")) // the pattern is valid
	for _, file := range trees {
		var tree struct {
			NPX struct {
				Packages []string `json:"packages"`
			} `json:"_npx"`
		}
		if readJSON(file, &tree) == nil && slices.Contains(tree.NPX.Packages, spec) {
			folders = append(folders, filepath.Join(filepath.Dir(file), "node_modules", filepath.FromSlash(name)))
		}
	}
	return slices.DeleteFunc(folders, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "package.json"))
		return err != nil
	})
}

// valueOf returns a variable's value. It ignores the case of the name, as npm does.
func valueOf(env []string, name string) (value string) {
	for _, entry := range env {
		if n, v, _ := strings.Cut(entry, "="); strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// resolveNPM adds to e what the registry would install.
func (x *Examiner) resolveNPM(ctx context.Context, s *Server, e *Entry, program, spec string, before time.Time) error {
	dir, err := os.MkdirTemp("", "callgate-lock-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // a temporary folder: the system removes leftovers
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"callgate-lock","private":true}`), 0o600); err != nil {
		return err
	}
	if settings, err := os.ReadFile(filepath.Join(s.Dir, ".npmrc")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, ".npmrc"), settings, 0o600); err != nil {
			return err
		}
	}
	args := []string{"install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"}
	if !before.IsZero() {
		args = append(args, "--before="+before.UTC().Format(time.RFC3339))
	}
	if _, err := x.run(ctx, s, siblingProgram(program, "npm"), dir, "", append(args, "--", spec)...); err != nil {
		return err
	}
	var found struct {
		Packages map[string]npmPackage `json:"packages"`
	}
	if err := readJSON(filepath.Join(dir, "package-lock.json"), &found); err != nil {
		return err
	}
	for at, p := range found.Packages {
		if at == "" {
			continue
		}
		name := p.nameAt(at)
		if at == "node_modules/"+e.Package {
			e.Version = p.Version
		}
		e.mergePackage(name+"@"+p.Version, Package{Integrity: p.Integrity, Script: p.HasInstallScript})
	}
	if e.Version == "" {
		return fmt.Errorf("npm knows no version of %s", e.Package)
	}
	return nil
}

// npmPackage is an entry of npm's lock files.
type npmPackage struct {
	Name             string `json:"name"`
	Version          string `json:"version"`
	Integrity        string `json:"integrity"`
	HasInstallScript bool   `json:"hasInstallScript"`
}

// nameAt returns the package's name. An entry has Name only if its folder has another name.
func (p *npmPackage) nameAt(folder string) string {
	if p.Name != "" {
		return p.Name
	}
	return folder[strings.LastIndex(folder, "node_modules/")+len("node_modules/"):]
}

// mergePackage adds a package. If two sources disagree about one version, no lock can match the result.
func (e *Entry) mergePackage(key string, p Package) {
	if was, ok := e.Packages[key]; ok {
		for _, both := range []struct{ was, is *string }{{&was.Integrity, &p.Integrity}, {&was.Content, &p.Content}} {
			switch {
			case *both.is == "":
				*both.is = *both.was
			case *both.was != "" && *both.was != *both.is:
				*both.is = *both.was + " and " + *both.is
			}
		}
		p.Script = p.Script || was.Script
	}
	e.Packages[key] = p
}

// manifest holds the fields of a package.json that are read.
type manifest struct {
	Name     string                     `json:"name"`
	Version  string                     `json:"version"`
	Scripts  map[string]json.RawMessage `json:"scripts"`
	Needs    map[string]json.RawMessage `json:"dependencies"`
	Optional map[string]json.RawMessage `json:"optionalDependencies"`
	Peers    map[string]json.RawMessage `json:"peerDependencies"`
}

// installed adds to e the Node.js package that path is in, with everything that it needs, as installed on this machine.
// alias is another name that the package may have. It adds nothing if path is in no node_modules folder.
func installed(ctx context.Context, path, alias string, e *Entry) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	i := strings.LastIndex(real, nodeModules)
	if i < 0 {
		return nil
	}
	parts := strings.Split(real[i+len(nodeModules):], string(filepath.Separator))
	name := parts[0]
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		name = filepath.Join(parts[0], parts[1])
	}
	t := tree{ctx: ctx, e: e, seen: map[string]bool{}, registry: map[string]map[string]npmPackage{}}
	return t.visit(real[:i+len(nodeModules)]+name, alias)
}

// tree walks through installed packages.
type tree struct {
	ctx      context.Context
	e        *Entry
	seen     map[string]bool
	registry map[string]map[string]npmPackage // by the folder that holds the outermost node_modules: what npm put there
}

// visit adds the package in dir. Its name must be that of the folder, by which code finds it, or alias, the name that
// its dependent gives. Otherwise it could pass for another package of the lock, which may not be compared by content.
func (t *tree) visit(dir, alias string) error {
	if t.seen[dir] {
		return nil
	}
	t.seen[dir] = true
	var m manifest
	if err := readJSON(filepath.Join(dir, "package.json"), &m); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if strings.Contains(dir, nodeModules) && m.Name != nameOf(dir) && m.Name != alias {
		return fmt.Errorf("%s calls itself %q", dir, m.Name)
	}
	p := Package{}
	for _, script := range []string{"preinstall", "install", "postinstall"} {
		p.Script = p.Script || m.Scripts[script] != nil
	}
	if _, err := os.Stat(filepath.Join(dir, "binding.gyp")); err == nil {
		p.Script = true // npm compiles it at install
	}
	if !p.Script {
		var err error
		if p.Content, err = digestFolder(t.ctx, dir); err != nil {
			return err
		}
	}
	if was, ok := t.npmRecord(dir); ok && was.Version == m.Version {
		p.Integrity, p.Script = was.Integrity, p.Script || was.HasInstallScript
	}
	t.e.mergePackage(m.Name+"@"+m.Version, p)
	for _, names := range []map[string]json.RawMessage{m.Needs, m.Optional, m.Peers} {
		for name, spec := range names {
			next, err := find(dir, name)
			if err == nil {
				err = t.visit(next, aliasOf(spec))
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing package does not run
				return err
			}
		}
	}
	return nil
}

// nodeModules is the part of a path above a package's folder.
const nodeModules = string(filepath.Separator) + "node_modules" + string(filepath.Separator)

// nameOf returns the name by which code finds the package in a folder.
func nameOf(dir string) string {
	return filepath.ToSlash(dir[strings.LastIndex(dir, nodeModules)+len(nodeModules):])
}

// aliasOf returns the name in "npm:name@range"; "" for a dependency without an alias.
func aliasOf(spec json.RawMessage) string {
	var text string
	if json.Unmarshal(spec, &text) != nil {
		return ""
	}
	name, ok := strings.CutPrefix(text, "npm:")
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	if !ok {
		return ""
	}
	return name
}

// npmRecord returns npm's record of the package that it put into a folder.
func (t *tree) npmRecord(dir string) (npmPackage, bool) {
	top := dir[:strings.Index(dir, nodeModules)]
	known, ok := t.registry[top]
	if !ok {
		var lock struct {
			Packages map[string]npmPackage `json:"packages"`
		}
		_ = readJSON(filepath.Join(top, "node_modules", ".package-lock.json"), &lock) // only npm writes it
		known = lock.Packages
		t.registry[top] = known
	}
	p, ok := known[filepath.ToSlash(dir[len(top)+1:])]
	return p, ok
}

// find returns the folder in which code in dir finds a package.
func find(dir, name string) (string, error) {
	for {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules", filepath.FromSlash(name)))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		if dir == filepath.Dir(dir) {
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

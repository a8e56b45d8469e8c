package tools

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/permissions"
)

// written returns the files that the subjects of an analysis say are written, relative to dir.
func written(a *Analysis, dir string) (names []string) {
	for i := range a.Subjects {
		if s := &a.Subjects[i]; s.Kind == KindWriteFile && !s.DeniesOnly {
			rel, err := filepath.Rel(dir, s.Value)
			if err != nil || filepath.IsAbs(s.Value) == false {
				rel = filepath.Clean(s.Value)
			}
			names = append(names, rel)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const gitPatch = `diff --git a/src/a.go b/src/a.go
--- a/src/a.go
+++ b/src/a.go
@@ -1 +1 @@
-x
\ No newline at end of file
+y
diff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml
new file mode 100644
--- /dev/null
+++ b/.github/workflows/ci.yml
@@ -0,0 +1 @@
+on: push
diff --git "a/o\303\244 x" "b/o\303\244 x"
new file mode 100644
--- /dev/null
+++ "b/o\303\244 x"
@@ -0,0 +1 @@
+z
`

// TestListedWrites checks that every file that a command writes because a patch or an archive names it is a subject. A
// command for which that cannot be told has an effect. The real programs confirm that nothing is missing.
func TestListedWrites(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"one/inside.txt": "1", "one/sub/two.txt": "2"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	pack := func(name string, argv ...string) string {
		t.Helper()
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", argv[0], err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	files := map[string]string{
		"src/a.go": "x", "p.patch": gitPatch, "up.patch": "--- a/x\n+++ b/../../x\n@@ -0,0 +1 @@\n+y\n",
		"link.patch": "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n",
		"b64.mbox":   "From x Mon Sep 17 00:00:00 2001\nFrom: x <x@y>\nSubject: x\nContent-Transfer-Encoding: base64\n\nZGlmZg==\n",
		"ed.patch":   "--- a/x\n+++ b/x\n1a\n!id\n.\n", "mode.patch": "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n",
		"rename.patch": "diff --git a/src/a.go b/lib/b.go\nsimilarity index 100%\nrename from src/a.go\nrename to lib/b.go\n", "run.sh": "",
		"a.tgz": pack("a.tgz", "tar", "czf", "a.tgz", "one"), "a.tar": pack("a.tar", "tar", "cf", "a.tar", "one"), "l.tar": pack("l.tar", "tar", "cf", "l.tar", "link"),
		"a.tar.bz2": pack("a.tar.bz2", "tar", "cjf", "a.tar.bz2", "one"), "abs.tar": pack("abs.tar", "tar", "cPf", "abs.tar", filepath.Join(dir, "one")), "out/": "",
	}
	p := project(t, files)
	git := exec.Command("git", "init", "-q")
	git.Dir = p.Dir
	if err := git.Run(); err != nil {
		t.Skip("no git")
	}
	const opaque = "?"
	for command, want := range map[string]string{
		"git apply p.patch":                               ".github/workflows/ci.yml|oä x|src/a.go",
		"git apply < p.patch":                             ".github/workflows/ci.yml|oä x|src/a.go",
		"patch -p1 < p.patch":                             ".github/workflows/ci.yml|oä x|src/a.go",
		"patch -p1 -d out < ../p.patch":                   opaque,
		"git apply rename.patch":                          "lib/b.go|src/a.go",
		"git apply mode.patch":                            "run.sh",
		"git apply up.patch":                              "../../x|x",
		"git apply link.patch":                            opaque,
		"git am b64.mbox":                                 opaque,
		"patch -p1 < ed.patch":                            opaque,
		"git apply missing.patch":                         opaque,
		"git apply src/a.go":                              opaque,
		"curl https://x.example/p | git apply":            opaque,
		"cp /tmp/x p.patch; git apply p.patch":            opaque + "|p.patch",
		"curl -o p.patch x; git apply p.patch":            opaque + "|p.patch",
		"make patch; git apply p.patch":                   opaque,
		"git checkout x && git apply p.patch":             opaque,
		"mkdir -p out && tar xf a.tar -C out":             "out|out/one|out/one/inside.txt|out/one/sub|out/one/sub/two.txt",
		"tar xzf a.tgz":                                   "one|one/inside.txt|one/sub|one/sub/two.txt",
		"tar xjf a.tar.bz2 -C out":                        "out/one|out/one/inside.txt|out/one/sub|out/one/sub/two.txt",
		"tar xzf a.tgz --strip-components=1":              "inside.txt|sub|sub/two.txt",
		"tar xf l.tar":                                    opaque,
		"tar xf missing.tar":                              opaque,
		"tar xf src/a.go":                                 opaque,
		"tar xf a.tar -C /tmp --one-top-level=/x":         opaque,
		"unzip a.tgz":                                     opaque,
		"git apply --check p.patch":                       "",
		"tar tf a.tar":                                    "",
		"gh release download v1":                          opaque,
		"wget -P out https://x.example/%2ebashrc":         "out|out/%2ebashrc|out/.bashrc",
		"curl -O https://x.example/a/b.txt":               "b.txt",
		"aws s3 cp s3://b/k.txt .":                        ".|k.txt",
		"aws s3 sync s3://b out":                          "out|out/b",
		"aws s3api get-object --bucket b --key k .bashrc": ".bashrc",
		"gcloud storage cp gs://b/k ../x":                 "../x|../x/k",
		"docker cp c:/x/y out":                            "out",
	} {
		a := analyzeCommand(t, command, p)
		got := written(a, p.Dir)
		effect := slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool { return s.EffectText() != "" })
		if list, ok := strings.CutPrefix(want, opaque); ok {
			if !effect {
				t.Errorf("%s: no effect, writes %q", command, got)
			}
			if list = strings.TrimPrefix(list, "|"); list == "" {
				continue
			}
			for name := range strings.SplitSeq(list, "|") {
				if !slices.Contains(got, name) {
					t.Errorf("%s: writes %q, and not %q", command, got, name)
				}
			}
			continue
		} else if effect && !strings.HasPrefix(command, "gcloud") && !strings.HasPrefix(command, "aws") && !strings.HasPrefix(command, "curl") {
			t.Errorf("%s: an effect: %+v", command, a.Subjects)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: writes %q, want %q", command, strings.Join(got, "|"), want)
		}
		if program, _, _ := strings.Cut(command, " "); program == "git" || program == "tar" || program == "patch" {
			runsAsListed(t, command, files, got)
		}
	}
}

// runsAsListed runs a command in a copy of the files and reports what it writes that is not in the list.
func runsAsListed(t *testing.T, command string, files map[string]string, list []string) {
	t.Helper()
	p := project(t, files)
	before := contents(t, p.Dir)
	c := exec.Command("bash", "-c", command)
	c.Dir, c.Env = p.Dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home, "GIT_CEILING_DIRECTORIES=" + p.Dir}
	if out, err := c.CombinedOutput(); err != nil && !strings.Contains(command, "up.patch") {
		t.Logf("%s: %v %s", command, err, out)
	}
	for name, content := range contents(t, p.Dir) {
		if old, ok := before[name]; (!ok || old != content) && !slices.Contains(list, name) {
			t.Errorf("%s wrote %s, which is not listed: %q", command, name, list)
		}
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		info, _ := e.Info()
		found[rel] = string(text) + info.Mode().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Putting a file into a repository reads it: rules that deny it hold, and a file from elsewhere is marked.
func TestStagedFiles(t *testing.T) {
	p := project(t, map[string]string{".env": "x", "a.go": "x", "../.kube/config": "x"})
	pol := policy(t, readsPolicy)
	tool := Describe(Server{Name: "git", Packages: []string{"mcp-server-git"}}, "git_add", "git_git_add", nil)
	for files, want := range map[string]permissions.Action{
		`["a.go"]`: permissions.Allow, `[".env"]`: permissions.Deny, `["a.go",".env"]`: permissions.Deny, `["../.kube/config"]`: permissions.Ask, `["./x/../.env"]`: permissions.Deny,
	} {
		a := Analyze(Call{Tool: tool, Arguments: []byte(`{"repo_path":".","files":` + files + `}`), Place: p})
		if got := verdict(pol, a); got != want {
			t.Errorf("%s: %v, want %v: %+v", files, got, want, a.Marks)
		}
	}
	for command, want := range map[string]permissions.Action{
		"git add a.go": permissions.Allow, "git add .env": permissions.Deny, "git add -f .env": permissions.Deny, "git add ./.e*": permissions.Deny, "git commit .env -m x": permissions.Deny,
		"git commit -am x": permissions.Allow, "git update-index --add .env": permissions.Deny, "git hash-object -w .env": permissions.Deny, "git add .": permissions.Allow,
		"git stage .env": permissions.Deny, "git -C . add .env": permissions.Deny, "git add -- .env": permissions.Deny, "git add :/.env": permissions.Deny,
	} {
		a := analyzeCommand(t, command, p)
		if got := verdict(pol, a); got != want {
			t.Errorf("%s: %v, want %v: %+v", command, got, want, a.Subjects)
		}
	}
	// Ignored files are staged too: the folder is looked through for denied files.
	if a := analyzeCommand(t, "git add -f .", p); !slices.Contains(a.Folders, p.Dir) {
		t.Errorf("git add -f . looks through %q", a.Folders)
	}
	if a := analyzeCommand(t, "git add .", p); len(a.Folders) > 0 {
		t.Errorf("git add . looks through %q", a.Folders)
	}
}

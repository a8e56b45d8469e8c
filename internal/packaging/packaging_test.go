package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/macho"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

type artifact struct{ Name, Path, Goos, Goarch, Type string }

// list writes goreleaser's list of artifacts.
func list(t *testing.T, dist string, artifacts []artifact) {
	t.Helper()
	text, err := json.Marshal(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dist, "artifacts.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// dist makes what goreleaser leaves behind, with a small program in place of callgate.
func dist(t *testing.T) (string, []artifact) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("src/go.mod", "module small\n\ngo 1.26\n")
	write("src/main.go", "package main\n\nfunc main() {}\n")
	build := func(goos, goarch string) string {
		t.Helper()
		out := filepath.Join(dir, goos+"-"+goarch)
		cmd := exec.Command("go", "build", "-o", out, ".")
		cmd.Dir = filepath.Join(dir, "src")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	here := build(runtime.GOOS, runtime.GOARCH)
	var artifacts []artifact
	for os, archs := range map[string][]string{"linux": {"amd64", "arm64"}, "darwin": {"amd64", "arm64"}, "windows": {"amd64", "arm64"}} {
		for _, arch := range archs {
			name, format, program := "callgate", ".tar.gz", here
			switch os {
			case "windows":
				name, format = "callgate.exe", ".zip"
			case "darwin":
				program = build(os, arch)
			}
			path := os + "_" + arch + "/" + name
			write(path, program)
			artifacts = append(artifacts, artifact{name, filepath.Join(dir, path), os, arch, "Binary"})
			archive := "callgate_1.2.3_" + os + "_" + arch + format
			write(archive, path)
			artifacts = append(artifacts, artifact{archive, filepath.Join(dir, archive), os, arch, "Archive"})
		}
	}
	write("metadata.json", `{"version":"1.2.3","tag":"v1.2.3"}`)
	write("scoop/callgate.json", "{}")
	return dir, artifacts
}

// Two runs write the same bytes, and their files agree: every checksum, every digest of the image, every version and
// every name that one file gives for another.
func TestPackagesAreTheSameTwiceAndHoldTogether(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1790000000")
	from, artifacts := dist(t)
	var sums [2]string
	out := ""
	for i := range sums {
		slices.Reverse(artifacts) // builds end in any order
		list(t, from, artifacts)
		out = filepath.Join(t.TempDir(), "out")
		if err := run(from, out); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("two runs differ:\n%s\n%s", sums[0], sums[1])
	}
	hold(t, out)
	if err := run(from, out); err == nil {
		t.Error("a release that is there already was changed")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if err := run(from, filepath.Join(t.TempDir(), "out")); err == nil {
		t.Error("nobody said the time of the commit")
	}
}

// hold checks the files of a release.
func hold(t *testing.T, out string) {
	t.Helper()
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(read("checksums.txt"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if sums[name] = sum; hexOf(read(name)) != sum {
			t.Errorf("the checksum of %s is wrong", name)
		}
	}
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(sums)+1 {
		t.Errorf("%d files have %d checksums", len(files), len(sums))
	}
	var server struct {
		Name, Description string
		Packages          []struct{ RegistryType, Identifier, FileSha256 string }
	}
	if err := json.Unmarshal(read("server.json"), &server); err != nil {
		t.Fatal(err)
	}
	if len(server.Description) > 100 || !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(server.Name) || len(server.Packages) != 4 {
		t.Errorf("server.json: %+v", server)
	}
	for _, p := range server.Packages {
		if name := p.Identifier[strings.LastIndex(p.Identifier, "/")+1:]; p.RegistryType == "mcpb" && (p.FileSha256 == "" || sums[name] != p.FileSha256) {
			t.Errorf("server.json: %+v", p)
		}
	}
	urls := regexp.MustCompile(`/([^/"]+\.tar\.gz)"\s+sha256 "([0-9a-f]+)"`).FindAllStringSubmatch(string(read("callgate.rb")), -1)
	if len(urls) != 4 {
		t.Errorf("the formula names %d archives", len(urls))
	}
	for _, m := range urls {
		if sums[m[1]] != m[2] {
			t.Errorf("the formula says %s of %s", m[2], m[1])
		}
	}
	var installer struct {
		ReleaseDate string `yaml:"ReleaseDate"`
		Installers  []struct {
			URL    string `yaml:"InstallerUrl"`
			SHA256 string `yaml:"InstallerSha256"`
		} `yaml:"Installers"`
	}
	if err := yaml.Unmarshal(read("callgate.callgate.installer.yaml"), &installer); err != nil {
		t.Fatal(err)
	}
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err != nil || installer.ReleaseDate != time.Unix(seconds, 0).UTC().Format(time.DateOnly) || len(installer.Installers) != 2 {
		t.Errorf("winget: %+v", installer)
	}
	for _, i := range installer.Installers {
		if sums[path.Base(i.URL)] != i.SHA256 {
			t.Errorf("winget says %s of %s", i.SHA256, i.URL)
		}
	}
	for name := range sums {
		switch {
		case strings.HasSuffix(name, "image.tar"):
			layout(t, read(name))
		case strings.HasSuffix(name, ".cdx.json"):
			bom(t, name, read(name))
		case strings.HasSuffix(name, ".mcpb") || strings.HasSuffix(name, ".zip") && !strings.Contains(name, "_windows_"):
			z, err := zip.NewReader(bytes.NewReader(read(name)), int64(len(read(name))))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range z.File {
				in, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(in)
				if err != nil || strings.HasSuffix(f.Name, ".json") && !json.Valid(text) {
					t.Errorf("%s: %s: %v", name, f.Name, err)
				}
				if strings.HasSuffix(name, "-darwin.mcpb") && f.Name == "server/callgate" {
					both(t, text)
				}
				if f.Name == "hooks/hooks.json" && (!bytes.Contains(text, []byte("callgate hook ")) || bytes.Contains(text, []byte("data-dir"))) {
					t.Errorf("%s: %s", name, text)
				}
			}
		}
	}
}

// both checks the universal program for Macs.
func both(t *testing.T, text []byte) {
	t.Helper()
	program, err := macho.NewFatFile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []macho.Cpu
	for _, a := range program.Arches {
		if a.Offset%(1<<a.Align) != 0 {
			t.Errorf("the program for %s is at %d", a.Cpu, a.Offset)
		}
		kinds = append(kinds, a.Cpu)
	}
	if !slices.Equal(kinds, []macho.Cpu{macho.CpuArm64, macho.CpuAmd64}) {
		t.Errorf("the program is for %v", kinds)
	}
}

// bom checks a bill of materials.
func bom(t *testing.T, name string, text []byte) {
	t.Helper()
	var b struct {
		SerialNumber string
		Components   []struct {
			Ref string `json:"bom-ref"`
		}
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{}
	for _, c := range b.Components {
		refs[c.Ref] = true
	}
	if len(refs) == 0 || len(refs) != len(b.Components) || !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(b.SerialNumber) {
		t.Errorf("%s: %s, %d components, %d different", name, b.SerialNumber, len(b.Components), len(refs))
	}
}

// blobs returns the files of an image.
func blobs(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	in := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// layout follows an image from its index to its layers.
func layout(t *testing.T, text []byte) {
	t.Helper()
	files := blobs(t, text)
	used := map[string]bool{}
	var follow func(text []byte)
	follow = func(text []byte) {
		var d struct {
			Manifests []struct {
				Digest string
				Size   int
			}
			Layers []struct {
				Digest string
				Size   int
			}
			Config json.RawMessage
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for _, list := range slices.Concat(d.Manifests, d.Layers) {
			blob, ok := files["blobs/sha256/"+strings.TrimPrefix(list.Digest, "sha256:")]
			sum := sha256.Sum256(blob)
			if !ok || len(blob) != list.Size || "sha256:"+hex.EncodeToString(sum[:]) != list.Digest {
				t.Errorf("%s has %d bytes, want %d", list.Digest, len(blob), list.Size)
			}
			if used[list.Digest] = true; blob[0] == '{' {
				follow(blob)
			}
		}
	}
	follow(files["index.json"])
	if len(used) != 5 { // a list, two manifests and two layers, which test programs share
		if len(used) != 4 {
			t.Errorf("the image has %v", slices.Sorted(maps.Keys(used)))
		}
	}
}

// The units are well formed, and start commands that exist.
func TestUnitsAreWellFormed(t *testing.T) {
	units, err := filepath.Glob("units/*")
	if err != nil || len(units) != 4 {
		t.Fatalf("%v %v", units, err)
	}
	for _, path := range units {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		command := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), "callgate-")
		if !strings.Contains(string(text), "callgate "+command) {
			t.Errorf("%s does not start callgate %s", path, command)
		}
		if filepath.Ext(path) == ".plist" {
			if err := xml.Unmarshal(text, new(struct{})); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		} else {
			verifyUnit(t, path, "--user")
		}
	}
}

// verifyUnit has systemd check a unit, if systemd is installed.
func verifyUnit(t *testing.T, path, scope string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	verify := exec.Command(analyze, "verify", scope, path)
	verify.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := verify.CombinedOutput()
	if said := strings.TrimSpace(string(out)); said != "" && (!strings.HasSuffix(said, "is not executable: No such file or directory") || strings.Contains(said, "\n")) {
		t.Errorf("%s: %v: %s", path, err, said)
	}
}

// filesBelow returns the regular files below a folder.
func filesBelow(t *testing.T, folder string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return list
}

// unpack makes the bundle from which a runtime runs an image for this processor, with its user and working folder.
func unpack(bundle string, files map[string][]byte, args ...string) error {
	type descriptor struct {
		Digest   string
		Platform struct{ Architecture string }
	}
	var index, list struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var image struct {
		Config struct {
			User, WorkingDir string
			Env, Entrypoint  []string
		}
	}
	blob := func(d descriptor) []byte { return files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")] }
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		return err
	}
	if err := json.Unmarshal(blob(index.Manifests[0]), &list); err != nil {
		return err
	}
	i := slices.IndexFunc(list.Manifests, func(d descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	if i < 0 {
		return errors.New("there is none for this machine")
	}
	if err := json.Unmarshal(blob(list.Manifests[i]), &manifest); err != nil {
		return err
	}
	if err := json.Unmarshal(blob(manifest.Config), &image); err != nil {
		return err
	}
	root := filepath.Join(bundle, "rootfs")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	for _, layer := range manifest.Layers {
		cmd := exec.Command("tar", "-xf", filepath.Join(bundle, "layer"), "-C", root)
		if err := errors.Join(os.WriteFile(filepath.Join(bundle, "layer"), blob(layer), 0o600), cmd.Run()); err != nil {
			return err
		}
	}
	user, group, _ := strings.Cut(image.Config.User, ":")
	uid, err := strconv.Atoi(user)
	gid, err2 := strconv.Atoi(group)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{
		"ociVersion": "1.0.0",
		"process":    map[string]any{"user": map[string]int{"uid": uid, "gid": gid}, "args": append(image.Config.Entrypoint, args...), "env": image.Config.Env, "cwd": image.Config.WorkingDir},
		"root":       map[string]any{"path": "rootfs"},
		"mounts":     []map[string]string{{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux":      map[string]any{"namespaces": []map[string]string{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600)
}

// A built release (make release) can be installed here, runs, and leaves nothing behind when it is removed.
func TestReleaseInstalls(t *testing.T) {
	out := os.Getenv("CALLGATE_RELEASE")
	if out == "" || runtime.GOOS != "linux" {
		t.Skip("CALLGATE_RELEASE names no release")
	}
	hold(t, out)
	one := func(pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v %v", pattern, found, err)
		}
		path, err := filepath.Abs(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	do := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, text)
		}
		return string(text)
	}
	t.Run("deb", func(t *testing.T) {
		if _, err := exec.LookPath("dpkg"); err != nil {
			t.Skip("dpkg is not installed")
		}
		root := t.TempDir()
		admin := filepath.Join(root, "var/lib/dpkg")
		for _, dir := range []string{"updates", "info", "triggers"} {
			if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"status", "available"} {
			if err := os.WriteFile(filepath.Join(admin, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		dpkg := []string{"--root=" + root, "--log=/dev/null", "--force-not-root", "--force-bad-path", "--force-architecture"}
		do("", "dpkg", append(dpkg, "--install", one("callgate_*_"+runtime.GOARCH+".deb"))...)
		if version := do("", filepath.Join(root, "usr/bin/callgate"), "--version"); !strings.HasPrefix(version, "callgate ") {
			t.Errorf("it says %q", version)
		}
		for _, path := range []string{"usr/share/man/man1/callgate.1", "usr/share/bash-completion/completions/callgate", "usr/lib/systemd/user/callgate-hub.service"} {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Error(err)
			}
		}
		err := filepath.WalkDir(filepath.Join(root, "usr"), func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if want := os.FileMode(0o444); err == nil && (info.Mode()&want != want || e.IsDir() && info.Mode()&0o111 != 0o111 || info.Mode()&0o022 != 0) {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		do("", "dpkg", append(dpkg, "--purge", "callgate")...)
		if left, err := os.ReadDir(filepath.Join(root, "usr")); err == nil {
			t.Errorf("it left %v", left)
		}
	})
	t.Run("image", func(t *testing.T) {
		if _, err := exec.LookPath("runc"); err != nil || os.Getuid() != 0 {
			t.Skip("runc is not installed, or may not run")
		}
		text, err := os.ReadFile(one("*-image.tar"))
		if err != nil {
			t.Fatal(err)
		}
		bundle := t.TempDir()
		if err := unpack(bundle, blobs(t, text), "version"); err != nil {
			t.Fatal(err)
		}
		if version := do(bundle, "runc", "--root", t.TempDir(), "run", "callgate-"+strconv.Itoa(os.Getpid())); !strings.Contains(version, "callgate ") {
			t.Errorf("it says %q", version)
		}
	})
	t.Run("rpm", func(t *testing.T) {
		if _, err := exec.LookPath("rpm"); err != nil || os.Getuid() != 0 {
			t.Skip("rpm is not installed, or may not install")
		}
		root := t.TempDir()
		rpm := []string{"--root=" + root, "--dbpath=/var/lib/rpm"}
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		do("", "rpm", append(rpm, "--nodeps", "--noscripts", "--install", one("callgate-*."+arch+".rpm"))...)
		if version := do("", filepath.Join(root, "usr/bin/callgate"), "--version"); !strings.HasPrefix(version, "callgate ") {
			t.Errorf("it says %q", version)
		}
		do("", "rpm", append(rpm, "--erase", "callgate")...)
		if left := filesBelow(t, filepath.Join(root, "usr")); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	})
	// Debian has no apk. So tar unpacks the package as apk would, and removing it means removing the files in its list.
	t.Run("apk", func(t *testing.T) {
		root := t.TempDir()
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		do(root, "tar", "-xzf", one("callgate_*_"+arch+".apk"))
		if version := do("", filepath.Join(root, "usr/bin/callgate"), "--version"); !strings.HasPrefix(version, "callgate ") {
			t.Errorf("it says %q", version)
		}
		info, err := os.ReadFile(filepath.Join(root, ".PKGINFO"))
		if err != nil || !strings.Contains(string(info), "pkgname = callgate\n") || !strings.Contains(string(info), "arch = "+arch+"\n") {
			t.Errorf("%v: %s", err, info)
		}
		for _, path := range filesBelow(t, root) {
			if rel, err := filepath.Rel(root, path); err != nil || !strings.HasPrefix(rel, "usr/") && rel != ".PKGINFO" {
				t.Errorf("it puts %s there", rel)
			}
		}
	})
	t.Run("npm", func(t *testing.T) {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("npm is not installed")
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		arch := map[string]string{"amd64": "x64"}[runtime.GOARCH] + strings.TrimPrefix(runtime.GOARCH, "amd64")
		do(dir, "npm", "install", "--offline", "--omit=optional", "--no-audit", "--no-fund", one("npm-callgate-[0-9]*.tgz"), one("npm-callgate-linux-"+arch+"-*.tgz"))
		if version := do(dir, "npx", "--offline", "callgate", "--version"); !strings.Contains(version, "callgate ") {
			t.Errorf("it says %q", version)
		}
		code := exec.Command("npx", "--offline", "callgate", "check")
		code.Dir = dir
		var exit *exec.ExitError
		if err := code.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("its exit code is lost: %v", err)
		}
	})
	// The official tools and schemas, which are downloaded.
	t.Run("bundles", func(t *testing.T) {
		for _, platform := range []string{"darwin", "linux", "win32"} {
			dir := t.TempDir()
			z, err := zip.OpenReader(one("callgate-*-" + platform + ".mcpb"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, z); err != nil {
				t.Fatal(err)
			}
			z.Close()
			do(dir, "npx", "--yes", "@anthropic-ai/mcpb@2.1.2", "validate", "manifest.json")
		}
	})
	t.Run("registry", func(t *testing.T) {
		text, err := exec.Command("go", "mod", "download", "-json", "github.com/modelcontextprotocol/registry@v1.8.8").Output()
		if err != nil {
			t.Fatal(err)
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(text, &module); err != nil {
			t.Fatal(err)
		}
		var says jsonschema.Schema
		var server any
		for file, into := range map[string]any{filepath.Join(module.Dir, "internal/validators/schemas/2025-12-11.json"): &says, one("server.json"): &server} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatal(err)
			}
		}
		schema, err := says.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(server); err != nil {
			t.Error(err)
		}
	})
}

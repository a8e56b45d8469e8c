// Command packaging makes the rest of a release from the binaries and archives that goreleaser built: an npm package,
// MCP bundles, the registry's server.json, a plugin and an extension with hooks, manifests for Homebrew and winget, a
// container image, bills of materials, and checksums.
//
//	packaging DIST OUT
package main

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Where callgate is published: host/owner/name. This file is the only place that says so.
//
//go:embed address
var addressFile string

var address = strings.TrimSpace(addressFile)

const description = "Gates every tool call: your rules answer first, you decide the rest, everything is on record."

// release holds what goreleaser built, and where to write the rest.
type release struct {
	version string
	tag     string
	time    time.Time         // the commit's; packages contain no other time
	builds  []build           // the binaries
	files   []string          // paths of archives and system packages
	sums    map[string]string // SHA-256 of the files in out, by name
	out     string
}

// build is the binary of one system.
type build struct{ os, arch, path string }

// name returns the system and architecture as npm spells them.
func (b build) name() string {
	os := cmp.Or(map[string]string{"windows": "win32"}[b.os], b.os)
	arch := cmp.Or(map[string]string{"amd64": "x64"}[b.arch], b.arch)
	return os + "-" + arch
}

func (b build) program() string { return filepath.Base(b.path) }

// owner returns the account that publishes callgate.
func owner() string { return strings.Split(address, "/")[1] }

// url returns where a file of the release can be downloaded.
func (r *release) url(name string) string {
	return "https://" + address + "/releases/download/" + r.tag + "/" + name
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: packaging DIST OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(dist, out string) error {
	r, err := read(dist, out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, path := range r.files {
		if err := r.copy(path); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		what string
		make func(*release) error
	}{
		{"bills of materials", boms}, {"npm", npm}, {"MCP bundles", bundles}, {"hosts", hostFolders}, {"Homebrew", formula}, {"winget", winget},
		{"image", image}, {"server.json", serverJSON}, {"checksums", checksums},
	} {
		if err := step.make(r); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// read reads what goreleaser reports that it built.
func read(dist, out string) (*release, error) {
	r := &release{out: out, sums: map[string]string{}}
	var metadata struct{ Version, Tag string }
	if err := readJSON(filepath.Join(dist, "metadata.json"), &metadata); err != nil {
		return nil, err
	}
	r.version, r.tag = metadata.Version, metadata.Tag
	var artifacts []struct {
		Name, Path, Goos, Goarch, Type string
	}
	if err := readJSON(filepath.Join(dist, "artifacts.json"), &artifacts); err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		switch a.Type {
		case "Binary":
			r.builds = append(r.builds, build{a.Goos, a.Goarch, a.Path})
		case "Archive", "Linux Package":
			r.files = append(r.files, a.Path)
		}
	}
	if len(r.builds) == 0 {
		return nil, errors.New("goreleaser built no binaries")
	}
	slices.SortFunc(r.builds, func(a, b build) int { return strings.Compare(a.name(), b.name()) })
	r.files = append(r.files, filepath.Join(dist, "scoop/callgate.json"))
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, errors.New("SOURCE_DATE_EPOCH has to be the time of the commit")
	}
	r.time = time.Unix(seconds, 0).UTC()
	return r, nil
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// copy copies a file of goreleaser's into the release.
func (r *release) copy(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	name := filepath.Base(path)
	if name == "callgate.json" { // Scoop's: the name does not say what it is for
		name = "callgate.scoop.json"
	}
	return r.add(name, func(w io.Writer) error { _, err := io.Copy(w, in); return err })
}

// add writes a file of the release and records its checksum. The file MUST NOT exist.
func (r *release) add(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := errors.Join(write(io.MultiWriter(f, sum)), f.Close()); err != nil {
		return err
	}
	r.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// addJSON writes a JSON file.
func (r *release) addJSON(name string, v any) error {
	text, err := toJSON(v)
	if err != nil {
		return err
	}
	return r.add(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

func toJSON(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

func checksums(r *release) error {
	names := slices.Sorted(maps.Keys(r.sums))
	return r.add("checksums.txt", func(w io.Writer) error {
		for _, name := range names {
			if _, err := fmt.Fprintf(w, "%s  %s\n", r.sums[name], name); err != nil {
				return err
			}
		}
		return nil
	})
}

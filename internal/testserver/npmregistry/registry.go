// Package npmregistry is an npm registry for tests.
package npmregistry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Registry serves what was published with Publish.
type Registry struct {
	*httptest.Server
	mu       sync.Mutex
	packages map[string]*document
	tarballs map[string][]byte
}

// document is what a registry says about one package.
type document struct {
	Name        string            `json:"name"`
	Tags        map[string]string `json:"dist-tags"`
	Versions    map[string]any    `json:"versions"`
	Time        map[string]string `json:"time"`
	Maintainers []person          `json:"maintainers"`
}

type person struct {
	Name string `json:"name"`
}

// New starts a registry without packages, which ends with the test.
func New(t *testing.T) *Registry {
	r := &Registry{packages: map[string]*document{}, tarballs: map[string][]byte{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// Env returns the variables that make npm use the registry, with a cache in dir.
func (r *Registry) Env(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "npm_config_registry=" + r.URL + "/", "npm_config_cache=" + filepath.Join(dir, ".npm"),
		"npm_config_update_notifier=false", "npm_config_fetch_retries=0", "npm_config_audit=false", "npm_config_fund=false",
	}
}

// Version is one version to publish.
type Version struct {
	Name, Version string
	Needs         map[string]string // dependencies
	Scripts       map[string]string
	Main          string // the program of the package's only command, in JavaScript
	By            string // its publisher and maintainer
	At            time.Time
}

// Publish makes v the latest version of its package, and replaces an older publication of the same version.
func (r *Registry) Publish(t *testing.T, v Version) {
	t.Helper()
	about := map[string]any{
		"name": v.Name, "version": v.Version, "bin": map[string]string{v.Name: "main.js"},
	}
	if len(v.Needs) > 0 {
		about["dependencies"] = v.Needs
	}
	if len(v.Scripts) > 0 {
		about["scripts"] = v.Scripts
	}
	packageJSON, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, f := range []struct {
		name string
		data []byte
	}{{"package/package.json", packageJSON}, {"package/main.js", []byte("#!/usr/bin/env node\n" + v.Main)}} {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.data)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(packed.Bytes())
	path := "/" + v.Name + "/-/" + v.Name + "-" + v.Version + ".tgz"
	about["dist"] = map[string]any{"tarball": r.URL + path, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	about["_npmUser"], about["maintainers"] = person{v.By}, []person{{v.By}}
	about["hasInstallScript"] = v.Scripts["postinstall"] != ""
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.packages[v.Name]
	if d == nil {
		d = &document{Name: v.Name, Versions: map[string]any{}, Time: map[string]string{}}
		r.packages[v.Name] = d
	}
	d.Tags, d.Maintainers = map[string]string{"latest": v.Version}, []person{{v.By}}
	d.Versions[v.Version], d.Time[v.Version] = about, v.At.UTC().Format(time.RFC3339)
	r.tarballs[path] = packed.Bytes()
}

func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.Header().Set("Cache-Control", "no-cache")
	if data, ok := r.tarballs[req.URL.Path]; ok {
		_, _ = w.Write(data) // npm complains if it gets too little
		return
	}
	name, _ := url.PathUnescape(strings.TrimPrefix(req.URL.Path, "/"))
	d, ok := r.packages[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	data, err := json.Marshal(d)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // npm complains if it gets too little
}

package companion

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPageIsBuiltFromItsSources computes the stamp that web/build.mjs puts into the script.
func TestPageIsBuiltFromItsSources(t *testing.T) {
	web := os.DirFS("web")
	names := []string{"build.mjs", "package-lock.json"}
	err := fs.WalkDir(web, "src", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		data, err := fs.ReadFile(web, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(hash, "%s\x00%d\x00%s", name, len(data), data)
	}
	script, err := page.ReadFile("page/app.js")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("/* sources sha256 %x */", hash.Sum(nil)); !bytes.HasPrefix(script, []byte(want)) {
		t.Errorf("internal/companion/page was built from other sources: run npm run build in internal/companion/web (it begins with %.90q, want %q)", script, want)
	}
}

func TestPageFiles(t *testing.T) {
	r := start(t, newFakeBackend())
	for _, tt := range []struct {
		path, kind, want string
		status           int
	}{
		{"/", "text/html; charset=utf-8", "<!doctype html>", 200},
		{"/page/app.js", "text/javascript; charset=utf-8", "/* sources sha256 ", 200},
		{"/page/style.css", "text/css; charset=utf-8", ":root", 200},
		{"/page/sw.js", "text/javascript; charset=utf-8", "// The page's service worker", 200},
		{"/page/icon.svg", "image/svg+xml", "<svg", 200},
		{"/page/icon-waiting.svg", "image/svg+xml", "<svg", 200},
		{"/page/manifest.webmanifest", "application/manifest+json", `"display": "standalone"`, 200},
		{"/page/", "application/json", "nothing at this path", 404},
		{"/page/other.js", "application/json", "nothing at this path", 404},
		{"/page/..%2Fpage.go", "application/json", "nothing at this path", 404},
	} {
		t.Run(tt.path, func(t *testing.T) {
			response, body := r.do(t, "", "GET", tt.path, "")
			if response.StatusCode != tt.status || response.Header.Get("Content-Type") != tt.kind || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s: %.200q", response.StatusCode, response.Header.Get("Content-Type"), body)
			}
			policy := response.Header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("policy is %q", policy)
			}
			if tt.status == 200 && !strings.Contains(policy, "connect-src 'self' ws://"+r.Address()+";") {
				t.Errorf("policy %q does not name the WebSocket of this server", policy)
			}
		})
	}
}

// The page's own markup contains no inline scripts or styles, and loads nothing from elsewhere.
func TestPageMarkup(t *testing.T) {
	html, err := page.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<style", " style=", " onload=", "//", "javascript:"} {
		if bytes.Contains(html, []byte(bad)) {
			t.Errorf("index.html holds %q", bad)
		}
	}
	if n := bytes.Count(html, []byte("<script")); n != 1 || !bytes.Contains(html, []byte(`<script defer src="/page/app.js"></script>`)) {
		t.Errorf("index.html has %d scripts", n)
	}
}

package rag

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/testserver/unraced"
)

func TestMain(m *testing.M) {
	os.Exit(unraced.Main(m, "TestCancel", "TestClosed", "TestEvents", "TestIncremental", "TestRemote"))
}

// project is a small workspace.
var project = map[string]string{
	"server/http.go":       "package server\n\n// Serve accepts connections and answers requests.\nfunc Serve(l net.Listener) error {\n\treturn accept(l)\n}\n",
	"server/token.go":      "package server\n\n// refreshToken renews the access token before it expires.\nfunc refreshToken(t *Token) error {\n\treturn nil\n}\n",
	"server/token_test.go": "package server\n\nfunc TestRefreshToken(t *testing.T) {\n\trefreshToken(nil)\n}\n",
	"web/app.ts":           "export class TokenStore {\n  load(key: string): string {\n    return localStorage.getItem(key)\n  }\n}\n",
	"README.md":            "# Project\n\nA server that renews tokens.\n\n## Install\n\nRun make install and be happy.\n",
	"config.yaml":          "listen: 127.0.0.1\ntimeout: 5s\n",
}

func open(t testing.TB, dir string, o Options) *Index {
	t.Helper()
	x, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func syncs(t testing.TB, x *Index, root string) Summary {
	t.Helper()
	s, err := x.Sync(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Duration = 0
	return s
}

// paths returns the paths of the hits, best first, each once.
func paths(t testing.TB, x *Index, q Query) (found []string) {
	t.Helper()
	hits, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if !slices.Contains(found, h.Path) {
			found = append(found, h.Path)
		}
	}
	return found
}

func first(t testing.TB, x *Index, q string) string {
	t.Helper()
	if found := paths(t, x, Query{Text: q}); len(found) > 0 {
		return found[0]
	}
	return ""
}

func TestSearch(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, linked); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{"", t.TempDir()} {
		x := open(t, dir, Options{})
		if found, err := x.Search(t.Context(), Query{Text: "anything"}); err != nil || len(found) != 0 {
			t.Fatalf("an empty index finds %v, %v", found, err)
		}
		want := Summary{Files: 6, Chunks: 6, Changed: 6}
		if got := syncs(t, x, root); got != want {
			t.Errorf("the first Sync says %+v, want %+v", got, want)
		}
		for _, c := range []struct {
			q    Query
			want string
		}{
			{Query{Text: "renew the access token"}, "server/token.go"},
			{Query{Text: "refreshToken"}, "server/token.go"},
			{Query{Text: "TokenStore"}, "web/app.ts"},
			{Query{Text: "server.Serve"}, "server/http.go"},
			{Query{Text: "accept connections"}, "server/http.go"},
			{Query{Text: "test of refreshing tokens"}, "server/token_test.go"},
			{Query{Text: "token", Language: "typescript"}, "web/app.ts"},
			{Query{Text: "token", Kind: KindDoc}, "README.md"},
			{Query{Text: "token", Path: "web/**"}, "web/app.ts"},
			{Query{Text: "token", Path: "*_test.go"}, "server/token_test.go"},
			{Query{Text: "the timeout", Kind: KindConfig}, "config.yaml"},
			{Query{Text: "what is it"}, ""}, // stop words that no file contains
			{Query{Text: ""}, ""},
			{Query{Text: "token", Language: "haskell"}, ""},
			{Query{Text: "token", Language: "TS"}, "web/app.ts"},
			{Query{Text: "token", Within: "web"}, "app.ts"},
			{Query{Text: "token", Within: "web/", Path: "*.go"}, ""},
			{Query{Text: "token", Within: "we"}, ""},
			{Query{Text: "token", Path: filepath.ToSlash(root) + "/web/**"}, "web/app.ts"},
			{Query{Text: "token", Path: filepath.ToSlash(root) + "/web"}, "web/app.ts"},
			{Query{Text: "token", Path: path.Dir(filepath.ToSlash(root)) + "/**/*_test.go"}, "server/token_test.go"},
			{Query{Text: "token", Path: filepath.ToSlash(linked) + "/web/*"}, "web/app.ts"},
			{Query{Text: "token", Path: "/web/*"}, "web/app.ts"},
			{Query{Text: "token", Path: filepath.ToSlash(root) + "-other/**"}, ""},
			{Query{Text: strings.Repeat("token ", 10_000)}, "server/token.go"},
		} {
			got := ""
			if found := paths(t, x, c.q); len(found) > 0 {
				got = found[0]
			}
			if c.want == "" && c.q.Text == "what is it" {
				continue // whatever is found by meaning
			}
			if got != c.want {
				t.Errorf("dir %q: %.40q finds %q, want %q", dir, c.q.Text, got, c.want)
			}
		}
		for _, q := range []Query{{Text: "x", Path: "["}, {Text: "x", Kind: "sourcecode"}, {Text: "x", Language: "klingon"}} {
			if _, err := x.Search(t.Context(), q); !errors.Is(err, ErrQuery) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := x.Search(ctx, Query{Text: "token"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled search returns %v", err)
		}
	}
}

func TestHit(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	x := open(t, t.TempDir(), Options{})
	syncs(t, x, root)
	hits, err := x.Search(t.Context(), Query{Text: "refreshToken", WithText: true, Limit: 1})
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	h := hits[0]
	p := h.Parts
	if sum := (p.Fusion + p.Match + p.Definition + p.Path + p.File) * p.Factor; sum-h.Score > 1e-9 || h.Score-sum > 1e-9 {
		t.Errorf("score %v is not the sum of its parts, %v", h.Score, sum)
	}
	if p.BM25 <= 0 || p.Coverage <= 0 || p.Coverage > 1 || p.Cosine <= 0 || p.Cosine > 1.01 || p.Definition <= 0 {
		t.Errorf("parts %+v", p)
	}
	h.Score, h.Parts = 0, Parts{}
	want := Hit{Path: "server/token.go", Start: 1, End: 6, Symbol: "refreshToken", Language: "go", Kind: KindCode,
		Text: strings.TrimSuffix(project["server/token.go"], "\n")}
	if d := cmp.Diff(want, h); d != "" {
		t.Error(d)
	}

	// The file changes and is not indexed again, so its lines are not shown.
	writeFiles(t, root, map[string]string{"server/token.go": "package server\n\nvar nothing int\n"})
	hits, err = x.Search(t.Context(), Query{Text: "refreshToken", WithText: true, Limit: 1})
	if err != nil || len(hits) != 1 || !hits[0].Stale || hits[0].Gone || hits[0].Text != "" || hits[0].Start != 0 || hits[0].End != 0 {
		t.Errorf("got %+v, %v", hits, err)
	}
	if err := os.Remove(filepath.Join(root, "server", "token.go")); err != nil {
		t.Fatal(err)
	}
	hits, err = x.Search(t.Context(), Query{Text: "refreshToken", WithText: true, Limit: 1})
	if err != nil || len(hits) != 1 || !hits[0].Stale || !hits[0].Gone || hits[0].Start != 0 {
		t.Errorf("got %+v, %v", hits, err)
	}
	if hits, err = x.Search(t.Context(), Query{Text: "refreshToken", Threshold: 0.99}); err != nil || len(hits) != 0 {
		t.Errorf("above the threshold is %+v, %v", hits, err)
	}
}

func TestIncremental(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x := open(t, dir, Options{})
	syncs(t, x, root)
	if got, want := syncs(t, x, root), (Summary{Files: 6, Chunks: 6}); got != want {
		t.Errorf("nothing changed: %+v, want %+v", got, want)
	}
	writeFiles(t, root, map[string]string{
		"server/token.go": "package server\n\n// Rotate exchanges keys.\nfunc Rotate() {}\n",
		"new.py":          "def parse_invoice(path):\n    return path\n",
		"README.md":       "",
	})
	if err := os.Remove(filepath.Join(root, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	if got, want := syncs(t, x, root), (Summary{Files: 5, Chunks: 5, Changed: 2, Removed: 2, Skipped: 1}); got != want {
		t.Errorf("after changes: %+v, want %+v", got, want)
	}
	for q, want := range map[string]string{"Rotate": "server/token.go", "parse_invoice": "new.py", "invoice": "new.py"} {
		if got := first(t, x, q); got != want {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
	if got := paths(t, x, Query{Text: "renews the access token before it expires", Path: "server/token.go"}); len(got) > 0 {
		hits, _ := x.Search(t.Context(), Query{Text: "expires", Path: "server/token.go"})
		if len(hits) > 0 && hits[0].Parts.BM25 > 0 {
			t.Errorf("the old text is found: %+v", hits)
		}
	}

	// Same size and time, other text. It is noticed because the file was new when it was read.
	info, err := os.Stat(filepath.Join(root, "new.py"))
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, root, map[string]string{"new.py": "def parse_receipt(path):\n    return path\n"})
	if err := os.Chtimes(filepath.Join(root, "new.py"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	syncs(t, x, root)
	if got := first(t, x, "parse_receipt"); got != "new.py" {
		t.Errorf("a change within the clock's resolution is missed: %q", got)
	}

	// A new process finds the same.
	y := open(t, dir, Options{})
	if got := first(t, y, "parse_receipt"); got != "new.py" {
		t.Errorf("another process finds %q", got)
	}
	// The rules get stricter: at once for hits, and with the next Sync for the index.
	z := open(t, dir, Options{Denied: func(path string) bool { return strings.HasSuffix(path, "new.py") }})
	if got := first(t, z, "parse_receipt"); got == "new.py" {
		t.Error("a denied file is found")
	}
	syncs(t, z, root)
	if got := paths(t, y, Query{Text: "receipt"}); slices.Contains(got, "new.py") {
		t.Error("a denied file stays in the index")
	}
	if err := y.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := x.Stats(); err != nil || s != (Stats{}) {
		t.Errorf("a cleared index has %+v, %v", s, err)
	}
}

// TestEqualToFresh changes a workspace many times. The index must then equal a new one.
func TestEqualToFresh(t *testing.T) {
	root := t.TempDir()
	x := open(t, t.TempDir(), Options{})
	seed := uint32(1)
	random := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	words := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omega")
	for range 25 {
		for range 3 {
			name := filepath.Join(root, fmt.Sprintf("f%d.py", random(12)))
			if random(4) == 0 {
				if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				continue
			}
			var b strings.Builder
			for i := range 1 + random(4) {
				fmt.Fprintf(&b, "def %s_%d():\n%s", words[random(len(words))], i, strings.Repeat("    return "+words[random(len(words))]+"\n", 1+random(60)))
			}
			if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		syncs(t, x, root)
	}
	fresh := open(t, t.TempDir(), Options{})
	syncs(t, fresh, root)
	a, _ := x.Stats()
	b, _ := fresh.Stats()
	a.Segments, b.Segments = 0, 0
	if a != b {
		t.Errorf("stats %+v, a new index has %+v", a, b)
	}
	for _, w := range words {
		scores := func(x *Index) map[string]string {
			out := map[string]string{}
			hits, err := x.Search(t.Context(), Query{Text: w, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				out[fmt.Sprint(h.Path, h.Start)] = fmt.Sprintf("%d %s %.4f %.4f", h.End, h.Symbol, h.Parts.BM25, h.Parts.Cosine)
			}
			return out
		}
		if d := cmp.Diff(scores(fresh), scores(x)); d != "" {
			t.Errorf("%q: %s", w, d)
		}
	}
	if s, _ := x.Stats(); s.Segments > maxSmall+2 {
		t.Errorf("%d segments are left", s.Segments)
	}
}

func TestDocuments(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		x := open(t, dir, Options{})
		for i := range 3 * maxSmall { // enough to be merged
			err := x.Add(t.Context(), Document{ID: fmt.Sprint("n", i), Text: fmt.Sprintf("note number%d about gardens", i), Metadata: map[string]string{"i": fmt.Sprint(i)}})
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := x.Stats()
		if err != nil || s.Documents != 3*maxSmall || s.Segments > maxSmall+1 {
			t.Errorf("stats %+v, %v", s, err)
		}
		hits, err := x.Search(t.Context(), Query{Text: "number7", WithText: true, Limit: 1})
		if err != nil || len(hits) != 1 || hits[0].Path != "n7" || hits[0].Text != "note number7 about gardens" || hits[0].Metadata["i"] != "7" {
			t.Errorf("dir %q: got %+v, %v", dir, hits, err)
		}
		if err := x.Add(t.Context(), Document{ID: "n7", Text: "replaced"}); err != nil {
			t.Fatal(err)
		}
		if hits, err = x.Search(t.Context(), Query{Text: "number7"}); err != nil || slices.ContainsFunc(hits, func(h Hit) bool { return h.Path == "n7" && h.Parts.BM25 > 0 }) {
			t.Errorf("what was replaced is found: %+v, %v", hits, err)
		}
		if n, err := x.Remove(t.Context(), "n7", "n8", "none"); n != 2 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		docs, err := x.Documents(KindNote)
		if err != nil || len(docs) != 3*maxSmall-2 || docs[0].ID != "n0" {
			t.Errorf("%d documents, %v", len(docs), err)
		}
		if err := x.Add(t.Context(), Document{Text: "no ID"}); err == nil {
			t.Error("a document without ID is taken")
		}
		if err := x.Add(t.Context(), Document{ID: "x", Text: strings.Repeat("x", maxDocument+1)}); err == nil {
			t.Error("a document that is too long is taken")
		}
	}
}

func TestTools(t *testing.T) {
	x := memory(t, Options{})
	err := x.Add(t.Context(),
		ToolDocument("fs_read_file", "fs", "read_file", "Read the contents of a file.", []byte(`{"properties":{"path":{"type":"string","description":"where it is"}}}`)),
		ToolDocument("gh_create_issue", "gh", "create_issue", "Open a ticket.", []byte(`{"properties":{"title":{"type":"string"},"labels":{"items":{"enum":["bug"]}}}}`)),
		ToolDocument("mail_send", "mail", "send", "Send a message to people.", []byte(`not json`)),
		ToolDocument("deep", "x", "deep", "", []byte(strings.Repeat(`{"items":`, 5000)+`{}`+strings.Repeat(`}`, 5000))),
	)
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{
		"create_issue": "gh_create_issue", "report a bug": "gh_create_issue", "send a message": "mail_send", "look into a file": "fs_read_file", "where it is": "fs_read_file",
	} {
		if got := first(t, x, q); got != want {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
}

func TestClosed(t *testing.T) {
	x, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = x.Search(t.Context(), Query{Text: "x"})
	_, serr := x.Sync(t.Context(), t.TempDir(), nil)
	for _, err := range []error{err, serr, x.Add(t.Context(), Document{ID: "a", Text: "a"})} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}

// TestConcurrent searches while others write, in several indexes of the same directory.
func TestConcurrent(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	var indexes []*Index
	for range 3 {
		indexes = append(indexes, open(t, dir, Options{}))
	}
	syncs(t, indexes[0], root)
	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for _, x := range indexes {
		readers.Go(func() {
			for ctx.Err() == nil {
				hits, err := x.Search(t.Context(), Query{Text: "refreshToken", Limit: 1, WithText: true})
				if err != nil || len(hits) != 1 || hits[0].Path != "server/token.go" || hits[0].Stale {
					t.Errorf("got %+v, %v", hits, err)
					return
				}
			}
		})
		writers.Go(func() {
			for i := range 12 {
				id := fmt.Sprintf("%p-%d", x, i)
				if err := x.Add(t.Context(), Document{ID: id, Text: "some note about " + id}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	for _, x := range indexes {
		if s, err := x.Stats(); err != nil || s.Documents != 36 || s.Files != 6 {
			t.Errorf("stats %+v, %v", s, err)
		}
	}
}

func TestEvents(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"a.go": "package a\n", "b.pdf": "x", "c.bin": "\x00\x00", "d.pem": "x"})
	x := open(t, t.TempDir(), Options{})
	var got []string
	if _, err := x.Sync(t.Context(), root, func(e Event) {
		got = append(got, fmt.Sprintf("%s %d/%d %s", e.Kind, e.Indexed, e.Total, e.Reason))
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"start 0/1 ", "skip 0/1 PDF and Office files are not read: convert them to text or Markdown",
		"skip 0/1 not text, by its name", "skip 0/1 its name suggests secrets", "progress 1/1 ", "done 1/1 ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := x.Sync(t.Context(), filepath.Join(root, "b.pdf"), nil); err == nil || !strings.Contains(err.Error(), "PDF") {
		t.Errorf("indexing a PDF file says %v", err)
	}
	if _, err := x.Sync(t.Context(), filepath.Join(root, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("indexing nothing says %v", err)
	}
}

func BenchmarkSearch(b *testing.B) {
	root := b.TempDir()
	manyFiles(b, root, 3000)
	x := open(b, b.TempDir(), Options{})
	syncs(b, x, root)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Search(b.Context(), Query{Text: "compute the value of function 77"}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRest checks that an index finds the same after a Rest, and during one.
func TestRest(t *testing.T) {
	x, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add(t.Context(), Document{ID: "bees", Text: "Bees sleep in winter."}, Document{ID: "tulips", Text: "Tulips are planted in autumn."}); err != nil {
		t.Fatal(err)
	}
	var searching sync.WaitGroup
	for range 4 {
		searching.Go(func() {
			for range 50 {
				if hits, err := x.Search(t.Context(), Query{Text: "winter", Limit: 1}); err != nil || len(hits) != 1 || hits[0].Path != "bees" {
					t.Errorf("found %v, %v", hits, err)
				}
			}
		})
	}
	for range 50 {
		if err := x.Rest(); err != nil {
			t.Error(err)
		}
	}
	searching.Wait()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Rest(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed index rests: %v", err)
	}
}

// TestEncodings checks that UTF-16 is found, that a few old bytes are read, and that what would be damaged is left out.
func TestEncodings(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"author.go": "// by Gr\xf6\xdfer\npackage a\n" + strings.Repeat("func f() { walrus() }\n", 20),
		"latin.txt": "Die Gr\xf6\xdfe zorblax\n",
	})
	wide := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("// Größe des Narwals\r\nclass Narwal {}\r\n")) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	writeFiles(t, root, map[string]string{"wide.cs": string(wide)})
	x := open(t, t.TempDir(), Options{})
	var left []string
	if _, err := x.Sync(t.Context(), root, func(e Event) {
		if e.Kind == EventSkip {
			left = append(left, e.Path+": "+e.Reason)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"latin.txt: it is not UTF-8 or UTF-16: convert it"}; !slices.Equal(left, want) {
		t.Errorf("left out %q, want %q", left, want)
	}
	for query, want := range map[string]string{"Narwal": "// Größe des Narwals", "Größer": "// by Größer"} {
		hits, err := x.Search(t.Context(), Query{Text: query, WithText: true, Limit: 1})
		if err != nil || len(hits) != 1 || !strings.HasPrefix(hits[0].Text, want) || hits[0].Start != 1 {
			t.Errorf("%q finds %+v, %v", query, hits, err)
		}
	}
}

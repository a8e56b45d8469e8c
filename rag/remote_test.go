package rag

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// embeddingServer serves both APIs, with vectors that count letters.
func embeddingServer(t *testing.T, dim int, asked *atomic.Int64, fail func(n int64, w http.ResponseWriter) bool) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if fail != nil && fail(n, w) {
			return
		}
		var body struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Model != "m" {
			t.Errorf("asked for %+v, %v", body, err)
		}
		vectors := make([][]float32, len(body.Input))
		for i, text := range body.Input {
			if text == "" || len(text) > 8100 {
				t.Errorf("a text of %d bytes", len(text))
			}
			vectors[i] = make([]float32, dim)
			for _, c := range []byte(strings.ToLower(text)) {
				vectors[i][int(c)%dim]++
			}
		}
		answer := map[string]any{"embeddings": vectors}
		if r.URL.Path == "/v1/embeddings" {
			if r.Header.Get("Authorization") != "Bearer sesame" {
				t.Errorf("authorization %q", r.Header.Get("Authorization"))
			}
			var data []map[string]any
			for i := len(vectors) - 1; i >= 0; i-- { // in any order
				data = append(data, map[string]any{"index": i, "embedding": vectors[i]})
			}
			answer = map[string]any{"data": data}
		} else if r.URL.Path != "/api/embed" {
			t.Errorf("asked at %s", r.URL.Path)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestRemote(t *testing.T) {
	t.Setenv("KEY", "sesame")
	for _, o := range []RemoteOptions{
		{API: "openai", URL: "/v1", Model: "m", Dim: 32, KeyEnv: "KEY", Batch: 3},
		{API: "ollama", Model: "m", Dim: 32, DocumentPrefix: "passage: ", QueryPrefix: "query: "},
	} {
		t.Run(o.API, func(t *testing.T) {
			var asked atomic.Int64
			o.URL = embeddingServer(t, 32, &asked, func(n int64, w http.ResponseWriter) bool {
				if n == 1 { // too busy once
					http.Error(w, "busy", http.StatusTooManyRequests)
				}
				return n == 1
			}).URL + o.URL
			e, err := NewRemote(o)
			if err != nil {
				t.Fatal(err)
			}
			texts := []string{"a", "", strings.Repeat("ü", 9000), "b", "c"}
			got, err := e.Embed(t.Context(), ForDocument, texts)
			if err != nil || len(got) != 5 {
				t.Fatal(len(got), err)
			}
			if o.API == "openai" && (got[0]['a'%32] != 1 || got[3]['b'%32] != 1 || got[4]['c'%32] != 1) {
				t.Error("vectors are mixed up")
			}
			root, dir := t.TempDir(), t.TempDir()
			writeFiles(t, root, project)
			x := open(t, dir, Options{Embedder: e})
			syncs(t, x, root)
			if s, err := x.Stats(); err != nil || s.Vectors != s.Chunks {
				t.Errorf("stats %+v, %v", s, err)
			}
			hits, err := x.Search(t.Context(), Query{Text: "refreshToken", Limit: 1})
			if err != nil || len(hits) != 1 || hits[0].Parts.Cosine == 0 {
				t.Errorf("got %+v, %v", hits, err)
			}
		})
	}
}

// TestChangeEmbedder changes from the table to a failing server, to a working one, and back.
func TestChangeEmbedder(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x := open(t, dir, Options{})
	syncs(t, x, root)
	if err := x.Add(t.Context(), Document{ID: "n", Text: "gardens"}); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	var down atomic.Bool
	down.Store(true)
	s := embeddingServer(t, 16, &asked, func(_ int64, w http.ResponseWriter) bool {
		if down.Load() {
			http.Error(w, "no such model", http.StatusNotFound)
		}
		return down.Load()
	})
	e, err := NewRemote(RemoteOptions{API: "ollama", URL: s.URL, Model: "m", Dim: 16})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	y := open(t, dir, Options{Embedder: e, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if got := first(t, y, "refreshToken"); got != "server/token.go" || !strings.Contains(said.String(), "by words only") {
		t.Errorf("without vectors it finds %q and says %q", got, said.String())
	}
	writeFiles(t, root, map[string]string{"new.go": "package x\n\nfunc Fresh() {}\n"})
	if sum, err := y.Sync(t.Context(), root, nil); err == nil || !strings.Contains(err.Error(), "no such model") || sum.Files != 7 {
		t.Errorf("Sync says %+v, %v", sum, err)
	}
	if asked.Load() > 6 {
		t.Errorf("a server that says no is asked %d times", asked.Load())
	}
	if got := first(t, y, "Fresh"); got != "new.go" {
		t.Errorf("what has no vectors is found as %q", got)
	}
	down.Store(false)
	if sum := syncs(t, y, root); sum.Changed != 0 {
		t.Errorf("files were read again: %+v", sum)
	}
	if s, err := y.Stats(); err != nil || s.Vectors != 8 {
		t.Errorf("stats %+v, %v", s, err)
	}
	if s, err := x.Stats(); err != nil || s.Vectors != 0 || s.Chunks != 8 {
		t.Errorf("the other sees %+v, %v", s, err)
	}
	syncs(t, x, root)
	if s, err := x.Stats(); err != nil || s.Vectors != 8 {
		t.Errorf("back again: %+v, %v", s, err)
	}
	if err := x.Add(t.Context(), Document{ID: "m", Text: "more"}); err != nil {
		t.Fatal(err)
	}
}

func TestRemoteRefuses(t *testing.T) {
	for _, o := range []RemoteOptions{
		{}, {API: "other", Model: "m", Dim: 1}, {API: "openai", Dim: 1}, {API: "openai", Model: "m"}, {API: "openai", Model: "m", Dim: 1 << 20},
		{API: "openai", Model: "m", Dim: 1, KeyEnv: "NO_SUCH_KEY"}, {API: "openai", Model: "m", Dim: 1, URL: "ftp://x"}, {API: "openai", Model: "m", Dim: 1, URL: "::"},
		{API: "openai", Model: "m", Dim: 1, URL: "http://example.com/v1"}, {API: "ollama", Model: "m", Dim: 1, URL: "http://192.168.0.1:11434"},
	} {
		if e, err := NewRemote(o); err == nil {
			t.Errorf("%+v is taken: %v", o, e.ID())
		}
	}
	for answer, want := range map[string]string{
		`{`: "answer", `{}`: "0 vectors for 1", `{"embeddings":[[1,2]]}`: "2 numbers, not 3", `{"embeddings":[[1,2,3],[1,2,3]]}`: "2 vectors",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }))
		e, err := NewRemote(RemoteOptions{API: "ollama", URL: s.URL, Model: "m", Dim: 3})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Embed(t.Context(), ForQuery, []string{"x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
		s.Close()
	}
	// A redirect is not followed.
	var asked atomic.Int64
	target := embeddingServer(t, 3, &asked, nil)
	s := httptest.NewServer(http.RedirectHandler(target.URL+"/api/embed", http.StatusTemporaryRedirect))
	defer s.Close()
	e, err := NewRemote(RemoteOptions{API: "ollama", URL: s.URL, Model: "m", Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), ForQuery, []string{"x"}); err == nil || asked.Load() != 0 {
		t.Errorf("a redirect: %v, asked %d times", err, asked.Load())
	}
}

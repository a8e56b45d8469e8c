package retrieval

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
	"callgate/rag"
)

// rig is a service over real folders that records what it tells.
type rig struct {
	*Service
	root, indexes string

	mu   sync.Mutex
	told map[string][]rag.EventKind // by session
	last rag.Event                  // of progress
	log  bytes.Buffer
}

func start(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	r := &rig{root: t.TempDir(), indexes: t.TempDir(), told: map[string][]rag.EventKind{}}
	write(t, r.root, map[string]string{
		"auth/token.go": "package auth\n\n// refreshToken renews the access token.\nfunc refreshToken() error { return nil }\n",
		"notes.md":      "# Gardening\n\nTulips are planted in autumn.\n",
		"secret.txt":    "The combination of the safe is 1234.\n",
	})
	o := Options{
		Indexes: r.indexes, Rules: func() string { return "1" },
		Denied: func(string) (func(string) bool, error) {
			return func(path string) bool { return filepath.Base(path) == "secret.txt" }, nil
		},
		Tell: func(session string, e rag.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told[session] = append(r.told[session], e.Kind)
			if e.Kind == rag.EventProgress {
				r.last = e
			}
		},
		Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	r.Service = New(o)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rig) best(t *testing.T, session, query string) string {
	t.Helper()
	answer, err := r.Search(t.Context(), session, rag.Query{Text: query})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Hits) == 0 {
		return ""
	}
	return answer.Hits[0].Path
}

func TestSearch(t *testing.T) {
	r := start(t, nil)
	r.Opened("s1", []string{r.root})
	if got := r.best(t, "s1", "when to plant tulips"); got != "notes.md" {
		t.Errorf("found %q", got)
	}
	if got := r.best(t, "s1", "combination of the safe"); got == "secret.txt" {
		t.Error("a denied file is found")
	}
	if _, err := r.Search(t.Context(), "s2", rag.Query{Text: "x"}); !errors.Is(err, ErrSession) {
		t.Errorf("another session: %v", err)
	}
	r.mu.Lock()
	told, last := r.told["s1"], r.last
	r.mu.Unlock()
	if !slices.Contains(told, rag.EventStart) || !slices.Contains(told, rag.EventDone) {
		t.Errorf("told %v", told)
	}
	if last.Indexed != last.Total || last.Total != 2 {
		t.Errorf("progress ends at %d of %d", last.Indexed, last.Total)
	}
	r.Closed("s1")
	if _, err := r.Search(t.Context(), "s1", rag.Query{Text: "x"}); !errors.Is(err, ErrSession) {
		t.Errorf("after it ended: %v", err)
	}
}

// TestShared checks that sessions of one folder share its index, and that a second process is served while both watch.
func TestShared(t *testing.T) {
	watch := func(o *Options) { o.Watch = true }
	r := start(t, watch)
	r.Opened("s1", []string{r.root})
	r.Opened("s2", []string{r.root})
	if len(r.spaces) != 1 {
		t.Errorf("%d workspaces", len(r.spaces))
	}
	other := start(t, func(o *Options) { watch(o); o.Indexes = r.indexes })
	other.Opened("s3", []string{r.root})
	for _, s := range []struct {
		r       *rig
		session string
	}{{r, "s1"}, {r, "s2"}, {other, "s3"}} {
		if got := s.r.best(t, s.session, "refreshToken"); got != "auth/token.go" {
			t.Errorf("%s finds %q", s.session, got)
		}
	}
	r.Closed("s1")
	write(t, r.root, map[string]string{"new.md": "# Beekeeping\n\nBees sleep in winter.\n"})
	changed := time.Now()
	for r.best(t, "s2", "beekeeping") != "new.md" || other.best(t, "s3", "beekeeping") != "new.md" {
		if time.Since(changed) > waits.Limit {
			t.Fatal("a new file is not found")
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("found after %s", time.Since(changed))
}

func TestRoots(t *testing.T) {
	home := t.TempDir()
	inside := filepath.Join(home, "src")
	for _, c := range []struct {
		configured, named []string
		byDefault         string
		want              string
	}{
		{nil, []string{inside}, home, inside},
		{nil, nil, inside, inside},
		{nil, nil, home, ""},
		{nil, []string{home}, "", ""},
		{nil, []string{string(filepath.Separator)}, "", ""},
		{[]string{home}, []string{inside}, "", home},
		{nil, []string{inside, filepath.Join(inside, "deep"), inside}, "", inside},
		{nil, []string{filepath.Join(home, "ab"), filepath.Join(home, "a")}, "", filepath.Join(home, "ab") + " " + filepath.Join(home, "a")},
	} {
		s := New(Options{Roots: c.configured, Default: c.byDefault, Home: home})
		if got := strings.Join(s.roots(c.named), " "); got != c.want {
			t.Errorf("configured %q, named %q, default %q: %q, want %q", c.configured, c.named, c.byDefault, got, c.want)
		}
	}
	r := start(t, nil)
	r.Opened("s1", nil)
	if _, err := r.Search(t.Context(), "s1", rag.Query{Text: "x"}); !errors.Is(err, ErrNoWorkspace) {
		t.Errorf("without a workspace: %v", err)
	}
	r.Opened("s1", []string{r.root})
	if got := r.best(t, "s1", "tulips"); got != "notes.md" {
		t.Errorf("after the host named its folder: %q", got)
	}
	r.Opened("s1", []string{filepath.Join(r.root, "none")})
	if _, err := r.Search(t.Context(), "s1", rag.Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "cannot be searched") {
		t.Errorf("of a folder that is not there: %v", err)
	}
}

// TestVeto checks that a file that a session's profile denies is left out for that session only.
func TestVeto(t *testing.T) {
	r := start(t, func(o *Options) {
		o.Veto = func(session, _, path string) bool { return session == "careful" && strings.HasSuffix(path, ".go") }
	})
	r.Opened("careful", []string{r.root})
	r.Opened("s1", []string{r.root})
	if got := r.best(t, "careful", "refreshToken"); got == "auth/token.go" {
		t.Error("a vetoed file is found")
	}
	if got := r.best(t, "s1", "refreshToken"); got != "auth/token.go" {
		t.Errorf("another session finds %q", got)
	}
	if _, _, err := r.AddDocument(t.Context(), "careful", "x", map[string]string{"source": "auth/token.go"}); !errors.Is(err, ErrDenied) {
		t.Errorf("a document from a vetoed file: %v", err)
	}
}

// TestDamaged checks that an index damaged while open is rebuilt and never served.
func TestDamaged(t *testing.T) {
	r := start(t, nil)
	r.Opened("s1", []string{r.root})
	r.best(t, "s1", "x")
	dir, err := rag.Dir(r.indexes, r.root)
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "manifest")
	if err := os.WriteFile(manifest, []byte("callgate index 00000000\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Search(t.Context(), "s1", rag.Query{Text: "tulips"}); err == nil || !strings.Contains(err.Error(), "damaged and is being built again") {
		t.Fatalf("searching says %v", err)
	}
	for end := time.Now().Add(waits.Limit); ; time.Sleep(10 * time.Millisecond) {
		answer, err := r.Search(t.Context(), "s1", rag.Query{Text: "tulips"})
		if err == nil && len(answer.Hits) > 0 && answer.Hits[0].Path == "notes.md" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it is not built again: %v, %v", answer, err)
		}
	}
}

// TestCloseWaitsForRepair closes the service while searches have a damaged index rebuilt.
func TestCloseWaitsForRepair(t *testing.T) {
	r := start(t, nil)
	r.Opened("s1", []string{r.root})
	r.best(t, "s1", "x")
	dir, err := rag.Dir(r.indexes, r.root)
	if err != nil {
		t.Fatal(err)
	}
	space := r.spaces[r.root]
	space.controlling.Lock() // nothing can be rebuilt yet
	if err := os.WriteFile(filepath.Join(dir, "manifest"), []byte("callgate index 00000000\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := r.Search(t.Context(), "s1", rag.Query{Text: "tulips"}); err == nil {
			t.Fatal("a damaged index is searched")
		}
	}
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	space.controlling.Unlock()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; strings.Contains(string(stacks), ").restart(") {
		t.Errorf("after Close it is still built again:\n%s", stacks)
	}
}

func TestControl(t *testing.T) {
	r := start(t, nil)
	r.Opened("s1", []string{r.root})
	r.best(t, "s1", "x")
	state := func(statuses []Status, err error) string {
		t.Helper()
		if err != nil || len(statuses) != 1 {
			t.Fatalf("%v, %v", statuses, err)
		}
		return statuses[0].State
	}
	if got := state(r.Statuses("")); got != Ready {
		t.Errorf("it is %s", got)
	}
	if got := state(r.Clear(t.Context(), "s1", r.root)); got != Cleared {
		t.Errorf("after Clear it is %s", got)
	}
	answer, err := r.Search(t.Context(), "s1", rag.Query{Text: "tulips"})
	if err != nil || len(answer.Hits) > 0 || !strings.Contains(answer.Note, "cleared") {
		t.Errorf("after Clear it finds %v, %v", answer, err)
	}
	if got := state(r.Reindex("s1", "", true)); got != Indexing && got != Ready {
		t.Errorf("after Reindex it is %s", got)
	}
	if got := r.best(t, "s1", "tulips"); got != "notes.md" {
		t.Errorf("after Reindex it finds %q", got)
	}
	if got := state(r.Cancel("s1", "")); got != Ready {
		t.Errorf("after a Cancel that came too late it is %s", got)
	}
	if _, err := r.Reindex("s1", "/elsewhere", false); !errors.Is(err, ErrNoWorkspace) {
		t.Errorf("another folder: %v", err)
	}
}

func TestKnowledgeBases(t *testing.T) {
	kb := t.TempDir()
	r := start(t, func(o *Options) { o.KB = kb })
	r.Opened("s1", []string{r.root})
	r.Opened("s2", []string{r.root})
	id, _, err := r.AddDocument(t.Context(), "s1", "The kettle is blue.", map[string]string{"topic": "kitchen"})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := r.Documents("s2"); err != nil || len(list) != 1 || list[0].DocumentID != id {
		t.Errorf("another session of the worker: %v, %v", list, err)
	}
	if err := os.Symlink("secret.txt", filepath.Join(r.root, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, metadata := range []map[string]string{
		{"path": "secret.txt"}, {"Source": filepath.Join(r.root, "secret.txt")}, {"uri": "file://" + filepath.ToSlash(filepath.Join(r.root, "secret.txt"))},
		{"file": "link.txt"}, {"filename": filepath.Join(r.root, "link.txt")},
	} {
		if _, _, err := r.AddDocument(t.Context(), "s1", "1234", metadata); !errors.Is(err, ErrDenied) {
			t.Errorf("a document from %v: %v", metadata, err)
		}
	}
	for _, metadata := range []map[string]string{{"source": "https://example.com/secret.txt"}, {"path": "notes.md"}, {"topic": "secret.txt"}} {
		if _, _, err := r.AddDocument(t.Context(), "s1", "fine", metadata); err != nil {
			t.Errorf("a document from %v: %v", metadata, err)
		}
	}

	mine := start(t, nil)
	mine.Opened("s1", nil)
	mine.Opened("s2", nil)
	if _, _, err := mine.AddDocument(t.Context(), "s1", "The kettle is blue.", nil); err != nil {
		t.Fatal(err)
	}
	if list, err := mine.Documents("s2"); err != nil || len(list) != 0 {
		t.Errorf("another session's own: %v, %v", list, err)
	}
	mine.Closed("s1")
	mine.Opened("s1", nil)
	if list, err := mine.Documents("s1"); err != nil || len(list) != 0 {
		t.Errorf("after the session: %v, %v", list, err)
	}
}

// TestBudget checks that no answer exceeds its tokens, and that it says what was left out.
func TestBudget(t *testing.T) {
	answer := Answer{}
	for range 50 {
		answer.Hits = append(answer.Hits, Hit{Root: "/w", Hit: rag.Hit{Path: "a.go", Start: 1, End: 9, Text: strings.Repeat("line of code\n", 30)}})
	}
	for _, note := range []string{"", strings.Repeat("note ", 80), strings.Repeat("note ", 300)} {
		answer.Note = note
		for _, tokens := range []int{1, 200, 1000, 4000} {
			text := answer.forModel(tokens)
			if limit := int(float64(max(tokens, minTokens))*bytesPerToken) + 60; len(text) > max(limit, len(note)+110) {
				t.Errorf("%d tokens: %d bytes, more than %d", tokens, len(text), limit)
			}
			if !strings.Contains(text, "left out") || !strings.Contains(text, "line of code") && len(note) < 1000 {
				t.Errorf("%d tokens: %q", tokens, text)
			}
		}
	}
	b, total := newBudget(0), 0
	for range 50 {
		source, text := strings.Repeat("folder/", 50)+"a.go", "line of code\n"
		if got := b.cut(source, text); got != "" {
			total += len(source) + len(got)
		}
	}
	if limit := int(defaultTokens * bytesPerToken); total > limit {
		t.Errorf("passages take %d bytes, more than %d", total, limit)
	}
	fenced := Hit{Hit: rag.Hit{Text: "a\n```\nb"}}
	if body := fenced.body(); !strings.HasPrefix(body, "````") || !strings.HasSuffix(body, "````") {
		t.Errorf("text with a fence is shown as %q", body)
	}
}

func TestContextPrompt(t *testing.T) {
	r := start(t, nil)
	r.Opened("s1", []string{r.root})
	if _, _, err := r.AddDocument(t.Context(), "s1", "Spades hang in the shed.", nil); err != nil {
		t.Fatal(err)
	}
	text, err := r.ContextPrompt(t.Context(), "s1", "Where are spades, and when are tulips planted?", 0)
	if err != nil || !strings.Contains(text, "in the shed") || !strings.Contains(text, "in autumn") || !strings.HasSuffix(text, "Question: Where are spades, and when are tulips planted?") {
		t.Errorf("%q, %v", text, err)
	}
	r.Opened("empty", []string{t.TempDir()})
	if text, err := r.ContextPrompt(t.Context(), "empty", "Why?", 0); err != nil || text != "Why?" {
		t.Errorf("with nothing to say: %q, %v", text, err)
	}
}

// TestRecallOnlyWhatIsAskedAbout checks that a question is searched for, but no greeting, though files have its words.
func TestRecallOnlyWhatIsAskedAbout(t *testing.T) {
	r := start(t, nil)
	write(t, r.root, map[string]string{"hello.go": "package p\n\n// hello says hello to you, and thanks, what time it is.\nfunc hello() string { return \"hello, how are you\" }\n"})
	r.Opened("s1", []string{r.root})
	for message, want := range map[string]bool{
		"hello?": false, "Hi!": false, "thanks!": false, "what time is it": false, "Who are you?": false, "How's it going?": false,
		"Is it going to rain in Lisbon tomorrow?": false, "": false,
		"When are tulips planted?": true, "refreshToken": true, "Where do we renew the access token?": true,
	} {
		found, err := r.Recall(t.Context(), "s1", message, 0)
		if (len(found) > 0) != want || (err != nil) != (message == "") {
			t.Errorf("%q: %+v, %v", message, found, err)
		}
	}
}

// TestClosesWhileIndexing checks that sessions that come and go during indexing leave nothing behind.
func TestClosesWhileIndexing(t *testing.T) {
	r := start(t, func(o *Options) { o.Watch = true })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			id := string(rune('a' + i))
			for range 5 {
				r.Opened(id, []string{r.root})
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				_, _ = r.Search(ctx, id, rag.Query{Text: "tulips"}) // ctx may end first
				cancel()
				_, _ = r.Reindex(id, "", i%2 == 0)
				r.Closed(id)
			}
		})
	}
	all.Wait()
	if len(r.spaces) != 0 || len(r.sessions) != 0 {
		t.Errorf("%d workspaces and %d sessions are left", len(r.spaces), len(r.sessions))
	}
}

// TestStaleHitsForModels checks that a model is told that a file has changed or is gone, and gets none of its lines.
func TestStaleHitsForModels(t *testing.T) {
	answer := Answer{Hits: []Hit{
		{"/w", rag.Hit{Path: "a.go", Symbol: "f", Stale: true}},
		{"/w", rag.Hit{Path: "b.go", Stale: true, Gone: true}},
	}}
	want := filepath.FromSlash("/w/a.go") + "  f\n(the file has changed since it was indexed: read it)\n\n" +
		filepath.FromSlash("/w/b.go") + "\n(the file was deleted since it was indexed)"
	if got := answer.forModel(0); got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
}

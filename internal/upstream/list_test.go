package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

var listCases = []struct {
	name  string
	pages []string
	keys  string
	err   string // of the first refused page
	cut   string
	log   string
}{
	{name: "one page", pages: []string{`{"tools":[{"name":"a","x":1.0}, {"name":"b"}],"_meta":{}}`}, keys: "a,b"},
	{name: "empty", pages: []string{`{"tools":[]}`}},
	{name: "two pages, empty cursor", pages: []string{`{"tools":[{"name":"a"}],"nextCursor":""}`, `{"tools":[{"name":"b"}],"nextCursor":null}`}, keys: "a,b"},
	{name: "same cursor twice", pages: []string{`{"tools":[{"name":"a"}],"nextCursor":"x"}`, `{"tools":[{"name":"b"}],"nextCursor":"x"}`}, keys: "a,b", cut: "same cursor"},
	{name: "name twice", pages: []string{`{"tools":[{"name":"a","v":1},{"name":"a","v":2}]}`}, keys: "a", log: "another one has the same name"},
	{name: "name twice, spelled otherwise", pages: []string{`{"tools":[{"name":"a"},{"name":"\u0061"}]}`}, keys: "a", log: "another one"},
	{name: "not an object", pages: []string{`{"tools":[null,7,"x",[],{"name":"a"}]}`}, keys: "a", log: "not a JSON object"},
	{name: "no name", pages: []string{`{"tools":[{},{"name":""},{"name":7},{"name":"a"}]}`}, keys: "a", log: "has no name"},
	{name: "two names", pages: []string{`{"tools":[{"name":"a","name":"b"},{"name":"c","Name":"d"},{"name":"e"}]}`}, keys: "e", log: "named like"},
	{name: "escape sequences", pages: []string{`{"tools":[{"title":"\u202e` + "\x7f" + `"}]}`}, log: "has no name"},
	{name: "no list", pages: []string{`{}`}, err: `no "tools"`},
	{name: "list is no list", pages: []string{`{"tools":{"name":"a"}}`}, err: "not an array"},
	{name: "list twice", pages: []string{`{"tools":[],"Tools":[{"name":"a"}]}`}, err: "named like"},
	{name: "result is no object", pages: []string{`[]`}, err: "not a JSON object"},
	{name: "cursor is no string", pages: []string{`{"tools":[],"nextCursor":7}`}, err: "not a string"},
}

func TestListPages(t *testing.T) {
	t.Parallel()
	for _, c := range listCases {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			r := newListReader(Tools, slog.New(slog.NewTextHandler(&log, nil)))
			for i, page := range c.pages {
				cursor, err := r.add([]byte(page))
				if c.err != "" {
					if err == nil || !strings.Contains(err.Error(), c.err) {
						t.Fatalf("error = %v, want one that says %q", err, c.err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if more := i < len(c.pages)-1; (cursor != nil) != more {
					t.Errorf("page %d: cursor %s", i, cursor)
				}
			}
			if got := keys(r.list); got != c.keys || r.list.Pages != len(c.pages) || string(r.list.Envelope) != c.pages[0] {
				t.Errorf("got %s of %d pages, envelope %s", got, r.list.Pages, r.list.Envelope)
			}
			if !strings.Contains(r.list.Truncated, c.cut) || (c.cut == "") != (r.list.Truncated == "") {
				t.Errorf("truncated: %q", r.list.Truncated)
			}
			if !strings.Contains(log.String(), c.log) || c.log == "" && c.cut == "" && log.Len() > 0 {
				t.Errorf("log: %s", &log)
			}
			for _, item := range r.list.Items {
				if !strings.Contains(strings.Join(c.pages, ""), string(item.Raw)) {
					t.Errorf("%s is not as the server sent it", item.Raw)
				}
			}
		})
	}
}

func TestListBounds(t *testing.T) {
	t.Parallel()
	discard := slog.New(slog.DiscardHandler)
	t.Run("entries", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(`{"tools":[{"name":"first"}`)
		for i := range maxItems + 5 {
			fmt.Fprintf(&b, `,{"name":"t%d"}`, i)
		}
		b.WriteString(`],"nextCursor":"more"}`)
		r := newListReader(Tools, discard)
		cursor, err := r.add([]byte(b.String()))
		if err != nil || cursor != nil || len(r.list.Items) != maxItems || !strings.Contains(r.list.Truncated, "entries") {
			t.Errorf("%d items, %q, cursor %s, %v", len(r.list.Items), r.list.Truncated, cursor, err)
		}
	})
	t.Run("pages", func(t *testing.T) {
		r := newListReader(Tools, discard)
		pages := 0
		for cursor := []byte(`""`); cursor != nil; pages++ {
			var err error
			if cursor, err = r.add(fmt.Appendf(nil, `{"tools":[{"name":"t%d"}],"nextCursor":"%d"}`, pages, pages)); err != nil {
				t.Fatal(err)
			}
		}
		if pages != maxPages || len(r.list.Items) != maxPages || !strings.Contains(r.list.Truncated, "pages") {
			t.Errorf("%d pages, %d items, %q", pages, len(r.list.Items), r.list.Truncated)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		r := newListReader(Tools, discard)
		pages := 0
		filler := strings.Repeat("f", 1<<20)
		for cursor := []byte(`""`); cursor != nil; pages++ {
			var err error
			if cursor, err = r.add(fmt.Appendf(nil, `{"tools":[],"f":%q,"nextCursor":"%d"}`, filler, pages)); err != nil {
				t.Fatal(err)
			}
		}
		if pages > maxBytes>>20+1 || !strings.Contains(r.list.Truncated, "bytes") {
			t.Errorf("%d pages, %q", pages, r.list.Truncated)
		}
	})
}

func FuzzListPages(f *testing.F) {
	for _, c := range listCases {
		f.Add(strings.Join(c.pages, "\n"))
	}
	discard := slog.New(slog.DiscardHandler)
	f.Fuzz(func(t *testing.T, text string) {
		r := newListReader(Tools, discard)
		var pages [][]byte
		for page := range bytes.SplitSeq([]byte(text), []byte("\n")) {
			cursor, err := r.add(page)
			if err != nil {
				return
			}
			pages = append(pages, page)
			if cursor == nil {
				break
			}
		}
		seen := map[string]bool{}
		for _, item := range r.list.Items {
			if item.Key == "" || seen[item.Key] || !json.Valid(item.Raw) {
				t.Errorf("item %q: %q", item.Key, item.Raw)
			}
			seen[item.Key] = true
		}
		again, err := parseList(Tools, pages, discard)
		if err != nil || !again.same(r.list) {
			t.Errorf("read again: %v, %v", again, err)
		}
	})
}

func FuzzInfo(f *testing.F) {
	f.Add(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"a"},"instructions":"x"}`)
	f.Add(`{"protocolVersion":"2025-06-18","capabilities":{"tools":null}}`)
	f.Add(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"Tools":{}}}`)
	f.Add(`{"protocolVersion":7}`)
	f.Fuzz(func(t *testing.T, text string) {
		info, err := parseInfo([]byte(text))
		if err != nil {
			return
		}
		if !strings.Contains(text, string(info.Capabilities)) || info.Declares(Resources) != info.Declares(Templates) {
			t.Errorf("parseInfo(%q) = %+v", text, info)
		}
	})
}

func TestListsAreFetchedAndFollowed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{Pages: map[string][]string{
		"tools/list":     {`{"tools":[{"name":"a"}],"nextCursor":""}`, `{"tools":[{"name":"b"}],"nextCursor":"2"}`, `{"tools":[{"name":"c"}]}`},
		"resources/list": {`{"resources":[{"uri":"file:///x"}]}`},
	}}), Options{Events: h.events()})
	if _, known := u.Lists.Known(Tools); known {
		t.Error("known before anybody asked")
	}
	for k, want := range map[Kind]string{Tools: "a,b,c", Resources: "file:///x", Templates: "", Prompts: ""} {
		list, err := u.Lists.Fresh(short(t), k)
		if err != nil || keys(list) != want {
			t.Errorf("%v = %s, %v", k, keys(list), err)
		}
		h.wait("list " + k.String() + " " + want)
	}

	call(t, u, "change", `{"n":5}`)
	h.wait("list tools changed")
	if list, known := u.Lists.Known(Tools); !known || keys(list) != "changed" {
		t.Errorf("tools = %s", keys(list))
	}
	call(t, u, "change", `{"n":1}`) // the same list again
	time.Sleep(4 * minSettle)
	for _, line := range h.all() {
		if strings.HasPrefix(line, "list") {
			t.Errorf("superfluous event %q", line)
		}
	}
}

func TestEveryListIsFollowed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{
		Pages: map[string][]string{
			"prompts/list":             {`{"prompts":[{"name":"p"}]}`},
			"resources/list":           {`{"resources":[{"uri":"r"}]}`},
			"resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"t"}]}`},
		},
		Late: map[string][]string{
			"prompts/list":             {`{"prompts":[{"name":"p","v":2}]}`},
			"resources/list":           {`{"resources":[]}`},
			"resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"t"},{"uriTemplate":"u"}]}`},
		},
	}), Options{Events: h.events()})
	h.wait("list prompts p")
	h.wait("list resources r")
	h.wait("list resource templates t")
	for _, method := range []string{"notifications/prompts/list_changed", "notifications/resources/list_changed"} {
		call(t, u, "say", encode(map[string]string{"line": `{"jsonrpc":"2.0","method":"` + method + `"}`}))
	}
	h.wait("list prompts p")
	h.wait("list resources ")
	h.wait("list resource templates t,u")
}

func TestListThatGrowsRightAfterTheHandshake(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{
		Announce: 4,
		Pages:    map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}},
		Late:     map[string][]string{"tools/list": {`{"tools":[{"name":"a"},{"name":"b"}]}`}},
	}), Options{Events: h.events()})
	h.wait("list tools a,b")
	if _, err := u.Lists.Fresh(short(t), Tools); err != nil {
		t.Error(err)
	}
}

func TestListThatFailsIsFetchedAgain(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{
		Pages: map[string][]string{"tools/list": {`{"tools":7}`}},
		Late:  map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}},
	}), Options{})
	for deadline := time.Now().Add(waits.Limit); ; {
		list, err := u.Lists.Fresh(short(t), Tools)
		if err == nil {
			if keys(list) != "a" {
				t.Errorf("tools = %s", keys(list))
			}
			return
		}
		if !strings.Contains(err.Error(), "not an array") || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestEndlessList(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{Loop: "tools/list"}), Options{})
	list, err := u.Lists.Fresh(short(t), Tools)
	if err != nil || list.Pages != maxPages || list.Truncated == "" {
		t.Errorf("%d pages, %q, %v", list.Pages, list.Truncated, err)
	}
}

func cacheFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "upstreams", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheKnowsTheServerBeforeItRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := `{"tools":[{"name":"a","html":"<b> &  \u003c","n":1.0}] ,"_meta":{}}`
	cfg := configOf(t, behaviour{Pages: map[string][]string{"tools/list": {page}, "prompts/list": {`{"prompts":[]}`}}})
	h := newHost(t)
	u := open(t, cfg, Options{CacheDir: dir, Events: h.events()})
	for _, k := range Kinds {
		if _, err := u.Lists.Fresh(short(t), k); err != nil {
			t.Fatal(err)
		}
		h.wait("list " + k.String())
	}
	want, _ := u.Info()
	u.Close()
	files := cacheFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	h = newHost(t)
	u = New(cfg, Options{CacheDir: dir, Events: h.events()})
	defer u.Close()
	u.Start(hello)
	if s := u.Status().State; s == Ready {
		t.Errorf("state = %v", s)
	}
	list, known := u.Lists.Known(Tools)
	if !known || keys(list) != "a" || string(list.Envelope) != page {
		t.Errorf("from the cache: %s, %v", list.Envelope, known)
	}
	if info, ok := u.Info(); !ok || !bytes.Equal(info.Raw, want.Raw) {
		t.Errorf("from the cache: %+v", info)
	}
	if list, known := u.Lists.Known(Templates); !known || len(list.Items) != 0 {
		t.Errorf("a list that the server does not have: %+v, %v", list, known)
	}
	if _, err := u.Lists.Fresh(short(t), Tools); err != nil {
		t.Error(err)
	}
	for _, line := range h.all() {
		if strings.HasPrefix(line, "list") {
			t.Errorf("event %q though nothing changed", line)
		}
	}

	other := cfg
	other.Env = append([]string{"TOKEN=other"}, cfg.Env...)
	o := open(t, other, Options{CacheDir: dir})
	if _, known := o.Lists.Known(Tools); known {
		t.Error("another environment shares the cache")
	}
}

func TestCacheOfAnotherHostServesUntilTheServerHasSpoken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := configOf(t, behaviour{Pages: map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}}})
	first := open(t, cfg, Options{CacheDir: dir})
	if _, err := first.Lists.Fresh(t.Context(), Tools); err != nil {
		t.Fatal(err)
	}
	first.Close()

	second := New(cfg, Options{CacheDir: dir})
	t.Cleanup(second.Close)
	other := hello
	other.Capabilities = []byte(`{"roots":{}}`)
	second.Start(other)
	if list, known := second.Lists.Known(Tools); !known || len(list.Items) != 1 {
		t.Errorf("a host with other capabilities gets %d tools, known %v", len(list.Items), known)
	}
}

func TestCacheOfAnotherReplica(t *testing.T) {
	t.Parallel()
	here, there := t.TempDir(), t.TempDir()
	cfg := configOf(t, behaviour{Pages: map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}}})
	u := open(t, cfg, Options{CacheDir: there})
	if _, err := u.Lists.Fresh(short(t), Tools); err != nil {
		t.Fatal(err)
	}
	u.Close()
	servers, err := CachedIn(there).Servers()
	if err != nil || len(servers) != 1 {
		t.Fatalf("%d servers, %v", len(servers), err)
	}

	own := newCache(here)
	own.load(cfg, hello, slog.New(slog.DiscardHandler))
	own.update(func(r *record) bool { r.Failure = &failure{At: time.Now(), Reason: "of here"}; return true })
	cached := CachedIn(here)
	if held, err := cached.Servers(); err != nil || len(held) != 1 || strings.Join(slices.Collect(maps.Values(held)), "") != "" {
		t.Errorf("a failure alone is shared: %v, %v", held, err)
	}
	before, _ := cached.Version()
	for key, text := range servers {
		if err := cached.Put(key, text); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"../" + key, "", "a/b", `a\b`, "key.json"} {
			if err := cached.Put(bad, text); err == nil {
				t.Errorf("%q is a key", bad)
			}
		}
		if err := cached.Put(key, `{"format":99}`); err == nil {
			t.Error("another format is kept")
		}
	}
	if after, err := cached.Version(); err != nil || after == before {
		t.Errorf("version %s is %s still, %v", before, after, err)
	}
	if held, err := cached.Servers(); err != nil || !maps.Equal(held, servers) {
		t.Errorf("it gives back %v, %v", held, err)
	}
	u = New(cfg, Options{CacheDir: here})
	u.Start(hello)
	if list, known := u.Lists.Known(Tools); !known || keys(list) != "a" {
		t.Errorf("from the other replica: %+v, %v", list, known)
	}
	if reason, _, failed := u.LastFailure(); !failed || reason != "of here" {
		t.Errorf("the last start here: %q, %v", reason, failed)
	}
	u.Close()
	for key, text := range servers {
		if err := os.WriteFile(filepath.Join(here, "upstreams", key+".json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if held, err := cached.Servers(); err != nil || !maps.Equal(held, map[string]string{key: ""}) {
			t.Errorf("a damaged file: %v, %v", held, err)
		}
		if err := cached.Put(key, text); err != nil {
			t.Error(err)
		}
		if err := errors.Join(cached.Remove(key), cached.Remove(key)); err != nil {
			t.Error(err)
		}
	}
	if files := cacheFiles(t, here); len(files) != 0 {
		t.Errorf("files: %q", files)
	}
}

func TestCacheThatIsDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := configOf(t, behaviour{Pages: map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}}})
	key, err := cacheKey(cfg, hello)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "upstreams", key+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no JSON":           "\x00\x01",
		"empty":             "",
		"cut":               `{"format":1,"initialize":"e30`,
		"other format":      `{"format":99}`,
		"format twice":      `{"format":99,"format":1}`,
		"unknown member":    `{"format":1,"evil":true}`,
		"pages are no list": `{"format":1,"initialize":"e30=","lists":{"tools":["e30="]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			h := newHost(t)
			u := open(t, cfg, Options{CacheDir: dir, Events: h.events()})
			if list, known := u.Lists.Known(Tools); known {
				t.Errorf("known: %s", keys(list))
			}
			if list, err := u.Lists.Fresh(short(t), Tools); err != nil || keys(list) != "a" {
				t.Errorf("tools = %s, %v", keys(list), err)
			}
			h.wait("list tools a")
			u.Close()
			rec, err := readRecord(path)
			if err != nil || len(rec.Lists["tools"]) != 1 {
				t.Errorf("rewritten as %+v, %v", rec, err)
			}
			if files := cacheFiles(t, dir); len(files) != 1 {
				t.Errorf("files: %q", files)
			}
		})
	}
}

func TestCacheThatCannotBeWrittenCostsNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u := open(t, configOf(t, behaviour{Pages: map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}}}), Options{CacheDir: file})
	if list, err := u.Lists.Fresh(short(t), Tools); err != nil || keys(list) != "a" {
		t.Errorf("tools = %s, %v", keys(list), err)
	}
}

func TestCacheRemembersThatTheServerDidNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := configOf(t, behaviour{Start: "exit"})
	u := open(t, cfg, Options{CacheDir: dir})
	if _, _, failed := u.LastFailure(); failed {
		t.Error("failed before it was tried")
	}
	if _, err := u.Ready(short(t)); err == nil {
		t.Fatal("it started")
	}
	u.Close()

	u = open(t, cfg, Options{CacheDir: dir})
	if reason, at, failed := u.LastFailure(); !failed || reason != "exit status 3" || time.Since(at) > time.Minute {
		t.Errorf("LastFailure = %q, %v, %v", reason, at, failed)
	}
}

func TestCacheForgetsWhatNobodyUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := configOf(t, behaviour{Start: "exit"})
	key, err := cacheKey(cfg, hello)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * keepUnused)
	if err := os.MkdirAll(filepath.Join(dir, "upstreams"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{key + ".json": old, "aa.json": old, "1.tmp": old, "bb.json": time.Now()} {
		path := filepath.Join(dir, "upstreams", name)
		if err := os.WriteFile(path, []byte(`{"format":1,"failure":{"at":"2026-01-01T00:00:00Z","reason":"r"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	c := newCache(dir)
	if rec := c.load(cfg, hello, slog.New(slog.DiscardHandler)); rec.Failure == nil || rec.Failure.Reason != "r" {
		t.Errorf("the file in use was not read: %+v", rec)
	}
	var left []string
	for _, path := range cacheFiles(t, dir) {
		left = append(left, filepath.Base(path))
	}
	if len(left) != 2 || !strings.Contains(strings.Join(left, " "), "bb.json") || !strings.Contains(strings.Join(left, " "), key) {
		t.Errorf("left: %q", left)
	}
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	base := Config{Name: "n", Command: "c", Args: []string{"a", "b"}, Env: []string{"A=1", "B=2"}, Dir: "/d"}
	same := base
	same.Name, same.Env, same.StartTimeout = "m", []string{"B=2", "A=1"}, time.Hour
	vary := func(change func(*Config, *Hello)) string {
		cfg, h := base, hello
		change(&cfg, &h)
		key, err := cacheKey(cfg, h)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	first := vary(func(*Config, *Hello) {})
	if got := vary(func(c *Config, _ *Hello) { *c = same }); got != first {
		t.Error("name, timeouts and the order of the environment are no part of the key")
	}
	seen := map[string]string{first: "base"}
	for name, change := range map[string]func(*Config, *Hello){
		"command":      func(c *Config, _ *Hello) { c.Command = "d" },
		"args":         func(c *Config, _ *Hello) { c.Args = []string{"a b"} },
		"arg order":    func(c *Config, _ *Hello) { c.Args = []string{"b", "a"} },
		"dir":          func(c *Config, _ *Hello) { c.Dir = "/e" },
		"env value":    func(c *Config, _ *Hello) { c.Env = []string{"A=1", "B=3"} },
		"env name":     func(c *Config, _ *Hello) { c.Env = []string{"A=1", "C=2"} },
		"inherit":      func(c *Config, _ *Hello) { c.InheritEnv = true },
		"version":      func(_ *Config, h *Hello) { h.ProtocolVersion = "2025-11-25" },
		"capabilities": func(_ *Config, h *Hello) { h.Capabilities = nil },
	} {
		key := vary(change)
		if other, dup := seen[key]; dup {
			t.Errorf("%s and %s share a key", name, other)
		}
		seen[key] = name
	}
}

// A server that answers all that it is asked for with one text has two lists in it.
func TestListsOfOneText(t *testing.T) {
	t.Parallel()
	const page = `{"resources":[{"uri":"a:b","uriTemplate":"a:{c}"}],"resourceTemplates":[{"uri":"a:b","uriTemplate":"a:{c}"}]}`
	var kept []*List // as long as somebody holds it
	for _, c := range []struct {
		kind Kind
		key  string
	}{{Resources, "a:b"}, {Templates, "a:{c}"}} {
		list, err := parseList(c.kind, [][]byte{[]byte(page)}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, list.shared(c.kind))
		if got := keys(*kept[len(kept)-1]); got != c.key {
			t.Errorf("%s: %s", c.kind, got)
		}
	}
	runtime.KeepAlive(kept)
}

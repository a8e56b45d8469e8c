package rag

import (
	"reflect"
	"strings"
	"testing"
)

func TestKB(t *testing.T) {
	dir := t.TempDir()
	for _, where := range []string{"", dir} {
		kb, err := OpenKB(where, Options{})
		if err != nil {
			t.Fatal(err)
		}
		hooks, _, err := kb.Add(t.Context(), "React hooks must follow the rules of hooks: call them at the top level, from components only.", map[string]string{"source": "docs", "topic": "react"})
		if err != nil || !strings.HasPrefix(hooks, "doc-") {
			t.Fatal(hooks, err)
		}
		if _, _, err := kb.Add(t.Context(), "Bread needs flour, water, salt and time. "+strings.Repeat("Ünd Zeit. ", 20), nil); err != nil {
			t.Fatal(err)
		}
		long, _, err := kb.Add(t.Context(), strings.Repeat("# Gardens\n\n"+strings.Repeat("Roses want sun and water. ", 40)+"\n\n", 8), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := kb.Add(t.Context(), " \n", nil); err == nil {
			t.Error("a document without content is taken")
		}
		found, err := kb.Search(t.Context(), "rules of hooks", 5, 0.3)
		if err != nil || len(found) != 1 || found[0].DocumentID != hooks || found[0].Metadata["topic"] != "react" || !strings.HasPrefix(found[0].Content, "React") {
			t.Errorf("got %+v, %v", found, err)
		} else if s := found[0].Score; s < 0.3 || s > 1 {
			t.Errorf("score %v", s)
		}
		if found, err = kb.Search(t.Context(), "roses in the sun", 5, 0.3); err != nil || len(found) != 1 || found[0].DocumentID != long {
			t.Errorf("a document of many chunks is found as %d, %v", len(found), err)
		}
		if found, err = kb.Search(t.Context(), "kernel scheduling", 5, 0.5); err != nil || len(found) != 0 {
			t.Errorf("above the threshold is %+v, %v", found, err)
		}
		if found, err = kb.Search(t.Context(), "water", 1, 0); err != nil || len(found) != 1 {
			t.Errorf("limit 1 gives %d, %v", len(found), err)
		}
		list, err := kb.List()
		if err != nil || len(list) != 3 || list[0].DocumentID != hooks || len([]rune(list[1].Preview)) != 100 || list[1].Length != 241 {
			t.Errorf("list %+v, %v", list, err)
		}
		for _, want := range []bool{true, false} {
			if ok, err := kb.Remove(t.Context(), hooks); ok != want || err != nil {
				t.Errorf("removed: %v, %v, want %v", ok, err, want)
			}
		}
		if err := kb.Close(); err != nil {
			t.Fatal(err)
		}
	}
	kb, err := OpenKB(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	if list, err := kb.List(); err != nil || len(list) != 2 {
		t.Errorf("after it was opened again: %+v, %v", list, err)
	}
}

func TestKBShowsThePassage(t *testing.T) {
	kb, err := OpenKB("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	var handbook strings.Builder
	for _, topic := range []string{"holidays", "laptops", "invoices", "badges"} {
		handbook.WriteString("# About " + topic + "\n\n" + strings.Repeat("Everybody has to read what is written on "+topic+". ", 30) + "\n\n")
	}
	handbook.WriteString("# Backups\n\nBackups of the database are kept for 90 days in another region.\n")
	id, _, err := kb.Add(t.Context(), handbook.String(), map[string]string{"path": "a"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := kb.Search(t.Context(), "how long are database backups kept", 5, 0)
	if err != nil || len(found) != 1 || len(found[0].Passages) == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	p := found[0].Passages[0]
	lines := strings.Split(handbook.String(), "\n")
	if !strings.Contains(p.Text, "90 days") || strings.Contains(p.Text, "holidays") || strings.Join(lines[p.Start-1:p.End], "\n") != strings.TrimSuffix(p.Text, "\n") {
		t.Errorf("the passage is %+v", p)
	}

	// A path has one document for a text, whatever format the text came in.
	again, _, err := kb.Add(t.Context(), "\uFEFF"+handbook.String(), map[string]string{"path": "a", "topic": "work"})
	if err != nil || again != id {
		t.Errorf("the same text is %s, and was %s; %v", again, id, err)
	}
	if list, err := kb.List(); err != nil || len(list) != 1 || list[0].Metadata["topic"] != "work" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestKBKeepsADocumentForEachPath checks that a file keeps its document although another file has the same text: when
// the other changes, when it is added without a path, and when an earlier version named the document after its text.
func TestKBKeepsADocumentForEachPath(t *testing.T) {
	kb, err := OpenKB(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	const june, july = "The lease ends in June.", "The lease ends in July."
	if err := kb.Put(t.Context(), Document{ID: idOf("", june), Text: june, Metadata: map[string]string{PathKey: "/earlier"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, path string }{{june, ""}, {june, "/a"}, {june, "/b"}, {july, "/b"}, {june, ""}, {june, "/a"}} {
		if _, _, err := kb.Add(t.Context(), c.text, map[string]string{PathKey: c.path}); err != nil {
			t.Fatal(err)
		}
	}
	docs, err := kb.Documents()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range docs {
		got[d.Metadata[PathKey]] = d.Text
	}
	if want := map[string]string{"": june, "/a": june, "/b": july, "/earlier": june}; len(docs) != 4 || !reflect.DeepEqual(got, want) {
		t.Errorf("there are %q", got)
	}
	if found, err := kb.Search(t.Context(), "when does the lease end", 5, 0.3); err != nil || len(found) != 4 {
		t.Errorf("found %+v, %v", found, err)
	}
	id, replaced, err := kb.Add(t.Context(), july, map[string]string{PathKey: "/earlier"})
	if err != nil || !replaced || id != idOf("/earlier", "") {
		t.Errorf("it is %s, replaced %v, %v", id, replaced, err)
	}
	if docs, err = kb.Documents(); err != nil || len(docs) != 4 {
		t.Errorf("there are %+v, %v", docs, err)
	}
}

// TestKBFindsPartsOfCJK checks that part of a sentence finds it in scripts without spaces.
func TestKBFindsPartsOfCJK(t *testing.T) {
	kb, err := OpenKB("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	ids := map[string]string{}
	for _, text := range []string{
		"数据库的备份保留九十天，存放在另一个地区，由运维团队每周检查一次恢复流程是否可用。",
		"請求書は毎月末に経理部へ送付してください。締め切りを過ぎたものは翌月に処理されます。",
		"노트북은입사첫날에지급되며퇴사할때반납해야합니다",
	} {
		id, _, err := kb.Add(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids[text[:3]] = id
	}
	for query, want := range map[string]string{"备份": "数", "恢复流程": "数", "経理部": "請", "締め切り": "請", "퇴사": "노", "ﾃ請求書": "請"} {
		found, err := kb.Search(t.Context(), query, 1, 0)
		if err != nil || len(found) != 1 || found[0].DocumentID != ids[want] {
			t.Errorf("%s finds %+v, %v", query, found, err)
		}
	}
}

// TestKBVersion checks that the version changes with every change of a document, also by another process, and that Put
// stores a text that looks like HTML unchanged.
func TestKBVersion(t *testing.T) {
	dir := t.TempDir()
	open := func() *KB {
		kb, err := OpenKB(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kb.Close() })
		return kb
	}
	kb, other := open(), open()
	version := func() string {
		v, err := kb.Version()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := version(); v != "" {
		t.Errorf("nothing was written, and the version is %q", v)
	}
	want := Document{ID: "doc-1", Kind: KindNote, Language: "markdown", Text: "<!DOCTYPE html><p>a tag</p>", Metadata: map[string]string{"source": "x"}}
	if err := kb.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	put := version()
	if put == "" || put != version() {
		t.Errorf("the versions are %q and %q", put, version())
	}
	if got, err := other.Documents(); err != nil || !reflect.DeepEqual(got, []Document{want}) {
		t.Errorf("there are %+v, %v", got, err)
	}
	if _, err := other.Remove(t.Context(), "doc-1"); err != nil || version() == put {
		t.Errorf("it was removed, and the version is the same: %v", err)
	}
}

// TestKBReplacesWhatComesFromTheSameFile checks that adding a file again replaces its old text and nothing else.
func TestKBReplacesWhatComesFromTheSameFile(t *testing.T) {
	dir := t.TempDir()
	kb, err := OpenKB(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	for _, c := range []struct {
		text, path string
		replaced   bool
	}{
		{"Backups are kept for 90 days.", "/a.md", false},
		{"Badges are blue.", "/b.md", false},
		{"A note of nowhere.", "", false},
		{"Another note of nowhere.", "", false},
		{"Backups are kept for 30 days.", "/a.md", true},
		{"Backups are kept for 30 days.", "/a.md", false},
	} {
		if _, replaced, err := kb.Add(t.Context(), c.text, map[string]string{PathKey: c.path}); err != nil || replaced != c.replaced {
			t.Errorf("%s of %q: replaced %v, %v", c.text, c.path, replaced, err)
		}
	}
	if list, err := kb.List(); err != nil || len(list) != 4 {
		t.Errorf("%+v, %v", list, err)
	}
	if found, err := kb.Search(t.Context(), "how long are backups kept", 5, 0.1); err != nil || len(found) != 1 || found[0].Content != "Backups are kept for 30 days." {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestKBIsFull checks that a knowledge base has a size limit, and that removing or replacing documents makes room.
func TestKBIsFull(t *testing.T) {
	kb, err := OpenKB("", Options{MaxMemory: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	add := func(path string, size int) error {
		_, _, err := kb.Add(t.Context(), strings.Repeat("word ", size/5), map[string]string{PathKey: path})
		return err
	}
	if err := add("a", 30<<10); err != nil {
		t.Fatal(err)
	}
	if err := add("b", 30<<10); err == nil || !strings.Contains(err.Error(), "not added: no room") {
		t.Errorf("too much is taken: %v", err)
	}
	if err := kb.Put(t.Context(), Document{ID: "doc-b", Text: strings.Repeat("word ", 6<<10)}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("too much is put: %v", err)
	}
	if err := add("a", 31<<10); err != nil {
		t.Errorf("in the place of another: %v", err)
	}
	if _, err := kb.Remove(t.Context(), idOf("a", "")); err != nil {
		t.Fatal(err)
	}
	if err := add("b", 30<<10); err != nil {
		t.Errorf("after the other is gone: %v", err)
	}
}

// TestKBFindsCompounds checks that an unknown word finds longer words with it, and the words that it is composed of.
func TestKBFindsCompounds(t *testing.T) {
	kb, err := OpenKB("", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kb.Close()
	ids := map[string]string{}
	for name, text := range map[string]string{
		"liability": "Die Haftpflichtversicherung ersetzt, was jemand anderem kaputtgeht.",
		"heating":   "Die Wartung der Heizung bezahlt der Vermieter.",
		"street":    "Eine Bahn fährt alle zehn Minuten durch die Straße am Rathaus.",
		"storage":   "Every file of the system is copied at night.",
		"lunch":     "Die Kantine hat von elf bis zwei geöffnet.",
	} {
		if ids[name], _, err = kb.Add(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"Versicherung":    "liability", // ends a longer word
		"Haftpflicht":     "liability", // begins one
		"Heizungswartung": "heating",   // with a linking letter
		"Straßenbahn":     "street",
		"Heizungen":       "heating",
		"filesystem":      "storage",
	} {
		found, err := kb.Search(t.Context(), query, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 || found[0].DocumentID != ids[want] {
			t.Errorf("%s finds %+v, want %q", query, found, want)
		}
	}
}

package rag

import (
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
		hooks, err := kb.Add(t.Context(), "React hooks must follow the rules of hooks: call them at the top level, from components only.", map[string]string{"source": "docs", "topic": "react"})
		if err != nil || !strings.HasPrefix(hooks, "doc-") {
			t.Fatal(hooks, err)
		}
		if _, err := kb.Add(t.Context(), "Bread needs flour, water, salt and time. "+strings.Repeat("Ünd Zeit. ", 20), nil); err != nil {
			t.Fatal(err)
		}
		long, err := kb.Add(t.Context(), strings.Repeat("# Gardens\n\n"+strings.Repeat("Roses want sun and water. ", 40)+"\n\n", 8), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kb.Add(t.Context(), " \n", nil); err == nil {
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

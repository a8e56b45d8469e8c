package rag

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
	"callgate/rag/ignore"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"*.go", "a.go", true}, {"*.go", "x/y/a.go", true}, {"*.go", "a.goo", false},
		{"x/**", "x/a.go", true}, {"x/**", "x/y/a.go", true}, {"x/**", "x", false}, {"x/**", "y/x/a.go", false},
		{"./x/*", "x/a.go", true}, {"x/*", "x/y/a.go", false}, {"x/", "x/y/a.go", true},
		{"**/test/*.py", "a/b/test/x.py", true}, {"**/test/*.py", "test/x.py", true},
		{"a/**/z.go", "a/z.go", true}, {"a/**/z.go", "a/b/c/z.go", true}, {"a/**/b/**/z", "a/b/c/b/d/z", true},
		{"[!a].go", "b.go", true}, {"[!a].go", "a.go", false}, {"doc-1", "doc-1", true},
	} {
		glob, err := parseGlob(c.glob)
		if err != nil {
			t.Fatal(err)
		}
		if got := ignore.MatchPath(glob, c.name); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.glob, c.name, got, c.want)
		}
	}
	if _, err := parseGlob("a/["); err == nil {
		t.Error("a broken glob is taken")
	}
	start := time.Now()
	if ignore.MatchPath(ignore.SplitGlob(strings.Repeat("**/a/", 60)+"b"), strings.Repeat("a/", 200)+"c") {
		t.Error("matches")
	}
	if took := time.Since(start); took > waits.Limit {
		t.Errorf("a pattern of many ** took %s", took)
	}
}

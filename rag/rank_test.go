package rag

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfTheQuerysWords checks that a definition of what the query describes precedes more frequent mentions.
func TestNamesOfTheQuerysWords(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"a/one.go": "package a\n\nfunc refreshSessionToken(s *state) error {\n\tif s.old() {\n\t\treturn s.renew(clock.Now(), s.key)\n\t}\n\treturn nil\n}\n",
		"b/two.go": "package b\n\n// The session has a token, to refresh.\nfunc f(s *state) error {\n\tlog(\"refresh\", s.session, s.token)\n\treturn g(s.session, s.token, \"refresh\")\n}\n",
	})
	x := open(t, t.TempDir(), Options{})
	syncs(t, x, root)
	for _, query := range []string{"refreshes the session's tokens", "how is a session token refreshed"} {
		if got := first(t, x, query); got != "a/one.go" {
			t.Errorf("%q finds %q first", query, got)
		}
	}
}

// TestTurned checks that the symbol table by row matches the table by name.
func TestTurned(t *testing.T) {
	r := rows{
		Source: make([]uint32, 4), Names: []string{"add", "remove", "walk"},
		Until: []uint32{2, 3, 6}, Defined: []uint32{0, 3, 0, 1, 3, 3},
	}
	turned := r.byRow()
	for row, want := range []string{"add remove", "walk", "", "add walk walk"} {
		var names []string
		for _, name := range turned.of(row) {
			names = append(names, r.Names[name])
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("row %d defines %q, want %q", row, got, want)
		}
	}
}

// TestWordsOf checks that words are recognized by their stems, whatever their endings.
func TestWordsOf(t *testing.T) {
	words := wordsOf("How are the queries of a parsed dependency cached, and the query's parsers?")
	if len(words) != 5 {
		t.Errorf("%d words: %v", len(words), words)
	}
	for token, want := range map[string]int{"query": 1, "querying": 1, "parse": 1, "parser": 1, "parsing": 1, "cache": 1, "dependencies": 1, "depend": 1, "depot": 0, "pa": 0, "": 0} {
		n := 0
		for i := range words {
			if words[i].is([]byte(token)) {
				n++
			}
		}
		if n != want {
			t.Errorf("%q is %d of the words, want %d", token, n, want)
		}
	}
}

func TestAside(t *testing.T) {
	for path, want := range map[string]bool{
		"Src/Project.Tests/Linq.cs": true, "core/jvmTest/kotlin/Flow.kt": true, "integration-tests/a.go": true, "benches/io.rs": true,
		"samples/a.go": true, "src/test/java/A.java": true, "a/b_test.go": true, "types/index.d.ts": true, "Tests/A.swift": true,
		"latest/a.go": false, "contest/a.py": false, "test-runner/run.ts": false, "internal/testserver/a.go": false, "src/Test.Adapter/A.cs": false,
	} {
		if got := aside(path); got != want {
			t.Errorf("aside(%q) = %v", path, got)
		}
	}
}

// A long query is searched for by its first words: the question comes before the log that it is about.
func TestLongQueries(t *testing.T) {
	question := "Where is the zebra fed?"
	for _, rest := range []int{0, 10, 2 * maxQueryTerms} {
		query := question
		for i := range rest {
			query += fmt.Sprintf(" q%cz%cx", 'a'+i/26, 'a'+i%26)
		}
		stems, counts := queryTerms(query + " zebra")
		if len(stems) > maxQueryTerms || len(counts) != len(stems) || counts["zebra"] != 2 || !slices.Contains(stems, "fed") {
			t.Errorf("%d more words: %d stems, %d counts: %v", rest, len(stems), len(counts), counts)
		}
	}
}

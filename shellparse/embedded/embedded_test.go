package embedded

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// sample is one line of a table in testdata: a program, and whether it is harmless.
type sample struct {
	Text     string `json:"text"`
	Harmless bool   `json:"harmless"`
	Why      string `json:"why,omitempty"`
}

func samples(t testing.TB, name string) (list []sample) {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		list = append(list, s)
	}
	if err := lines.Err(); err != nil || len(list) < 20 {
		t.Fatalf("%s has %d lines: %v", name, len(list), err)
	}
	return list
}

// readers maps the languages in which a program is either harmless or not to their functions.
var readers = map[string]func(string) bool{"awk": Awk, "sed": Sed, "jq": Jq, "yq": Yq, "python": func(code string) bool { _, ok := Python(code); return ok }}

func TestHarmless(t *testing.T) {
	for name, harmless := range readers {
		t.Run(name, func(t *testing.T) {
			for _, s := range samples(t, name) {
				if got := harmless(s.Text); got != s.Harmless {
					t.Errorf("%q: %v, want %v (%s)", s.Text, got, s.Harmless, s.Why)
				}
			}
		})
	}
}

// effects lists the words for effects in testdata/sql.jsonl, the worst first. The worst effect of a text counts.
var effects = []struct {
	bit  SQLEffect
	word string
}{{SQLUnknown, "unknown"}, {SQLDestroys, "destroys"}, {SQLWrites, "writes"}, {0, "reads"}}

func (e SQLEffect) word() string {
	for _, w := range effects {
		if e&w.bit == w.bit {
			return w.word
		}
	}
	return ""
}

type statement struct{ Text, Effect string }

func statements(t testing.TB) (list []statement) {
	t.Helper()
	f, err := os.Open("testdata/sql.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s statement
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := lines.Err(); err != nil || len(list) < 100 {
		t.Fatalf("%d statements: %v", len(list), err)
	}
	return list
}

func TestSQL(t *testing.T) {
	for _, s := range statements(t) {
		if got := SQL(s.Text).word(); got != s.Effect {
			t.Errorf("%q: %s, want %s", s.Text, got, s.Effect)
		}
	}
	for text, want := range map[string]SQLEffect{
		"select $$drop table x$$":       SQLUnknown | SQLDestroys,
		"drop table x; frobnicate":      SQLUnknown | SQLDestroys,
		"insert into t values (f(1))":   SQLUnknown | SQLWrites,
		"select 1; update t set a = 1;": SQLWrites | SQLDestroys,
	} {
		if got := SQL(text); got != want {
			t.Errorf("%q: %b, want %b", text, got, want)
		}
	}
}

func FuzzSQL(f *testing.F) {
	for _, s := range statements(f) {
		f.Add(s.Text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// A text with a drop after it is never harmless.
		if e := SQL(s + "\n; drop table x"); e&(SQLUnknown|SQLDestroys) == 0 {
			t.Errorf("%q before a drop: %b", s, e)
		}
		// Nor is a text with an unknown function beside it.
		if SQL(s)&SQLUnknown == 0 && SQL("select ("+s+"), frobnicate(1)")&SQLUnknown == 0 {
			t.Errorf("%q beside an unknown function is known", s)
		}
	})
}

func FuzzHarmless(f *testing.F) {
	for name := range readers {
		for _, s := range samples(f, name) {
			f.Add(s.Text)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, harmless := range readers {
			harmless(s) // must return
		}
	})
}

func BenchmarkAwk(b *testing.B) {
	for b.Loop() {
		Awk("$3>1000{n++} END{print n}")
	}
}

func BenchmarkSQL(b *testing.B) {
	for b.Loop() {
		SQL("select a, count(*) from t join u on t.id = u.id where a > 1 group by a order by 2 desc limit 10")
	}
}

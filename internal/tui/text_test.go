package tui

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/companion/wire"
)

func TestArgumentLines(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		width     int
		want      []string
	}{
		{"nothing", `{}`, 80, []string{"│ {}"}},
		{"order and numbers stay", `{"b":1e+02,"a":10000000000000000001,"c":0.10}`, 80, []string{"│ {", `│   "b": 1e+02,`, `│   "a": 10000000000000000001,`, `│   "c": 0.10`, "│ }"}},
		{"escapes that hide are resolved", `{"c":"r\u006d \u002drf \/"}`, 80, []string{"│ {", `│   "c": "rm -rf /"`, "│ }"}},
		{"what cannot be seen is seen", `{"c":"a\u202eb\u0007\u200b` + "\u2066" + `"}`, 80, []string{"│ {", `│   "c": "a⟨U+202E⟩b\u0007⟨U+200B⟩⟨U+2066⟩"`, "│ }"}},
		{"line ends break and stay", `{"c":"one\ntwo\\n\n"}`, 80, []string{"│ {", `│   "c": "one\n`, `┊ two\\n\n`, `┊ "`, "│ }"}},
		{"long lines fold", `["0123456789abcdef"]`, 12, []string{"│ [", `│   "0123456`, `↪ 789abcdef"`, "│ ]"}},
		{"no JSON", "{\x1b[2J", 80, []string{"│ {⟨U+001B⟩[2J"}},
		{"a name twice", `{"a":1,"a":2}`, 80, []string{"│ {", `│   "a": 1,`, `│   "a": 2`, "│ }"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, argumentLines(json.RawMessage(test.raw), test.width)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzArgumentLines checks that arguments lose nothing on the way to the screen except readable escapes, and that no
// line starts like the screen's own.
func FuzzArgumentLines(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"b\nc"}`, `{"a":[1,2,{"b":null}]}`, `{"漢字":"👩‍👩‍👧"}`, "\xff{", `"\ud800"`, `{"x":"` + strings.Repeat("y", 300) + `"}`} {
		f.Add(seed, 40)
	}
	f.Fuzz(func(t *testing.T, raw string, width int) {
		width = 4 + abs(width)%200
		var whole strings.Builder
		for _, line := range argumentLines(json.RawMessage(raw), width) {
			gutter, text := line[:len(gutterLine)], line[len(gutterLine):]
			if gutter != gutterLine && gutter != gutterBreak && gutter != gutterFold {
				t.Fatalf("a line begins with %q", line)
			}
			if w := ansi.StringWidth(line); w > width {
				t.Fatalf("%q is %d wide, not %d", line, w, width)
			}
			whole.WriteString(text)
		}
		want := shown(strings.ReplaceAll(wire.Indented(json.RawMessage(raw)), "\n", ""))
		if got := whole.String(); got != want {
			t.Errorf("shown %q, want %q", got, want)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

func TestReplacements(t *testing.T) {
	for raw, want := range map[string][]replacement{
		`{"path":"x","old_text":"a","new_text":"b"}`:                              {{"a", "b"}},
		`{"old_string":"a","new_string":""}`:                                      {{"a", ""}},
		`{"edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]}`: {{"a", "b"}, {"c", "d"}},
		`{"old_str":"a"}`:                        nil,
		`{"old_str":null,"new_str":"b"}`:         nil,
		`{"old_str":1,"new_str":"b"}`:            nil,
		`{"edits":"none"}`:                       nil,
		`[1]`:                                    nil,
		`{`:                                      nil,
		`{"oldString":"a","newString":"\u0062"}`: {{"a", "b"}},
	} {
		if diff := cmp.Diff(want, replacements(json.RawMessage(raw)), cmp.AllowUnexported(replacement{})); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

func TestDiffLines(t *testing.T) {
	s := newStyles()
	var got []string
	for _, line := range s.diffLines("one\n\ttwo\nthree", "one\n\t2\u202e\nthree\nfour\n", 20) {
		got = append(got, ansi.Strip(line))
	}
	want := []string{"@@ -1,3 +1,4 @@", "  one", "- →   two", "+ →   2⟨U+202E⟩", "  three", "+ four"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if lines := s.diffLines("same", "same\n", 20); len(lines) > 0 {
		t.Errorf("no difference shows %q", lines)
	}
}

func TestWord(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "git": "git", "a b": `"a b"`, `a"b\`: `"a\"b\\"`, "$(x)": `"$(x)"`, "\x1b": `"⟨U+001B⟩"`, "--x=y": "--x=y", "*": "*",
	} {
		if got := wire.Quoted(s); got != want {
			t.Errorf("%q is shown as %s, want %s", s, got, want)
		}
	}
}

func TestCountdown(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 0: "0:00", 59*time.Second + 999*time.Millisecond: "0:59", time.Minute: "1:00", 125 * time.Second: "2:05", 3*time.Hour + 62*time.Second: "3:01:02",
	} {
		if got := countdown(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// TestRisks checks that an unknown class counts as high.
func TestRisks(t *testing.T) {
	for class, want := range map[string]string{
		"READ_ONLY": "low", "BUILD_TEST": "low", "WRITE": "medium", "NETWORK": "medium",
		"UNKNOWN": "high", "DESTRUCTIVE": "high", "ESCALATION": "critical", "": "high", "NEW": "high",
	} {
		if got := riskLabel(class); got != want {
			t.Errorf("%q is %s, want %s", class, got, want)
		}
		if wire.RiskWords(class) == "" && class != "" {
			t.Errorf("%q has no words", class)
		}
	}
}

func TestColours(t *testing.T) {
	s := newStyles()
	seen := map[string]bool{}
	for _, label := range []string{"low", "medium", "high", "critical"} {
		text := s.risk(label)
		if !strings.Contains(text, strings.ToUpper(label)) {
			t.Errorf("%s does not say so: %q", label, text)
		}
		style := strings.Replace(text, strings.ToUpper(label), "", 1)
		if style == "" || seen[style] {
			t.Errorf("%s has no colour of its own: %q", label, text)
		}
		seen[style] = true
	}
	if s.risk("\x1b[0mlow") == s.risk("low") || strings.Contains(s.risk("\x1b[0mlow"), "[0mlow") {
		t.Errorf("a label is an order to the terminal: %q", s.risk("\x1b[0mlow"))
	}
}

// The gate checks what the terminal accepts, and refuses repeated members, for example.
func TestEditedIsJSON(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1e400,"b":[{"a":1},{"a":2}]}`: true, `"\ud83d\ude00"`: true, `{}`: true,
		`{"a":1,"\u0061":2}`: true, "\"\xff\"": false, `{"a":1}}`: false, ``: false,
	} {
		if got := !strings.Contains(checkEdited(editedMsg{text: []byte(text)}), "not valid JSON"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

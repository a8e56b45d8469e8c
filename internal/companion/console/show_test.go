package console

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// FuzzShow checks that nothing in an approval reaches the terminal as a control character, and that show made every
// line of the display.
func FuzzShow(f *testing.F) {
	for _, text := range []string{"", "git push", "Grüße, 世界", "\x1b[2Jgone\r\n", "\u202egpj.exe", "a\u200bb\u3164", "bad\xff", "tag\U000e0041", "\\ \" ⟨"} {
		f.Add(text, []byte(`{"a":"b\n\u0072"}`))
	}
	f.Add("x", []byte("not json\x1b[2J\n── forged ──"))
	f.Fuzz(func(t *testing.T, text string, args []byte) {
		frame := &wire.ToolApproveRequest{
			Tool: text, Server: text, AgentID: text, Summary: text, Reason: text, Args: args, Risk: wire.Risk{Class: text, Label: text, Category: text},
			Reasons:  []wire.Reason{{Subject: text, Rule: text, Layer: text, Action: text}},
			Commands: []wire.Command{{Argv: []string{text}, Via: []string{text}, Writes: []string{text}, Reads: []string{text}, Risk: text}},
			Always:   []wire.Offer{{Tool: text, Pattern: text, Risk: text}}, Marks: []wire.Mark{{Code: text, Text: text}},
		}
		for _, whole := range []bool{false, true} {
			out, complete := show(frame, time.Time{}, whole)
			if whole && !complete {
				t.Fatal("the whole is not complete")
			}
			for line := range strings.Lines(out) {
				if line = strings.TrimSuffix(line, "\n"); visible.Text(line) != line {
					t.Fatalf("%q is not all visible", line)
				}
			}
			if forged := strings.Count(out, "\n── "); forged != 1 {
				t.Fatalf("%d headings in %q", forged, out)
			}
		}
	})
}

func TestShowArguments(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"members", `{"path":"a","n":1.0e2}`, "Arguments\n  {\n    \"path\": \"a\",\n    \"n\": 1.0e2\n  }\n"},
		{"text of several lines", `{"t":"a\n  b\n"}`, "Arguments\n  {\n    \"t\": \"a\\n\n  │   b\\n\n  │ \"\n  }\n"},
		{"a backslash and an n", `{"t":"a\\n"}`, "Arguments\n  {\n    \"t\": \"a\\\\n\"\n  }\n"},
		{"none", `{}`, "Arguments\n  {}\n"},
		{"no JSON", "x\ny", "Arguments\n  x⟨U+000A⟩y\n"},
	} {
		var b strings.Builder
		if complete := showArguments(&b, []byte(tt.args), false); !complete || b.String() != tt.want {
			t.Errorf("%s: complete %v\n%s\nwant\n%s", tt.name, complete, b.String(), tt.want)
		}
	}
	long := `{"t":"` + strings.Repeat(`x\n`, shownLines) + `END"}`
	var part, whole strings.Builder
	if showArguments(&part, []byte(long), false) || strings.Contains(part.String(), "END") || !strings.Contains(part.String(), "Type v") {
		t.Errorf("many lines: %s", part.String())
	}
	if !showArguments(&whole, []byte(long), true) || !strings.Contains(whole.String(), "END") {
		t.Errorf("the whole: %s", whole.String())
	}
}

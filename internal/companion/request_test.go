package companion

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate/tools"
)

// FuzzToolApprove: whatever a client sends, what reaches the gate names one session, one call and one
// digest, has a known decision, and carries nothing that the decision does not use.
func FuzzToolApprove(f *testing.F) {
	for _, seed := range []string{
		approve("call_1", "s1", "d", "approve"),
		approve("call_1", "*", "d", "always"),
		`{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"always","grants":[{"tool":"t","pattern":"p"}],"scope":"worker","expiresIn":60}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"approve","arguments":{"a":1.0e2}}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"reject","feedback":"x","Decision":"approve"}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"always","expiresIn":1e400}`,
		`[`, `null`, `{"decision":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var frame ToolApprove
		if decode(data, &frame) != nil {
			return
		}
		a, refused := frame.answer(audit.Author{By: "custom:x", From: "there"})
		if refused != nil {
			if refused.code != CodeBadMessage || refused.message == "" {
				t.Fatalf("%s: refused with %+v", data, refused)
			}
			return
		}
		always := a.Decision == "always"
		switch {
		case a.SessionID == "" || a.SessionID == AllSessions, a.Digest == "", a.By != "custom:x",
			a.Decision != "approve" && a.Decision != "reject" && !always,
			!always && (len(a.Grants) > 0 || a.Scope != "" || a.ExpiresIn != 0),
			always && a.Scope != "session" && a.Scope != "worker",
			a.ExpiresIn < 0 || a.ExpiresIn > maxExpiry*time.Second,
			a.Decision != "reject" && a.Feedback != "",
			len(a.Arguments) > 0 && (a.Decision != "approve" || a.Arguments[0] != '{' || !json.Valid(a.Arguments)):
			t.Fatalf("%s: became %+v", data, a)
		}
	})
}

// FuzzShow: nothing in an approval reaches the terminal as a control, and every line of the display is
// one that show made.
func FuzzShow(f *testing.F) {
	for _, text := range []string{"", "git push", "Grüße, 世界", "\x1b[2Jgone\r\n", "\u202egpj.exe", "a\u200bb\u3164", "bad\xff", "tag\U000e0041", "\\ \" ⟨"} {
		f.Add(text, []byte(`{"a":"b\n\u0072"}`))
	}
	f.Add("x", []byte("not json\x1b[2J\n── forged ──"))
	f.Fuzz(func(t *testing.T, text string, args []byte) {
		frame := &ToolApproveRequest{
			Tool: text, Server: text, AgentID: text, Summary: text, Reason: text, Args: args, Risk: Risk{text, text, text},
			Reasons:  []Reason{{text, text, text, text}},
			Commands: []Command{{Argv: []string{text}, Via: []string{text}, Writes: []string{text}, Reads: []string{text}, Risk: text}},
			Always:   []Offer{{Tool: text, Pattern: text, Risk: text}}, Marks: []Mark{{text, text}},
		}
		for _, whole := range []bool{false, true} {
			out, complete := show(frame, time.Time{}, whole)
			if whole && !complete {
				t.Fatal("the whole is not complete")
			}
			for line := range strings.Lines(out) {
				if line = strings.TrimSuffix(line, "\n"); tools.Visible(line) != line {
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

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`r\u006d -rf`:        "r" + "m -rf",
		`a \u0026\u0026 b`:   "a && b",
		`\u003cb\u003E`:      "<b>",
		`\/tmp`:              "/tmp",
		`\ud83d\ude00`:       "\U0001F600",
		`\u4e16`:             "世",
		`\u0022\u005c`:       `\u0022\u005c`,
		`\u001b\u202e\u200b`: `\u001b\u202e\u200b`,
		`\udb40\udc41`:       `\udb40\udc41`,
		`\ud83d x`:           `\ud83d x`,
		`\ud83d\u0041`:       `\ud83dA`,
		`\\u006d`:            `\\u006d`,
		`\n\t\"\\`:           `\n\t\"\\`,
		`\u00`:               `\u00`,
		`\uzzzz\`:            `\uzzzz\`,
		`\u+123`:             `\u+123`,
		"":                   "",
	} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":           `""`,
		"git":        "git",
		"--a=b,c":    "--a=b,c",
		"a b":        `"a b"`,
		`a"b\`:       `"a\"b\\"`,
		"$(rm)":      `"$(rm)"`,
		"-\u202e":    `"-⟨U+202E⟩"`,
		`\u202e`:     `"\\u202e"`,
		"a\nb":       `"a⟨U+000A⟩b"`,
		"src/**/*.x": "src/**/*.x",
	} {
		if got := Quoted(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

package wire

import (
	"slices"
	"testing"
)

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`r\u006d -rf`:        "r" + "m -rf",
		`a \u0026\u0026 b`:   "a && b",
		`\u003cb\u003E`:      "<b>",
		`\/tmp`:              "/tmp",
		`\ud83d\ude00`:       "\U0001F600",
		`\u4e16`:             "世",
		`\u0022\u005c\u000a`: `\"\\\n`,
		`\u001b\u202e\u200b`: `\u001b` + "\u202e\u200b", // made visible later
		`\udb40\udc41`:       "\U000E0041",
		`\ud83d x`:           `\ud83d x`,
		`\ud83d\u0041`:       `\ud83dA`,
		`\ud83dude00`:        `\ud83dude00`,
		`\ude00\ud83d`:       `\ude00\ud83d`,
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

func TestReadable(t *testing.T) {
	const args = `{"n":1e400,"c":"r\u006d\u202e\u000ax"}`
	want := []string{"{", `  "n": 1e400,`, `  "c": "rm⟨U+202E⟩\n`, `│ x"`, "}"}
	if got := Readable([]byte(args)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Readable([]byte("{\u202e\n")); !slices.Equal(got, []string{"{⟨U+202E⟩⟨U+000A⟩"}) {
		t.Errorf("%q", got)
	}
}

// An exact text is shown without the escapes of its pattern. A pattern that matches more is shown unchanged.
func TestAllows(t *testing.T) {
	for pattern, want := range map[string]string{
		`git push *`:                     `t "git push *"`,
		`*`:                              `t with any arguments`,
		`\{\"a\":\"x\*\",\"n\":\[1\]\}`:  `t with exactly {"a":"x*","n":[1]}`,
		`topic=a \"b\" \[c\]\=\?`:        `t with exactly "topic=a \"b\" [c]=?"`,
		`git commit -m \"x\"`:            `t with exactly "git commit -m \"x\""`,
		`\~/x`:                           `t with exactly ~/x`,
		`\{\"a\":\"` + "\u202e" + `\"\}`: `t with exactly {"a":"⟨U+202E⟩"}`,
		`\{\"a\":*\}`:                    `t "\\{\\\"a\\\":*\\}"`,
		`a\[b(c)`:                        `t "a\\[b(c)"`,
		`~/a\*`:                          `t "~/a\\*"`,
		`$WORKSPACE/a\*`:                 `t "$WORKSPACE/a\\*"`,
		`a\`:                             `t "a\\"`,
	} {
		if got := (Offer{Tool: "t", Pattern: pattern}).Allows(); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
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

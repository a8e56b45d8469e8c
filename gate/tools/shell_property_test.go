package tools

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"encoding/json"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"callgate/permissions"
)

// shellCase is a line of shellparse's corpus.
type shellCase struct {
	ID          string   `json:"id"`
	Cmd         string   `json:"cmd"`
	Shell       string   `json:"shell"`
	AllowRules  []string `json:"allow_rules"`
	DenyRules   []string `json:"deny_rules"`
	AllowWrites []string `json:"allow_writes"`
}

// shellCases returns the cases of a corpus file that bash parses and that are small enough to rewrite often.
func shellCases(t testing.TB, name string) (cases []shellCase) {
	t.Helper()
	f, err := os.Open("../../shellparse/testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c shellCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		foreign := strings.HasSuffix(c.ID, "-foreign") // for a shell that quotes differently
		if _, err := parseShell(c.Cmd); err == nil && c.Shell == "" && !foreign && c.Cmd != "" && len(c.Cmd) < 1000 {
			cases = append(cases, c)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c shellCase) policy(t testing.TB) *permissions.Policy {
	t.Helper()
	return policy(t, `{"*":"ask","shell_exec":`+rulesOf(t, c.AllowRules, c.DenyRules)+`,"write_file":`+rulesOf(t, c.AllowWrites, nil)+`}`)
}

// rulesOf returns rules for one tool that ask about what no pattern names. A pattern in both lists is denied.
func rulesOf(t testing.TB, allow, deny []string) string {
	t.Helper()
	patterns := slices.Concat(allow, deny)
	if !slices.Contains(patterns, "*") {
		patterns = slices.Insert(patterns, 0, "*")
	}
	var rules []string
	for i, p := range patterns {
		action := "ask"
		switch {
		case slices.Contains(patterns[:i], p):
			continue
		case slices.Contains(deny, p):
			action = "deny"
		case slices.Contains(allow, p):
			action = "allow"
		}
		rules = append(rules, fmt.Sprintf("%s:%q", quoteJSON(t, p), action))
	}
	return "{" + strings.Join(rules, ",") + "}"
}

func quoteJSON(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parseShell(text string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}

// shellRewrites are ways to rewrite a text that mean the same to bash.
var shellRewrites = []struct {
	name string
	do   func(*rapid.T, string) string
}{
	{"quote words", quoteWords},
	{"quote words", quoteWords}, // twice as often: most bypasses are spellings
	{"break lines", breakLines},
	{"swap separators", swapSeparators},
	{"indent", func(_ *rapid.T, s string) string { return " \t" + s }},
	{"comment", func(_ *rapid.T, s string) string { return "# what it does\n" + s }},
	{"group", func(_ *rapid.T, s string) string { return "{ " + s + "\n}" }},
	{"subshell", func(_ *rapid.T, s string) string { return "(\n" + s + "\n)" }},
	{"condition", func(_ *rapid.T, s string) string { return "if :; then " + s + "\nfi" }},
	{"loop", func(_ *rapid.T, s string) string { return "for _ in 1; do " + s + "\ndone" }},
	{"case", func(_ *rapid.T, s string) string { return "case x in x) " + s + "\n;; esac" }},
	{"before", func(_ *rapid.T, s string) string { return ":\n" + s }},
	{"after", func(_ *rapid.T, s string) string { return s + "\n:" }},
	{"wrap", wrapCommands},
	{"hide", hideWord},
	{"function", func(_ *rapid.T, s string) string { return "fn() { " + s + "\n}; fn" }},
	{"background", func(_ *rapid.T, s string) string { return "{ " + s + "\n} & wait" }},
	{"negate", func(_ *rapid.T, s string) string { return "! { " + s + "\n}" }},
	{"time", func(_ *rapid.T, s string) string { return "time {\n" + s + "\n}" }},
	{"pipe", func(_ *rapid.T, s string) string { return "{ " + s + "\n} | cat" }},
	{"substitute", func(_ *rapid.T, s string) string { return "echo \"$(\n" + s + "\n)\"" }},
	{"process", func(_ *rapid.T, s string) string { return "cat <(\n" + s + "\n)" }},
	{"eval", func(_ *rapid.T, s string) string { return "eval " + singleQuoted(s) }},
	{"shell", func(_ *rapid.T, s string) string { return "bash -c " + singleQuoted(s) }},
	{"shell behind wrappers", func(_ *rapid.T, s string) string {
		shell := "sh"
		if strings.Contains(s, "$'") { // some sh read that as a dollar and a text
			shell = "bash"
		}
		return "timeout 60 env -i " + shell + " -c " + singleQuoted(s)
	}},
	{"here-document", hereDocument},
	{"trap", func(_ *rapid.T, s string) string { return "trap " + singleQuoted(s) + " EXIT" }},
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func hereDocument(_ *rapid.T, text string) string {
	if strings.Contains(text, "THE_END") {
		return text
	}
	return "bash <<'THE_END'\n" + text + "\nTHE_END\n"
}

// hideWord puts one plain word into a variable.
func hideWord(t *rapid.T, text string) string {
	var name string
	hidden := editCommands(t, text, func(call *syntax.CallExpr) []textEdit {
		for _, w := range call.Args {
			word := w.Lit()
			if name != "" || word == "" || reserved[word] || !plainWord.MatchString(word) || !rapid.Bool().Draw(t, "hide "+word) {
				continue
			}
			name = word
			return []textEdit{{int(w.Pos().Offset()), int(w.End().Offset()), rapid.SampledFrom([]string{"$hidden_1", "${hidden_1}"}).Draw(t, "form")}}
		}
		return nil
	})
	if name == "" || strings.Contains(text, "hidden_1") || strings.Contains(text, "printf") { // printf -v can set any variable
		return text
	}
	return "hidden_1=" + name + "\n" + hidden
}

var plainWord = regexp.MustCompile(`^[a-z][a-z0-9_.-]*$`)

// quoteWords spells some of the words that consist of plain letters differently.
func quoteWords(t *rapid.T, text string) string {
	return editCommands(t, text, func(call *syntax.CallExpr) (edits []textEdit) {
		for _, w := range call.Args {
			word := w.Lit()
			if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r < 0x20 || r >= 0x7f }) || strings.ContainsAny(word, "\\*?[]{}~!$'\"`\n=^+@%") || reserved[word] || !rapid.Bool().Draw(t, "spell "+word) {
				continue
			}
			i := rapid.IntRange(0, len(word)-1).Draw(t, "at")
			forms := []string{
				"'" + word + "'", `"` + word + `"`, word[:i] + `""` + word[i:], word[:i] + "''" + word[i:],
				word[:i] + `\` + word[i:], word[:i] + "'" + word[i:] + "'", fmt.Sprintf(`%s$'\x%02x'%s`, word[:i], word[i], word[i+1:]),
				word[:i] + "\\\n" + word[i:],
			}
			edits = append(edits, textEdit{int(w.Pos().Offset()), int(w.End().Offset()), rapid.SampledFrom(forms).Draw(t, "form")})
		}
		return edits
	})
}

// reserved holds words that mean something else once they are quoted.
var reserved = map[string]bool{"time": true, "coproc": true, "function": true, "in": true, "do": true, "then": true, "declare": true, "local": true, "export": true, "readonly": true, "typeset": true, "let": true, "nameref": true}

// breakLines puts a line continuation, or more space, between words.
func breakLines(t *rapid.T, text string) string {
	return editCommands(t, text, func(call *syntax.CallExpr) (edits []textEdit) {
		for i := 1; i < len(call.Args); i++ {
			from, to := int(call.Args[i-1].End().Offset()), int(call.Args[i].Pos().Offset())
			if from < to && to <= len(text) && strings.Trim(text[from:to], " ") == "" && rapid.Bool().Draw(t, "break") {
				edits = append(edits, textEdit{from, to, rapid.SampledFrom([]string{" \\\n ", "\t", "   "}).Draw(t, "space")})
			}
		}
		return edits
	})
}

// wrapCommands runs some of the commands through a wrapper that changes nothing.
func wrapCommands(t *rapid.T, text string) string {
	return editCommands(t, text, func(call *syntax.CallExpr) []textEdit {
		if len(call.Args) == 0 || !external[call.Args[0].Lit()] || !rapid.Bool().Draw(t, "wrap") {
			return nil
		}
		at := int(call.Args[0].Pos().Offset())
		return []textEdit{{at, at, rapid.SampledFrom([]string{"command ", "env ", "nice ", "timeout 60 ", "nohup ", "stdbuf -oL ", "env A=1 timeout -k 5 60 ", "nice -n 5 command "}).Draw(t, "wrapper")}}
	})
}

// external holds programs that mean the same behind a wrapper, because no shell has them built in.
var external = map[string]bool{"rm": true, "git": true, "cat": true, "ls": true, "shred": true, "curl": true, "npm": true, "find": true, "grep": true, "go": true, "make": true, "sed": true, "tee": true, "cp": true, "mv": true, "dd": true, "head": true}

// swapSeparators writes ; as a line end and the other way round.
func swapSeparators(t *rapid.T, text string) string {
	f, err := parseShell(text)
	if err != nil {
		return text
	}
	var edits []textEdit
	for _, s := range f.Stmts {
		if at := int(s.Semicolon.Offset()); s.Semicolon.IsValid() && !s.Background && !s.Coprocess && text[at] == ';' && rapid.Bool().Draw(t, "swap") {
			edits = append(edits, textEdit{at, at + 1, "\n"})
		}
	}
	return applyEdits(text, edits)
}

type textEdit struct {
	from, to int
	with     string
}

func applyEdits(text string, edits []textEdit) string {
	slices.SortStableFunc(edits, func(a, b textEdit) int { return b.from - a.from })
	for _, e := range edits {
		text = text[:e.from] + e.with + text[e.to:]
	}
	return text
}

// editCommands applies the edits to every simple command. It leaves out here-documents, whose offsets belong to another
// place than the command's.
func editCommands(_ *rapid.T, text string, edit func(*syntax.CallExpr) []textEdit) string {
	f, err := parseShell(text)
	if err != nil || strings.Contains(text, "<<") || strings.ContainsAny(text, "\r\x00") {
		return text
	}
	var edits []textEdit
	backquoted := false
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			backquoted = backquoted || n.Backquotes // in which quoting has rules of its own
		case *syntax.CallExpr:
			edits = append(edits, edit(n)...)
		}
		return true
	})
	if backquoted {
		return text
	}
	return applyEdits(text, edits)
}

// However a shell text is spelled, laid out and wrapped, it is judged no more mildly, and what was denied stays denied.
func TestShellRewritesNeverLoosen(t *testing.T) {
	cases := slices.Concat(shellCases(t, "bypass"), shellCases(t, "benign"))
	policies := make([]*permissions.Policy, len(cases))
	for i, c := range cases {
		policies[i] = c.policy(t)
	}
	p := project(t, nil)
	judge := func(pol *permissions.Policy, text string) permissions.Action {
		command, err := json.Marshal(map[string]string{"command": text})
		if err != nil {
			t.Fatal(err)
		}
		return verdict(pol, Analyze(Call{Tool: KindTool(KindShell), Arguments: command, Place: p}))
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(cases)-1).Draw(t, "case")
		c, pol := cases[i], policies[i]
		before := judge(pol, c.Cmd)
		text := c.Cmd
		for range rapid.IntRange(1, 3).Draw(t, "rewrites") {
			text = rapid.SampledFrom(shellRewrites).Draw(t, "rewrite").do(t, text)
		}
		if after := judge(pol, text); after.Stricter(before) != after {
			t.Fatalf("%s: %q is %v, but %q is %v", c.ID, c.Cmd, before, text, after)
		}
	})
}

// A deny holds for a program that another, unknown program is told to start.
func TestDenyBehindUnknownPrograms(t *testing.T) {
	p := project(t, nil)
	pol := policy(t, `{ "shell_exec": { "*": "allow", "shred *": "deny" } }`)
	for text, want := range map[string]permissions.Action{
		"launchpad shred f":                permissions.Deny,
		"launchpad --fast exec -- shred f": permissions.Deny,
		"launchpad --run='shred -u f'":     permissions.Deny,
		"launchpad 'shred f'":              permissions.Deny,
		"stack exec -- shred f":            permissions.Deny,
		"xcrun /usr/bin/shred f":           permissions.Deny,
		"launchpad report f":               permissions.Allow,
		"grep shred f":                     permissions.Allow,
		"echo shred f":                     permissions.Allow,
		"which shred":                      permissions.Allow,
		"git log --grep 'shred f'":         permissions.Allow,
	} {
		if got := verdict(pol, analyze(t, KindShell, p, "command", text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

package shellparse

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// corpusCase is one line of a corpus file.
type corpusCase struct {
	ID          string   `json:"id"`
	Cmd         string   `json:"cmd"`
	Shell       string   `json:"shell,omitempty"`
	AllowRules  []string `json:"allow_rules"`
	DenyRules   []string `json:"deny_rules"`
	AllowWrites []string `json:"allow_writes,omitempty"`
	Expect      string   `json:"expect"`
	MinExpect   string   `json:"min_expect,omitempty"`
	Why         string   `json:"why"`

	Want       []string `json:"want_patterns"`
	ThenCmd    string   `json:"then_cmd"`
	ThenExpect string   `json:"then_expect"`
}

func readCorpus(t testing.TB, name string) []corpusCase {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var c corpusCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		cases = append(cases, c)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// matchGlob matches a rule: * crosses everything, ? is one character, a backslash quotes, and a trailing " *"
// also matches the bare command.
func matchGlob(pattern, s string) bool {
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && glob(bare, s) {
		return true
	}
	return glob(pattern, s)
}

func glob(p, s string) bool {
	star, mark := -1, 0
	i, k := 0, 0
	for k < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, k
			i++
			continue
		case i+1 < len(p) && p[i] == '\\' && p[i+1] == s[k]:
			i += 2
			k++
			continue
		case i < len(p) && p[i] != '\\' && (p[i] == '?' || p[i] == s[k]):
			i++
			k++
			continue
		case star >= 0:
			mark++
			i, k = star+1, mark
			continue
		}
		return false
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// matchAllow is matchGlob for allow rules: a star that continues a word which names the command ends at the end of that
// word, so that "ls*" is not lsof and "npm run test*" is not "npm run test:evil".
func matchAllow(pattern string, c *Command) bool {
	text := c.Text()
	if !matchGlob(pattern, text) {
		return false
	}
	head, glued := strings.CutSuffix(pattern, "*")
	if !glued || head == "" || strings.HasSuffix(head, " ") || strings.ContainsAny(head, `*?[\`) {
		return true
	}
	if len(strings.Fields(head)) > Arity(c.Argv) || len(text) == len(head) {
		return true
	}
	return text[len(head)] == ' '
}

// judge returns the verdict of a gate with these rules.
func judge(s *Script, allow, deny, writes []string) string {
	for i := range s.Commands {
		for _, form := range s.Commands[i].Forms() {
			for _, r := range deny {
				if matchGlob(r, form) {
					return "deny"
				}
			}
		}
	}
	if len(s.Problems) > 0 {
		return "ask"
	}
	met := false
	for i := range s.Commands {
		c := &s.Commands[i]
		ok := false
		for _, r := range allow {
			ok = ok || matchAllow(r, c)
		}
		met = met || ok
		if !ok && !c.DenyOnly || len(c.Effects)+len(c.Connects) > 0 || c.Escalates {
			return "ask"
		}
		if len(c.Lists) > 0 {
			return "ask" // the caller reads the listed files
		}
		for _, w := range c.Writes {
			ok := false
			for _, r := range writes {
				ok = ok || w.Path.Known && matchGlob(r, w.Path.Value)
			}
			if !ok {
				return "ask"
			}
		}
	}
	if !met {
		return "ask"
	}
	return "allow"
}

var severity = map[string]int{"allow": 0, "ask": 1, "deny": 2}

func (c *corpusCase) options() Options {
	if c.Shell == "zsh" {
		return Options{Dialect: Zsh, Dir: "/w/app", Home: "/home/u"}
	}
	return Options{Dir: "/w/app", Home: "/home/u"}
}

func describe(s *Script) string {
	var b strings.Builder
	for _, c := range s.Commands {
		b.WriteString("\n    " + c.Text())
		if len(c.Via) > 0 {
			b.WriteString(" via " + strings.Join(c.Via, " | "))
		}
		if len(c.Effects) > 0 {
			b.WriteString(" effects " + strings.Join(effectTexts(c), ", "))
		}
		for _, w := range c.Writes {
			b.WriteString(" writes " + w.Path.Value)
		}
		if c.DenyOnly {
			b.WriteString(" (deny only)")
		}
		if c.Escalates {
			b.WriteString(" (escalates)")
		}
	}
	for _, p := range s.Problems {
		b.WriteString("\n    problem " + p.Code + ": " + p.Text)
	}
	return b.String()
}

// external lists cases that need more than the text: the file system, or the identity of a project.
var external = map[string]string{
	"b392-path": "a symbolic link: the caller resolves what Reads name",
}

func testBypass(t *testing.T, cases []corpusCase) {
	classes := map[string][2]int{}
	for _, c := range cases {
		_, class, _ := strings.Cut(c.ID, "-")
		s := Parse(c.Cmd, c.options())
		got := judge(s, c.AllowRules, c.DenyRules, c.AllowWrites)
		n := classes[class]
		n[0]++
		if got != c.Expect {
			n[1]++
		}
		classes[class] = n
		if severity[got] < severity[c.MinExpect] && external[c.ID] == "" {
			t.Errorf("%s: %q\n  got %s, want at least %s (%s)\n  allow %q deny %q%s", c.ID, c.Cmd, got, c.MinExpect, c.Why, c.AllowRules, c.DenyRules, describe(s))
		}
	}
	for class, n := range classes {
		t.Logf("%-14s %3d cases, %d not exactly as expected", class, n[0], n[1])
	}
}

func testBenign(t *testing.T, cases []corpusCase) {
	bad := 0
	for _, c := range cases {
		s := Parse(c.Cmd, c.options())
		if got := judge(s, c.AllowRules, c.DenyRules, c.AllowWrites); got != "allow" {
			bad++
			t.Logf("%s: %q\n  got %s (%s)\n  allow %q%s", c.ID, c.Cmd, got, c.Why, c.AllowRules, describe(s))
		}
	}
	rate := 100 * float64(len(cases)-bad) / float64(len(cases))
	t.Logf("%d of %d allowed: %.1f%%", len(cases)-bad, len(cases), rate)
	if rate < 97 {
		t.Errorf("%.1f%% of the benign commands are allowed, want 97%%", rate)
	}
}

func testAlways(t *testing.T, cases []corpusCase) {
	for _, c := range cases {
		s := Parse(c.Cmd, c.options())
		var offered, defaults []string
		for i := range s.Commands {
			for _, p := range Patterns(&s.Commands[i]) {
				offered = append(offered, p.Text)
				if p.Default {
					defaults = append(defaults, p.Text)
				}
			}
		}
		if len(s.Problems) > 0 {
			offered, defaults = nil, nil
		}
		for _, w := range c.Want {
			if strings.ContainsAny(w, "(+") || strings.Contains(w, " GET ") {
				continue // described in words
			}
			found := false
			for _, o := range offered {
				found = found || o == w
			}
			if !found {
				t.Errorf("%s: %q offers %q, want %q", c.ID, c.Cmd, offered, w)
			}
		}
		if len(c.Want) == 0 && len(offered) > 0 {
			t.Errorf("%s: %q offers %q, want nothing", c.ID, c.Cmd, offered)
		}
		if c.ThenCmd == "" {
			continue
		}
		then := Parse(c.ThenCmd, c.options())
		if got := judge(then, defaults, nil, nil); got != c.ThenExpect {
			t.Errorf("%s: after %q granted %q, %q is %s, want %s (%s)%s", c.ID, c.Cmd, defaults, c.ThenCmd, got, c.ThenExpect, c.Why, describe(then))
		}
	}
}

func TestCorpus(t *testing.T) {
	t.Run("bypass", func(t *testing.T) { testBypass(t, readCorpus(t, "testdata/bypass.jsonl")) })
	t.Run("benign", func(t *testing.T) { testBenign(t, readCorpus(t, "testdata/benign.jsonl")) })
	t.Run("always", func(t *testing.T) { testAlways(t, readCorpus(t, "testdata/always.jsonl")) })
}

// TestExternalCorpus runs cases in the same format that are stored elsewhere.
func TestExternalCorpus(t *testing.T) {
	dir := os.Getenv("CALLGATE_SHELL_CORPUS")
	if dir == "" {
		t.Skip("CALLGATE_SHELL_CORPUS names no directory")
	}
	t.Run("bypass", func(t *testing.T) { testBypass(t, readCorpus(t, dir+"/shell-bypass.jsonl")) })
	t.Run("benign", func(t *testing.T) { testBenign(t, readCorpus(t, dir+"/shell-benign.jsonl")) })
	t.Run("always", func(t *testing.T) { testAlways(t, readCorpus(t, dir+"/shell-always.jsonl")) })
}

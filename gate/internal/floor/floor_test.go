package floor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
)

func TestEmbeddedAddresses(t *testing.T) {
	expression := regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*:[/\\]{1,4}[^\s"'<>]+`)
	check := func(t rapid.TB, text string) {
		if got, want := EmbeddedAddresses(text, 64), expression.FindAllString(text, 64); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	check(t, strings.Repeat("see http://a.example/b and 1a-b:\\\\x, ", 100))
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringMatching(`[aZ0:/\\\\ +.\-"<\né]{0,24}`).Draw(t, "text")) })
}

// TestQuickLooksPassNothingOver checks each quick look against what it must not miss, in upper and lower case.
func TestQuickLooksPassNothingOver(t *testing.T) {
	for _, store := range []string{"/Users/u/Library/Keychains", "~/ID_RSA", `C:\\Users\\u\\_netrc`, "/etc/sudoers", "/ETC/SHADOW"} {
		if tools.CredentialStore(store) != "" && !MayNameStore([]byte(`{"path":"`+store+`"}`)) {
			t.Errorf("%s: the quick look passes over a store", store)
		}
	}
	for _, host := range []string{"METADATA.GOOGLE.INTERNAL", "Metadata.Goog", "INSTANCE-DATA", "RANCHER-METADATA"} {
		if metadataIn(host, true) == "" {
			t.Errorf("%s: no metadata service", host)
		}
	}
	if text := strings.Repeat("http://a.example/ ", 100) + "http://169.254.169.254/"; metadataIn(text, false) == "" {
		t.Error("a hundred addresses hide the one behind them")
	}
	for _, word := range []string{"--permission-mode=BYPASSPERMISSIONS", "--approval-mode=YOLO", "--ask-for-approval=NEVER", "--sandbox=DANGER-FULL-ACCESS", "--approval-mode=AUTO_EDIT"} {
		f := &check{a: &tools.Analysis{Commands: []tools.CommandView{{Argv: []string{"agent", word}}}}}
		if f.disarms() == "" {
			t.Errorf("%s takes no permissions off", word)
		}
	}
	expression := regexp.MustCompile(`(?i)upload|send|attach|post|share|mail|submit|publish|push|transfer|export|import|sync`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z_é]?((?i)up|load|send|at|tach|post|share|mail|submit|publish|push|trans|fer|ex|port|im|sync|[a-zſé_]){0,4}`).Draw(t, "name")
		if saysSends(name) != expression.MatchString(name) {
			t.Errorf("%q says that it sends: %v", name, saysSends(name))
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(?i)[a-z/ ]{0,3}[/ "=](login data|_netrc|library/keychains|etc/(shadow|gshadow|sudoers)|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|wallet\.dat|key4\.db|x\.tfstate)[" ]?`).Draw(t, "text")
		if tools.CredentialStore(text) != "" && !strings.Contains(text, "ſ") && !MayNameStore([]byte(text)) {
			t.Errorf("%q: the quick look passes over a store", text)
		}
	})
}

// TestStatementsThatLoseData finds the statements wherever they stand, as expressions over the whole text do.
func TestStatementsThatLoseData(t *testing.T) {
	sql := regexp.MustCompile(`(?i)\b(?:drop\s+(?:database|schema|table|owned|keyspace|user|role)|truncate(?:\s+table)?\s+["\w\x60\[]|delete\s+from\s+(?:"[^"]*"|[\w.])+\s*(?:;|$)|detach\s+database)`)
	graph := regexp.MustCompile(`(?i)\bmutation\b[^{]*\{[^}]*?\b\w*(?:delete|destroy|drop|purge|terminate|wipe)\w*\s*[({]`)
	part := rapid.StringMatching(`(?i)drop|table|schema|user|[kK\x{212a}]eyspace|truncate|delete|from|x;|detach|database|mutation|\{|\(|\}|purge|[\s\v]|[a-zſé_;"."]`)
	rapid.Check(t, func(t *rapid.T) {
		between := rapid.SampledFrom([]string{"", " ", "\n "}).Draw(t, "between")
		text := strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 9000}).Draw(t, "before")) + strings.Join(rapid.SliceOfN(part, 0, 9).Draw(t, "parts"), between)
		said := facts.TextsOf(jsonx.Quote(text))
		if want := sql.MatchString(text) || graph.MatchString(text); len(said) != 1 || (losing(&said[0]) != "") != want {
			t.Errorf("%q loses data: %v", text[max(0, len(text)-200):], want)
		}
	})
}

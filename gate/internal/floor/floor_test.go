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

// TestQuickLooksPassNothingOver holds each quick look against what it spares, in any case of the letters.
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
		f := &floored{a: &tools.Analysis{Commands: []tools.CommandView{{Argv: []string{"agent", word}}}}}
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
		text := rapid.StringMatching(`(?i)[a-z;{]?(drop[\s\v]{0,2}(table|user)|truncate\s?(table)?\s?["a]|delete\s?from\s?x;?|detach\s?database|mutation[ a]?\{?\s?(delete|purge)x?[({]?)[a-zſ;{ ]?`).Draw(t, "text")
		said := facts.TextsOf(jsonx.Quote(text))
		if want := losingSQL.MatchString(text) || losingGraphQL.MatchString(text); len(said) != 1 || (losing(&said[0]) != "") != want {
			t.Errorf("%q loses data: %v", text, want)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(?i)[a-z/ ]{0,3}[/ "=](login data|_netrc|library/keychains|etc/(shadow|gshadow|sudoers)|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|wallet\.dat|key4\.db|x\.tfstate)[" ]?`).Draw(t, "text")
		if tools.CredentialStore(text) != "" && !strings.Contains(text, "ſ") && !MayNameStore([]byte(text)) {
			t.Errorf("%q: the quick look passes over a store", text)
		}
	})
}

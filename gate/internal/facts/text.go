package facts

import (
	"slices"
	"strings"
	"sync"

	"callgate/audit"
	"callgate/internal/address"
	"callgate/internal/jsonx"
	"callgate/internal/textscan"
)

// Text is one string of a call's arguments, in the forms that checks search. Each form is made only once, because
// arguments can be as long as files and the call waits.
type Text struct {
	Said  string
	Lower string
	ascii bool
	Grams *textscan.Grams // of Lower if that is long, else nil

	secret func() bool // HoldsSecret of a long text, computed once; nil for others
}

// TextsOf returns every string in the arguments, member names included.
func TextsOf(arguments []byte) (texts []Text) {
	texts = make([]Text, 0, 4)
	for said := range jsonx.SharedStrings(arguments) {
		t := Text{Said: said, ascii: textscan.IsASCII(said)}
		if t.ascii {
			t.Lower = textscan.Lower(said)
		} else {
			t.Lower = strings.ToLower(said)
		}
		if len(t.Lower) >= textscan.Long {
			t.Grams = new(textscan.Grams)
			t.Grams.Of(t.Lower)
			t.secret = sync.OnceValue(func() bool { return holdsSecret(said) })
		}
		texts = append(texts, t)
	}
	return texts
}

// Holds reports whether the text contains the word in any case. word is in lower case.
func (t *Text) Holds(word string) bool { return t.MayHold(word) && strings.Contains(t.Lower, word) }

// MayHold reports whether the text may contain the word, as far as Grams can tell.
func (t *Text) MayHold(word string) bool { return t.Grams == nil || t.Grams.MayHold(word) }

// HoldsSecret reports whether audit.Secrets finds a credential in the text.
func (t *Text) HoldsSecret() bool {
	if t.secret == nil {
		return holdsSecret(t.Said)
	}
	return t.secret()
}

func holdsSecret(text string) bool {
	for range audit.Secrets(text) {
		return true
	}
	return false
}

// HoldsAny reports whether the text contains one of the words in any case. The words are in lower case.
func (t *Text) HoldsAny(words []string) bool { return slices.ContainsFunc(words, t.Holds) }

// Plain returns address.Plain of the text.
func (t *Text) Plain() string {
	if t.ascii && strings.IndexByte(t.Said, '%') < 0 {
		return t.Lower
	}
	return address.Plain(t.Said)
}

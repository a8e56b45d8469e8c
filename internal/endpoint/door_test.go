package endpoint

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"
)

// A token that cannot be read any more keeps its own client out, and nobody else.
func TestTokenThatCannotBeRead(t *testing.T) {
	var fault error
	door := NewTokens(
		Token{Name: "gone", Secret: func() (string, error) { return "first", fault }},
		Token{Name: "there", Secret: func() (string, error) { return "second", nil }})
	admit := func(token string) Principal {
		door.read = time.Time{}
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		who, err := door.Admit(r)
		if (err != nil) != (who.Principal == "") {
			t.Errorf("%q, %v", who.Principal, err)
		}
		return who.Principal
	}
	if a, b := admit("first"), admit("second"); a != "gone" || b != "there" {
		t.Errorf("both there: %q, %q", a, b)
	}
	fault = errors.New("no such file")
	if a, b, c := admit("first"), admit("second"), admit(""); a != "" || b != "there" || c != "" {
		t.Errorf("one gone: %q, %q, %q", a, b, c)
	}
}

package endpoint

import (
	"errors"
	"io/fs"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A token that can no longer be read keeps out its own client, and nobody else.
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

// A token that cannot be read for a moment is not revoked: hosts that are in stay in, and nobody else comes in.
func TestTokenThatCannotBeReadForAMoment(t *testing.T) {
	for what, c := range map[string]struct {
		fault error
		stays bool
	}{
		"no descriptor": {&fs.PathError{Op: "open", Path: "token", Err: syscall.EMFILE}, true},
		"disk":          {&fs.PathError{Op: "read", Path: "token", Err: syscall.EIO}, true},
		"gone":          {&fs.PathError{Op: "open", Path: "token", Err: syscall.ENOENT}, false},
		"cut off":       {errors.New("a token has at least 24 characters"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var fault error
			door := NewTokens(Token{Name: "laptop", Secret: func() (string, error) { return "first", fault }})
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("Authorization", "Bearer first")
			who, err := door.Admit(r)
			if err != nil {
				t.Fatal(err)
			}
			fault = c.fault
			time.Sleep(fresh)
			if _, err := door.Admit(r); err == nil || door.holding()(who) != c.stays {
				t.Errorf("%s: let in: %t, stays: %t", what, err == nil, !c.stays)
			}
			time.Sleep(unreadFor)
			if door.holding()(who) {
				t.Errorf("%s: stays for good", what)
			}
			fault = nil
			time.Sleep(fresh)
			if _, err := door.Admit(r); err != nil || !door.holding()(who) {
				t.Errorf("%s: not there again: %v", what, err)
			}
		})
	}
}

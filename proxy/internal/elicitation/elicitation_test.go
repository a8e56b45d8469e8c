package elicitation

import "testing"

func TestDecisionOf(t *testing.T) {
	for result, want := range map[string]string{
		`{"action":"accept","content":{"decision":"approve"}}`:                    "approve",
		`{"action":"accept","content":{"decision":"deny"}}`:                       "reject",
		`{"action":"decline"}`:                                                    "reject",
		`{"action":"cancel"}`:                                                     "",
		`{"action":"accept"}`:                                                     "",
		`{"action":"accept","content":{}}`:                                        "",
		`{"action":"accept","content":{"decision":"Approve"}}`:                    "",
		`{"action":"accept","content":{"decision":true}}`:                         "",
		`{"action":"accept","content":{"Decision":"approve"}}`:                    "",
		`{"action":"accept","content":{"decision":"deny","Decision":"approve"}}`:  "",
		`{"action":"decline","action":"accept","content":{"decision":"approve"}}`: "",
		`{"Action":"accept","content":{"decision":"approve"}}`:                    "",
		`[]`: "",
		``:   "",
	} {
		if got := Decision([]byte(result)); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}

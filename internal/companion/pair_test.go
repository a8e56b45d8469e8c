package companion

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// paired is what an exchange answers.
type paired struct {
	Token      string `json:"token"`
	Credential string `json:"credential"`
	Name       string `json:"name"`
}

func (r *rig) redeem(t *testing.T, code string) (int, paired) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	response, text := r.do(t, "", "POST", "/api/pair/redeem", string(body), "Origin", "http://"+r.Address(), "Sec-Fetch-Site", "same-origin")
	var p paired
	if response.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
	} else if !strings.Contains(text, CodeUnauthorized) {
		t.Errorf("%d %s", response.StatusCode, text)
	}
	return response.StatusCode, p
}

func (r *rig) mint(t *testing.T, body string) string {
	t.Helper()
	response, text := r.do(t, CredentialApprove, "POST", "/api/pair", body)
	var minted pairCode
	if err := json.Unmarshal([]byte(text), &minted); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s: %v", response.StatusCode, text, err)
	}
	if minted.ExpiresIn != 60 || len(minted.Code) != tokenLength {
		t.Errorf("minted %+v", minted)
	}
	return minted.Code
}

func TestPairing(t *testing.T) {
	r := start(t, newFakeBackend())
	for _, tt := range []struct{ body, credential, name string }{
		{`{"credential":"approve","name":"alice"}`, "approve", "alice"},
		{`{"credential":"view","name":"a\u202eb"}`, "view", "a⟨U+202E⟩b"},
		{`{}`, "view", ""},
		{`{"name":"` + strings.Repeat("x", 100) + `"}`, "view", strings.Repeat("x", maxName)},
	} {
		code := r.mint(t, tt.body)
		status, p := r.redeem(t, code)
		if status != 200 || p.Credential != tt.credential || p.Name != tt.name || p.Token != r.token(t, Credential(tt.credential)) {
			t.Errorf("%s: %d %q %q", tt.body, status, p.Credential, p.Name)
		}
		if status, _ := r.redeem(t, code); status != 401 {
			t.Errorf("%s: a used code answers %d", tt.body, status)
		}
	}
	if strings.Contains(r.log.String(), r.token(t, CredentialApprove)) {
		t.Error("the log holds a credential")
	}
}

func TestPairingIsRefused(t *testing.T) {
	r := start(t, newFakeBackend())
	origin := []string{"Origin", "http://" + r.Address()}
	for _, tt := range []struct {
		name       string
		credential Credential
		path, body string
		headers    []string
		want       int
	}{
		{"mint without a credential", "", "/api/pair", `{}`, nil, 401},
		{"mint with view", CredentialView, "/api/pair", `{}`, nil, 403},
		{"mint with mcp", CredentialMCP, "/api/pair", `{}`, nil, 401},
		{"mint the mcp credential", CredentialApprove, "/api/pair", `{"credential":"mcp"}`, nil, 400},
		{"mint no JSON", CredentialApprove, "/api/pair", `x`, nil, 400},
		{"mint as a form", CredentialApprove, "/api/pair", `{}`, []string{"Content-Type", "text/plain"}, 415},
		{"redeem as a form", "", "/api/pair/redeem", `{"code":"x"}`, []string{"Content-Type", "text/plain"}, 415},
		{"redeem from a foreign page", "", "/api/pair/redeem", `{"code":"x"}`, []string{"Origin", "http://evil.example"}, 403},
		{"redeem cross-site", "", "/api/pair/redeem", `{"code":"x"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"redeem no JSON", "", "/api/pair/redeem", `x`, origin, 400},
		{"redeem twice named", "", "/api/pair/redeem", `{"code":"x","code":"y"}`, origin, 400},
		{"redeem a wrong code", "", "/api/pair/redeem", `{"code":"x"}`, origin, 401},
		{"redeem an empty code", "", "/api/pair/redeem", `{}`, origin, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if response, body := r.do(t, tt.credential, "POST", tt.path, tt.body, tt.headers...); response.StatusCode != tt.want {
				t.Errorf("%d, want %d: %s", response.StatusCode, tt.want, body)
			}
		})
	}
}

func TestPairingGivesTheCredentialOfNow(t *testing.T) {
	r := start(t, newFakeBackend())
	code := r.mint(t, `{"credential":"approve"}`)
	if err := r.credentials.Rotate(CredentialApprove); err != nil {
		t.Fatal(err)
	}
	if status, p := r.redeem(t, code); status != 200 || p.Token != r.token(t, CredentialApprove) {
		t.Errorf("%d, another token than the rotated one", status)
	}
}

func TestPairingCodesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pairings
		old := p.mint(CredentialApprove, "")
		time.Sleep(codeLife - time.Nanosecond)
		young := p.mint(CredentialApprove, "")
		time.Sleep(time.Nanosecond)
		if _, ok, _ := p.redeem(old); ok {
			t.Error("a code worked after its time")
		}
		if found, ok, _ := p.redeem(young); !ok || found.credential != CredentialApprove {
			t.Error("a young code did not work")
		}
	})
}

func TestPairingHoldsFewCodes(t *testing.T) {
	var p pairings
	codes := make([]string, maxCodes+1)
	for i := range codes {
		codes[i] = p.mint(CredentialView, "")
	}
	if _, ok, _ := p.redeem(codes[0]); ok {
		t.Error("the oldest code still works")
	}
	for _, code := range codes[1:] {
		if _, ok, _ := p.redeem(code); !ok {
			t.Error("a code was forgotten")
		}
	}
}

func TestPairingIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pairings
		for range maxWrongCodes {
			if _, ok, limited := p.redeem("guess"); ok || limited {
				t.Fatal("limited too early")
			}
		}
		code := p.mint(CredentialApprove, "")
		if _, ok, limited := p.redeem("guess"); ok || !limited {
			t.Error("a guess is not limited")
		}
		if _, ok, limited := p.redeem(code); !ok || limited {
			t.Error("wrong codes of others lock out the right one")
		}
		if _, ok, limited := p.redeem(code); ok || !limited {
			t.Error("a used code is taken again")
		}
		time.Sleep(wrongWhile)
		if _, ok, limited := p.redeem("guess"); ok || limited {
			t.Error("guesses are limited after the pause")
		}
	})
}

func TestPageURL(t *testing.T) {
	r := start(t, newFakeBackend())
	address, err := PageURL(t.Context(), Target{DataDir: r.dir, Client: ClientInfo{Name: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	code, ok := strings.CutPrefix(address, "http://"+r.Address()+"/#pair=")
	if status, p := r.redeem(t, code); !ok || status != 200 || p.Credential != "approve" || p.Name != "alice" {
		t.Errorf("%s opens %d %+v", address, status, p)
	}
}

// The approve credential is shown to nobody who does not hold it already.
func TestPageURLAsksForProof(t *testing.T) {
	r := start(t, newFakeBackend())
	other := start(t, newFakeBackend()) // other credentials, and another data directory
	_, err := PageURL(t.Context(), Target{DataDir: r.dir, Address: other.Address()})
	if !errors.Is(err, ErrImpostor) {
		t.Errorf("error is %v", err)
	}
	if strings.Contains(other.log.String(), "minted") {
		t.Error("a code was minted")
	}
	if _, err := PageURL(t.Context(), Target{DataDir: privateDir(t)}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("error is %v", err)
	}
}

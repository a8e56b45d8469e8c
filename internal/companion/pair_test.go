package companion

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// paired is the answer to an exchange.
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
	} else if !strings.Contains(text, wire.CodeUnauthorized) {
		t.Errorf("%d %s", response.StatusCode, text)
	}
	return response.StatusCode, p
}

func (r *rig) mint(t *testing.T, body string) string {
	t.Helper()
	response, text := r.do(t, credentials.Approve, "POST", "/api/pair", body)
	var minted wire.PairCode
	if err := json.Unmarshal([]byte(text), &minted); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s: %v", response.StatusCode, text, err)
	}
	if minted.ExpiresIn != 60 || len(minted.Code) != 43 {
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
		if status != 200 || p.Credential != tt.credential || p.Name != tt.name || p.Token != r.token(t, credentials.Credential(tt.credential)) {
			t.Errorf("%s: %d %q %q", tt.body, status, p.Credential, p.Name)
		}
		if status, _ := r.redeem(t, code); status != 401 {
			t.Errorf("%s: a used code answers %d", tt.body, status)
		}
	}
	if strings.Contains(r.log.String(), r.token(t, credentials.Approve)) {
		t.Error("the log holds a credential")
	}
}

func TestPairingIsRefused(t *testing.T) {
	r := start(t, newFakeBackend())
	origin := []string{"Origin", "http://" + r.Address()}
	for _, tt := range []struct {
		name       string
		credential credentials.Credential
		path, body string
		headers    []string
		want       int
	}{
		{"mint without a credential", "", "/api/pair", `{}`, nil, 401},
		{"mint with view", credentials.View, "/api/pair", `{}`, nil, 403},
		{"mint with mcp", credentials.MCP, "/api/pair", `{}`, nil, 401},
		{"mint the mcp credential", credentials.Approve, "/api/pair", `{"credential":"mcp"}`, nil, 400},
		{"mint no JSON", credentials.Approve, "/api/pair", `x`, nil, 400},
		{"mint as a form", credentials.Approve, "/api/pair", `{}`, []string{"Content-Type", "text/plain"}, 415},
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
	if err := r.credentials.Rotate(credentials.Approve); err != nil {
		t.Fatal(err)
	}
	if status, p := r.redeem(t, code); status != 200 || p.Token != r.token(t, credentials.Approve) {
		t.Errorf("%d, another token than the rotated one", status)
	}
}

func TestPairingCodesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pairings
		old := p.mint(credentials.Approve, "", "")
		time.Sleep(codeLife - time.Nanosecond)
		young := p.mint(credentials.Approve, "", "")
		time.Sleep(time.Nanosecond)
		if _, ok, _ := p.redeem(old); ok {
			t.Error("a code worked after its time")
		}
		if found, ok, _ := p.redeem(young); !ok || found.credential != credentials.Approve {
			t.Error("a young code did not work")
		}
	})
}

func TestPairingHoldsFewCodes(t *testing.T) {
	var p pairings
	codes := make([]string, maxCodes+1)
	for i := range codes {
		codes[i] = p.mint(credentials.View, "", "")
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
		code := p.mint(credentials.Approve, "", "")
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
	address, err := client.PageURL(t.Context(), client.Target{DataDir: r.dir, Client: wire.ClientInfo{Name: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	code, ok := strings.CutPrefix(address, "http://"+r.Address()+"/#pair=")
	if status, p := r.redeem(t, code); !ok || status != 200 || p.Credential != "approve" || p.Name != "alice" {
		t.Errorf("%s opens %d %+v", address, status, p)
	}
}

// The approve credential is shown only to a side that already holds it.
func TestPageURLAsksForProof(t *testing.T) {
	r := start(t, newFakeBackend())
	other := start(t, newFakeBackend()) // with other credentials and another data directory
	_, err := client.PageURL(t.Context(), client.Target{DataDir: r.dir, Address: other.Address()})
	if !errors.Is(err, wire.ErrImpostor) {
		t.Errorf("error is %v", err)
	}
	if strings.Contains(other.log.String(), "minted") {
		t.Error("a code was minted")
	}
	if _, err := client.PageURL(t.Context(), client.Target{DataDir: privateDir(t)}); !errors.Is(err, wire.ErrNotRunning) {
		t.Errorf("error is %v", err)
	}
}

package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// seen lists results with a credential, which is secret.
var seen = []struct{ before, secret, after, kind string }{
	{"slack ", "xoxb-1234567890-abcdefghijkl", " ok", "Slack token"},
	{`{"token":"`, "rw_Fe26.2**0123456789abcdef0123456789abcdef", `"}`, "credential"},
	{"//npm.example.com/:_authToken=", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "\n", "npm token"},
	{"export GH=", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", "", "GitHub token"},
	{"", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9u\n-----END OPENSSH PRIVATE KEY-----", "\n", "private key"},
	{`{"AccessKeyId":"`, "ASIAEXAMPLE000000000", `"}`, "AWS key"},
	{"Authorization: Bearer ", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl0", "", "JSON web token"},
	{"postgres://app:", "s3cr3t-passw0rd-of-the-db", "@db.example/x", "credential"},
	{"STRIPE=", "sk_live_51ABCdefGHIjkl", "", "Stripe key"},
	{"DB_PASSWORD=", "hunter2hunter2hunter2", "\n", "credential"},
}

func TestFindsInEveryEncoding(t *testing.T) {
	for _, s := range seen {
		var m Memory
		m.Learn(s.before+s.secret+s.after, "result of files_read")
		for name, text := range map[string]string{
			"raw":                       s.secret,
			"within":                    "curl -H 'X: " + s.secret + "' https://x.example",
			"percent":                   url.QueryEscape(s.secret),
			"base64":                    base64.StdEncoding.EncodeToString([]byte(s.secret)),
			"base64 of more":            "data=" + base64.StdEncoding.EncodeToString([]byte("a"+s.secret+"zz")),
			"base64 for URLs":           base64.RawURLEncoding.EncodeToString([]byte("xy" + s.secret)),
			"hex":                       hex.EncodeToString([]byte(s.secret)),
			"hex in upper case":         strings.ToUpper(hex.EncodeToString([]byte(s.secret))),
			"percent for each, and one": "100% " + percent(s.secret),
			"hex in a path":             "https://x.example/a/" + hex.EncodeToString([]byte(s.secret)) + "/z",
			"hex with its mark":         "0x" + hex.EncodeToString([]byte(s.secret)),
			"hex behind a digit":        "n=7" + hex.EncodeToString([]byte(s.secret)),
			"behind many words":         strings.Repeat("internationalization-and-more ", 100) + base64.StdEncoding.EncodeToString([]byte(s.secret)),
			"base64 in a base64":        base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s.secret)))),
		} {
			if f, ok := m.Find("nothing", text); !ok || f.Kind != s.kind || f.Place != "result of files_read" {
				t.Errorf("%s, %s: %v %v", s.secret, name, f, ok)
			}
		}
		if f, ok := m.Find("nothing of it", s.secret[:len(s.secret)/2]); ok && s.kind != "private key" {
			t.Errorf("%s: half of it is %v", s.secret, f)
		}
	}
}

func TestKnowsWhatIsNoSecret(t *testing.T) {
	for _, text := range []string{
		`{"nextPageToken":"CAUQAAabcdefghij0123456789"}`, `next_page_token=abcdefghij0123456789`, "password: short1", "the token of the page is here",
		"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----", "password=$DB_PASSWORD_OF_2026",
	} {
		var m Memory
		m.Learn(text, "x")
		if f, ok := m.Find(text); ok {
			t.Errorf("%s: %v", text, f)
		}
	}
}

func TestHoldsTheNewest(t *testing.T) {
	var m Memory
	for i := range remembered + 10 {
		m.Learn(fmt.Sprintf("token=abcdefghijklmnop%06d", i), "x")
	}
	if _, ok := m.Find("abcdefghijklmnop000003"); ok || len(m.prints) != remembered {
		t.Error("the oldest is held")
	}
	if _, ok := m.Find(fmt.Sprintf("abcdefghijklmnop%06d", remembered+9)); !ok {
		t.Error("the newest is not held")
	}
}

// TestFindWaitsForWhatIsBeingLearned checks that the next call knows what a result taught, however soon it comes.
func TestFindWaitsForWhatIsBeingLearned(t *testing.T) {
	var m Memory
	m.Begin()
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, ok := m.Find("xoxb-1234567890-abcdefghijkl"); !ok {
			t.Error("not found")
		}
	})
	m.Learn("xoxb-1234567890-abcdefghijkl", "x")
	m.End()
	wait.Wait()
}

func FuzzFind(f *testing.F) {
	for _, s := range seen {
		f.Add(s.before+s.secret+s.after, s.secret)
	}
	f.Fuzz(func(t *testing.T, text, later string) {
		var m Memory
		m.Learn(text, "x")
		m.Find(later)
		if _, ok := m.Find(text); ok != (len(m.prints) > 0) {
			t.Errorf("%q teaches %d credentials, and it is %v that it holds one", text, len(m.prints), ok)
		}
	})
}

// FuzzSays compares the answers about digits with those of looking at every decoded byte.
func FuzzSays(f *testing.F) {
	for _, text := range []string{"", "0123456789", "012345678", "012345678\x00901234567\x00", "\x00\xff 0123456789", "\x80\x800123456789~", "01234567\n90123456\x7f789", "\xff\xfe\xfd\xfc"} {
		f.Add([]byte(text))
	}
	slow := func(decoded []byte) bool {
		run := 0
		for _, c := range decoded {
			if run++; c < ' ' || c > '~' {
				run = 0
			}
			if run == shortestRun {
				return true
			}
		}
		return false
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, digits := range []string{hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b))} {
			if got := hexSays(digits); got != slow(b) {
				t.Errorf("%s: %v", digits, got)
			}
		}
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			part := e.EncodeToString(b)
			if got := base64Says(part); got != slow(b) {
				t.Errorf("%s: %v", part, got)
			}
			to := make([]byte, len(b))
			if n, err := decode64(to, []byte(part)); err != nil || !bytes.Equal(to[:n], b) {
				t.Errorf("%s: %q %v", part, to[:n], err)
			}
		}
	})
}

func BenchmarkForm100KiB(b *testing.B) {
	noise := make([]byte, 75<<10)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	for name, part := range map[string]string{"hex": "0123456789abcdef", "prose": "They ask for the desk of Mike's mother, and you say: it is at the usual place. ", "base64": base64.StdEncoding.EncodeToString([]byte("some words or \x00\x01\x02")), "picture": base64.StdEncoding.EncodeToString(noise)} {
		text := strings.Repeat(part, 100<<10/len(part))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Form(text, nil, nil)
			}
		})
	}
}

// percent percent-encodes every byte of a text.
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02x", text[i])
	}
	return b.String()
}

// TestFormsBehindDecoys checks that a decoy of the same form does not hide a credential.
func TestFormsBehindDecoys(t *testing.T) {
	const token = "glpat-x7Kq2mZ9vR4tLw8pYd3s"
	if f, ok := Form(strings.Repeat("glpat-aaaaaaaaaaaaaaaaaaaa ", 100)+token, nil, nil); !ok || f.Value != token {
		t.Errorf("%v %v", f, ok)
	}
}

// TestResultsDoNotCrowdOut checks that a result with many credentials makes a memory forget no other.
func TestResultsDoNotCrowdOut(t *testing.T) {
	var m Memory
	m.LearnVariables("API_KEY=correct-horse-battery-1", ".env")
	m.Learn("the token=ghp_0123456789abcdefghijABCDEFGHIJ012345", "result of files_read")
	for i := range 2 * remembered {
		m.Learn(fmt.Sprintf("token=ghp_%036d", i), "result of web_fetch")
	}
	m.LearnVariables("DB_PASSWORD=correct-horse-battery-2", ".env")
	m.Learn("token=ghp_abcdefghijABCDEFGHIJ0123456789012345", "result of web_fetch")
	m.LearnVariables("GH=ghp_abcdefghijABCDEFGHIJ0123456789012345", ".env")
	for i := range 2 * remembered {
		m.Learn(fmt.Sprintf("token=ghp_1%035d", i), "result of web_fetch")
	}
	m.Learn(fmt.Sprintf("token=ghp_%036d", 2*remembered-1), "result of web_fetch")
	if f, _ := m.Find("ghp_abcdefghijABCDEFGHIJ0123456789012345"); f.Place != ".env" {
		t.Errorf("a value of .env that a result held before: %v", f)
	}
	for _, secret := range []string{"correct-horse-battery-1", "correct-horse-battery-2", "ghp_0123456789abcdefghijABCDEFGHIJ012345", fmt.Sprintf("ghp_%036d", 2*remembered-1)} {
		if _, ok := m.Find(secret); !ok {
			t.Errorf("%s is forgotten", secret)
		}
	}
	if n := len(m.prints); n != remembered {
		t.Errorf("%d credentials are held", n)
	}
}

// TestFindBut checks that a credential that is left out hides no other.
func TestFindBut(t *testing.T) {
	var m Memory
	const own, other = "ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_abcdefghijABCDEFGHIJ0123456789012345"
	m.Learn("token="+own, "result of own_list")
	m.Learn("token="+other, "result of mail_read")
	leftOut := func(f Found) bool { return f.Place == "result of own_list" }
	if f, ok := m.FindBut(leftOut, own+" "+other); !ok || f.Place != "result of mail_read" {
		t.Errorf("%v, %v", f, ok)
	}
	if f, ok := m.FindBut(leftOut, own); ok {
		t.Errorf("%v", f)
	}
}

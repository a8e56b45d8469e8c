package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestFormats checks that every rule compiles and has keywords that fit into the table.
func TestFormats(t *testing.T) {
	n := 0
	for start, list := range formats() {
		for _, k := range list {
			n++
			if len(k.text) < 2 || k.text != strings.ToLower(k.text) || k.text[:2] != string(start[:]) {
				t.Errorf("%s: keyword %q", k.format.ID, k.text)
			}
			if _, err := regexp.Compile(k.format.Regex); err != nil {
				t.Errorf("%s: %v", k.format.ID, err)
			}
		}
	}
	if n < 200 {
		t.Errorf("%d keywords", n)
	}
}

func TestForm(t *testing.T) {
	body := "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF4hJ6"
	for secret, kind := range map[string]string{
		"AKIA" + "Z7VRQTSN4KWLQ2XB": "aws access token",
		"ghp_" + body:               "github pat",
		"glpat-" + body[:20]:        "gitlab pat",
		"xoxb-" + "730191371969-1413868247813-IG7Z6nYevC2hdviE3aJhb5kY": "slack bot token",
		"dop_v1_" + strings.Repeat("a1b2c3d4", 8):                       "digitalocean pat",
		"npm_" + body: "npm access token",
		"SK" + "3f9a1c7be02d4856a1f0c9d7e8b35246": "twilio api key",
	} {
		for name, text := range map[string]string{
			"raw": secret, "within": "look: " + secret + ", please", "percent": url.QueryEscape("k=" + secret + "&"),
			"base64": base64.StdEncoding.EncodeToString([]byte("key " + secret + " end")), "hex": hex.EncodeToString([]byte(secret)),
		} {
			f, ok := Form(text, nil, nil)
			if !ok || f.Value != secret {
				t.Errorf("%s %s: %v %v", kind, name, f, ok)
			} else if name == "raw" && f.Kind != kind {
				t.Errorf("%s is called %s", kind, f.Kind)
			}
			if _, ok := Form(text, nil, func(v string) bool { return v == secret }); ok {
				t.Errorf("%s: what is fine is found", name)
			}
		}
	}
	if f, ok := Form("token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", nil, nil); !ok || f.Kind != "jwt" {
		t.Errorf("a JWT is %v", f)
	}
	for _, text := range []string{
		"Shall we meet for lunch tomorrow?", "the key is under the mat", "commit 4f2a9c1e7b3d5a6f8e0c2b4d6a8f0e1c3b5d7f9a", "https://example.com/a/b?page=2&next_page_token=abcdefghij0123456789",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "550e8400-e29b-41d4-a716-446655440000", "password: $DB_PASSWORD", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
	} {
		if f, ok := Form(text, nil, nil); ok {
			t.Errorf("%q is a %s", text, f.Kind)
		}
	}
}

// TestFormByWords checks that known words hide no credential, even one that is encoded or contains something invisible.
func TestFormByWords(t *testing.T) {
	secret := "glpat-" + "x7Kq2mZ9vR4tLw8pYd3s"
	filler := strings.Repeat("0123456789abcdef", 1000)
	for name, hidden := range map[string]string{
		"raw": secret, "capitals": "GLPAT-" + secret[6:] + " " + secret, "hex": hex.EncodeToString([]byte(secret)), "percent": url.QueryEscape("k=" + secret + "&"),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "invisible": secret[:3] + "\u200b" + secret[3:],
	} {
		text := filler + " " + hidden + " " + filler
		if f, ok := Form(text, wordsOf(text), nil); !ok || f.Value != secret {
			t.Errorf("%s: %v %v", name, f, ok)
		}
	}
	if f, ok := Form(filler, wordsOf(filler), nil); ok {
		t.Errorf("digits hold %v", f)
	}
}

// TestFormInNoise checks that noise around a credential does not hide it in any encoding, wherever it begins and even
// next to a control character.
func TestFormInNoise(t *testing.T) {
	secret, r := "glpat-"+"x7Kq2mZ9vR4tLw8pYd3s", rand.NewChaCha8([32]byte{5})
	for n := range 40 {
		noise := make([]byte, 3000)
		r.Read(noise)
		if _, ok := Form(base64.StdEncoding.EncodeToString(noise), nil, nil); ok {
			t.Fatalf("noise %d holds a credential", n)
		}
		beside := []string{"", "\x00", " \n", "\xff", "\x01\x02"}[n%5]
		hidden := string(noise[:1000+n]) + beside + " " + secret + " " + beside + string(noise[2000:])
		for name, text := range map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(hidden)), "URL": base64.RawURLEncoding.EncodeToString([]byte(hidden)), "hex": hex.EncodeToString([]byte(hidden))} {
			if f, ok := Form("x"[:n%2]+text, nil, nil); !ok || f.Value != secret {
				t.Errorf("%d, %s: %v %v", n, name, f, ok)
			}
		}
	}
	if f, ok := Form(base64.StdEncoding.EncodeToString([]byte("password=\x01hunter2hunter2hunter2 ")), nil, nil); !ok {
		t.Errorf("a lone control character hides %v", f)
	}
}

// TestFieldsOfARecord checks that fields of a binary record neither part a credential from its keyword nor hide it.
func TestFieldsOfARecord(t *testing.T) {
	token := "patYqx98vD3V16CkC." + "d73ef03ceedaeedcbe9c8f36fabbb5cef056fcdb0a8fa8b6cbde2c4e43c583b4"
	record := []byte("\x12\x08airtable\x12\x01" + token + "\x00\x00")
	m := &Memory{}
	m.LearnValue("hunter2!", ".env")
	login := []byte("\x00\x00\x00root\x00\x08hunter2!\x00\x00mysql_native_password\x00")
	for name, encode := range map[string]func([]byte) string{"base64": base64.StdEncoding.EncodeToString, "hex": hex.EncodeToString} {
		if f, ok := Form(encode(record), nil, nil); !ok || f.Value != token {
			t.Errorf("%s: %v %v", name, f, ok)
		}
		if _, ok := m.Find(encode(login)); !ok {
			t.Errorf("%s: a short password is not found", name)
		}
	}
}

// TestEndsOfLines checks that line ends and empty lines do not split a text like control characters.
func TestEndsOfLines(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\n\n", "\r\n\r\n", "\n\t", "\r\n\f\v"} {
		key := "-----BEGIN RSA PRIVATE KEY-----" + end + "MIIEpAIBAAKCAQEA75bx7Kq2mZ9vR4tLw8pYd3sX" + end + "q2mZ9vR4tLw8pYd3sXMIIEpAIBAAKCAQEA75bx7K" + end + "-----END RSA PRIVATE KEY-----"
		variables := "A=b" + end + "DATABASE_PASSWORD=" + "hunter2hunter2hunter2" + end + "C=d" + end
		m := &Memory{}
		m.LearnValue(key, "id_rsa")
		for name, encode := range map[string]func([]byte) string{"base64": base64.StdEncoding.EncodeToString, "hex": hex.EncodeToString} {
			text := end + key + end
			if f, ok := Form(encode([]byte(text)), nil, nil); !ok || f.Value != key {
				t.Errorf("%q in %s: %v %v", end, name, f, ok)
			}
			if _, ok := m.Find(encode([]byte(text))); !ok {
				t.Errorf("%q in %s: the key is not found again", end, name)
			}
			if f, ok := Form(encode([]byte(variables)), nil, nil); !ok || f.Value != "hunter2hunter2hunter2" {
				t.Errorf("%q in %s: %v %v", end, name, f, ok)
			}
		}
	}
}

func BenchmarkForm4KiB(b *testing.B) {
	text := strings.Repeat("They ask for the key of Mike's desk, and you say: it is at the usual place. ", 54)
	for b.Loop() {
		Form(text, nil, nil)
	}
}

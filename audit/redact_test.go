package audit

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/testserver/waits"
)

// Tokens of the right form, put together here so that no scanner takes this file for a leak.
var (
	aws    = "AKIA" + "IOSFODNN7EXAMPLE"
	github = "ghp_" + strings.Repeat("a1B2", 9)
	slack  = "xoxb-" + "123456789012-abcdefABCDEF"
	jwt    = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
	openai = "sk-" + "proj-abc123DEF456ghi789JKL"
	random = "q8Zr2LmX0vBn" + "7TcYwK3sPd9H"
	pem    = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKC\n-----END RSA PRIVATE " + "KEY-----"
)

var textCases = []struct{ name, in, want string }{
	{"nothing", `runs "git status" in "/home/alice"`, `runs "git status" in "/home/alice"`},
	{"empty", "", ""},
	{"AWS", "key " + aws + ".", "key " + redacted},
	{"GitHub", "git clone https://" + github + "@github.com/a/b", "git clone https://" + redacted + "@github.com/a/b"},
	{"GitHub, fine-grained", "github_pat_" + strings.Repeat("aB3_", 10), redacted},
	{"Slack", "(" + slack + ")", "(" + redacted + ")"},
	{"JWT", `"` + jwt + `"`, `"` + redacted + `"`},
	{"sk", "use " + openai + " here", "use " + redacted + " here"},
	{"sk in prose", "a sk-learn-like-model-for-everyone", "a sk-learn-like-model-for-everyone"},
	{"sk many times", strings.Repeat("sk-", 1000), strings.Repeat("sk-", 1000)},
	{"within a word", "mask-" + strings.Repeat("abcdef1", 4) + " x" + aws, "mask-" + strings.Repeat("abcdef1", 4) + " x" + aws},
	{"PEM", "cert:\n" + pem + "\nend", "cert:\n" + redacted + "\nend"},
	{"PEM without an end", pem[:50], redacted},
	{"PEM with a broken end", pem[:len(pem)-3], redacted},
	{"Bearer", "sends Bearer abcdef123456", "sends " + redacted},
	{"bearer in prose", "the bearer authenticates", "the bearer authenticates"},
	{"header", `curl -H "Authorization: Basic dXNlcjpwYXNz" https://x`, `curl -H "Authorization: ` + redacted + `" https://x`},
	{"cookie header", "curl -H 'Cookie: a=b; c=d' x", "curl -H 'Cookie: " + redacted + "' x"},
	{"header line", "X-Api-Key: abc\nAccept: */*", "X-Api-Key: " + redacted + "\nAccept: */*"},
	{"assignment", "DB_PASSWORD=hunter2 ./run --fast", "DB_PASSWORD=" + redacted + " ./run --fast"},
	{"quoted assignment", `export API_KEY="a b"; ls`, `export API_KEY="` + redacted + `"; ls`},
	{"single-quoted", `PASS='a\' ls`, `PASS='` + redacted + `' ls`},
	{"escaped blank", `PASSWORD=a\ b ls`, `PASSWORD=` + redacted + ` ls`},
	{"variable", "TOKEN=$GITHUB_TOKEN curl --token ${x} $y", "TOKEN=$GITHUB_TOKEN curl --token ${x} $y"},
	{"braces of something else", `{"token": ${x}}, {secret: abc}`, `{"token": ${x}}, {secret: [redacted]}`},
	{"variable with a default", "TOKEN=${X:-abc} ls", "TOKEN=[redacted]} ls"},
	{"not just a variable", "TOKEN=$GITHUB_TOKENabc!", "TOKEN=" + redacted},
	{"option", "login --password hunter2 --user bob", "login --password " + redacted + " --user bob"},
	{"option with =", "login --client-secret=s3cr3t", "login --client-secret=" + redacted},
	{"option with quotes", `login --token "a b" c`, `login --token "` + redacted + `" c`},
	{"option without value", "login --password --user bob", "login --password --user bob"},
	{"option at the end", "login --password", "login --password"},
	{"file of a secret", "login --password-file /run/x", "login --password-file /run/x"},
	{"query", "GET /?a=1&access_token=abc&b=2", "GET /?a=1&access_token=" + redacted + "&b=2"},
	{"YAML", "password: hunter2\nuser: bob", "password: " + redacted + "\nuser: bob"},
	{"JSON", `{"password": "hun\"ter2", "user": "bob"}`, `{"password": "` + redacted + `", "user": "bob"}`},
	{"JSON in JSON", `{\"apiKey\":\"abc\",\"n\":1}`, `{\"apiKey\":\"` + redacted + `\",\"n\":1}`},
	{"code", `secret := "abc"`, `secret := "` + redacted + `"`},
	{"URL", "psql postgres://bob:hunter2@db:5432/x", "psql postgres://bob:" + redacted + "@db:5432/x"},
	{"URL without password", "ssh://git@host:22/x https://h:80/a@b", "ssh://git@host:22/x https://h:80/a@b"},
	{"redacted before", "password=[redacted] token: [redacted]", "password=[redacted] token: [redacted]"},
	{"two", aws + " " + slack, redacted + " " + redacted},
	{"invalid UTF-8", "\xffpassword=\xff!", "\uFFFDpassword=" + redacted},
	{"key that looks random", "license_key=" + random + " next", "license_key=" + redacted + " next"},
	{"key option that looks random", "sign --key " + random + " x", "sign --key " + redacted + " x"},
	{"key that is a name", "key=user_profile_settings_page sort_key=" + random, "key=user_profile_settings_page sort_key=" + random},
	{"key that is short", "key=a1b2c3", "key=a1b2c3"},
	{"random under another name", "sha=" + random, "sha=" + random},
	{"ends at the name", "password=", "password="},
	{"ends at a quote", `password="`, `password="`},
	{"ends at a backslash", `password=\`, `password=\`},
}

func TestRedactText(t *testing.T) {
	for _, tt := range textCases {
		t.Run(tt.name, func(t *testing.T) {
			if got := redactText(tt.in, 4<<10); got != tt.want {
				t.Errorf("%q\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

var argumentCases = []struct{ name, in, want string }{
	{"nothing", `{"path":"/a","n":1.0e5}`, `{"path":"/a","n":1.0e5}`},
	{"spelling stays", `{ "b" : "\u0041\/" , "a":[1 , 2.50,{}] , "b":null}`, `{"b":"\u0041\/","a":[1,2.50,{}],"b":null}`},
	{"lines", "{\n\t\"a\": \"x\"\r\n}", `{"a":"x"}`},
	{"key", `{"user":"bob","password":"hunter2"}`, `{"user":"bob","password":"[redacted]"}`},
	{"key of many spellings", `{"apiKey":"a","API-KEY":"b","x_api_key":"c"}`, `{"apiKey":"[redacted]","API-KEY":"[redacted]","x_api_key":"[redacted]"}`},
	{"escaped key", `{"p\u0061ssword":"hunter2"}`, `{"p\u0061ssword":"[redacted]"}`},
	{"deep", `[[{"a":{"token":"t","z":1}}],2]`, `[[{"a":{"token":"[redacted]","z":1}}],2]`},
	{"number", `{"pin":1234,"a":1}`, `{"pin":"[redacted]","a":1}`},
	{"object", `{"credentials":{"a":["}",{"b":"]"}]},"x":true}`, `{"credentials":"[redacted]","x":true}`},
	{"array", `{"cookies" : [ "a" , "b" ] ,"x":[]}`, `{"cookies":"[redacted]","x":[]}`},
	{"empty object", `{"auth":{},"x":1}`, `{"auth":"[redacted]","x":1}`},
	{"null", `{"secret":null}`, `{"secret":"[redacted]"}`},
	{"count of tokens", `{"max_tokens":100,"tokenizer":"x"}`, `{"max_tokens":100,"tokenizer":"x"}`},
	{"file of a secret", `{"password_file":"/run/x"}`, `{"password_file":"/run/x"}`},
	{"shape", `{"text":"use ` + aws + ` now"}`, `{"text":"use [redacted] now"}`},
	{"escaped shape", `{"text":"\u0041` + aws[1:] + `"}`, `{"text":"[redacted]"}`},
	{"shape as a name", `{"` + aws + `":1}`, `{"[redacted]":1}`},
	{"PEM", `{"f":"` + strings.ReplaceAll(pem, "\n", `\n`) + `\nx"}`, `{"f":"[redacted]\nx"}`},
	{"command", `{"command":"curl -u a -H \"Authorization: Bearer x\" y"}`, `{"command":"curl -u a -H \"Authorization: [redacted]\" y"}`},
	{"JSON in a string", `{"body":"{\"password\":\"x\",\"a\":1}"}`, `{"body":"{\"password\":\"[redacted]\",\"a\":1}"}`},
	{"key that looks random", `{"key":"` + random + `","code":"x = 1","id":"` + random + `"}`, `{"key":"[redacted]","code":"x = 1","id":"` + random + `"}`},
	{"no object", `"password=x"`, `"password=[redacted]"`},
	{"string before colon in array", `["password",":",1]`, `["password",":",1]`},
	{"lone surrogate", `{"a":"\ud800"}`, `{"$invalid":"{\"a\":\"\\ud800\"}"}`},
	{"not JSON", `{"password":"x"`, `{"$invalid":"{\"password\":\"[redacted]\""}`},
	{"two values", `{} {}`, `{"$invalid":"{} {}"}`},
	{"invalid UTF-8", "{\"a\":\"\xff\"}", "{\"$invalid\":\"{\\\"a\\\":\\\"\uFFFD\\\"}\"}"},
}

func TestRedactArguments(t *testing.T) {
	for _, tt := range argumentCases {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(redactArguments([]byte(tt.in), 4<<10, 32<<10)); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestAppendRedactsEveryDoor(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret := "password=hunter2"
	given := Record{
		Reason: secret, Summary: secret, Error: secret, Arguments: []byte(`{"password":"hunter2"}`), Digest: "abc",
		Subjects: []Subject{{Value: "ls"}, {Value: secret}},
	}
	written, err := l.Append(given)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if line := readLines(t, onlyLog(t, dir))[0]; strings.Contains(line, "hunter2") || strings.Count(line, redacted) != 5 {
		t.Errorf("line %s", line)
	}
	if written.Digest != "abc" {
		t.Errorf("digest %s changed", written.Digest)
	}
	if given.Subjects[1].Value != secret || string(given.Arguments) != `{"password":"hunter2"}` {
		t.Error("the caller's own values were changed")
	}
}

func TestTruncation(t *testing.T) {
	long := strings.Repeat("é", 3000) // 6000 bytes
	marker := fmt.Sprintf("…[truncated: 6000 bytes, sha256:%x]", sha256.Sum256([]byte(long)))
	if got, want := redactText(long, 101), strings.Repeat("é", 50)+marker; got != want {
		t.Errorf("text %q", got)
	}
	if got, want := string(redactArguments([]byte(`{"a":"`+long+`","b":1}`), 101, 32<<10)), `{"a":"`+strings.Repeat("é", 50)+marker+`","b":1}`; got != want {
		t.Errorf("arguments %s", got)
	}
	straddling := strings.Repeat("x", 90) + " " + github + strings.Repeat(" y", 5000)
	if got := redactText(straddling, 100); strings.Contains(got, "ghp_") {
		t.Errorf("a token at the cut: %q", got)
	}
	// The long secret shrinks the text, so the end of the searched part becomes visible.
	filler := "password=" + strings.Repeat("x", lookAhead+100-len("password=")-15)
	if got := redactText(filler+" "+github+strings.Repeat(" y", 5000), 100); strings.Contains(got, "ghp_") {
		t.Errorf("a token at the end of what is looked at: %q", got)
	}
}

// Every text that a caller sets is bounded and valid, whichever fields a record has.
func TestRedactBoundsEveryText(t *testing.T) {
	const limit = 200
	r := Record{Subjects: make([]Subject, 1)}
	texts := func(v reflect.Value, do func(name string, field reflect.Value)) {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.String && v.Type().Field(i).Name != "Prev" && v.Type().Field(i).Name != "Hash" { // Append sets these
				do(v.Type().Field(i).Name, f)
			}
		}
	}
	each := func(do func(name string, field reflect.Value)) {
		texts(reflect.ValueOf(&r).Elem(), do)
		texts(reflect.ValueOf(&r.Subjects[0]).Elem(), do)
	}
	each(func(_ string, field reflect.Value) { field.SetString("\xff" + strings.Repeat("x", 3*limit)) })
	r.redact(limit, 1<<20)
	each(func(name string, field reflect.Value) {
		if text := field.String(); !utf8.ValidString(text) || len(text) > limit+120 {
			t.Errorf("%s is %q", name, text)
		}
	})
}

// FuzzRedact checks that a secret is found whatever precedes it, and that every input is written as one line of JSON.
func FuzzRedact(f *testing.F) {
	for _, tt := range textCases {
		f.Add(tt.in)
	}
	for _, tt := range argumentCases {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const limit = 200
		text := redactText(s, limit)
		if !utf8.ValidString(text) || len(text) > limit+120 {
			t.Errorf("text %q", text)
		}
		other := "AKIA" + "ABCDEFGHIJ234567"
		around := redactText(s+"\n"+other+"\n", 3*len(s)+1000)
		if strings.Contains(around, other) && !strings.Contains(s, other) {
			t.Errorf("%q hides a secret that follows it", s)
		}
		raw := []byte(s)
		out := redactArguments(raw, limit, 1<<20)
		if string(raw) != s {
			t.Error("the input was changed")
		}
		if !jsontext.Value(out).IsValid(jsontext.AllowDuplicateNames(true)) || strings.ContainsAny(string(out), "\n\r") {
			t.Errorf("arguments %q are not JSON on one line", out)
		}
		r := Record{Summary: s, Arguments: raw, Subjects: []Subject{{Value: s}}}
		r.redact(limit, 1<<20)
		line, hash := appendSealed(r.appendBody(nil))
		r.Hash = hash
		back, err := decode(line[:len(line)-1])
		if err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		if got := string(back.AppendJSON(nil)) + "\n"; got != string(line) {
			t.Errorf("read and written again: %s\nwas %s", got, line)
		}
	})
}

// eachByte is nextSecret without skipping any byte.
func eachByte(s string, from int) (start, end int, ok bool) {
	for i := from; i < len(s); i++ {
		if i == 0 || !isAlnum(s[i-1]) {
			if end = shapeEnd(s, i, shapes[:]); end > 0 {
				return i, end, true
			}
		}
		switch s[i] {
		case '=', ':':
			start, end, ok = assigned(s, i)
		case '-':
			start, end, ok = dashed(s, i)
		}
		if ok {
			return start, end, true
		}
	}
	return 0, 0, false
}

// FuzzNextSecret checks that what nextSecret skips contains no secret.
func FuzzNextSecret(f *testing.F) {
	for _, c := range textCases {
		f.Add(c.in, 0)
		f.Add("a "+c.in+" 0123456789abcdef "+c.in, len(c.in)/2)
	}
	f.Fuzz(func(t *testing.T, s string, from int) {
		from = min(max(from, 0), len(s))
		start, end, ok := nextSecret(s, from)
		if wantStart, wantEnd, want := eachByte(s, from); ok != want || ok && (start != wantStart || end != wantEnd) {
			t.Fatalf("%q from %d: %d to %d, %v; looking at each byte: %d to %d, %v", s, from, start, end, ok, wantStart, wantEnd, want)
		}
	})
}

// A text that repeats what begins a secret is searched in the time that its length takes.
func TestRepeatedNamesAreBounded(t *testing.T) {
	began := time.Now()
	for _, part := range []string{"key=", "sig:$", "code: ", ":", "--key 'x", "cookie:" + redacted, "-----BEGIN ", "sk-", "://a:"} {
		text := strings.Repeat(part, 1<<20/len(part))
		for range Secrets(text) {
		}
		Token(text)
	}
	if took := time.Since(began); took > waits.Limit {
		t.Errorf("took %v", took)
	}
}

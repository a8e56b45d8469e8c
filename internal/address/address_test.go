package address

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// spellings are addresses with their hosts in every disguise. They seed the fuzzer, too.
var spellings = []string{
	"http://169.254.169.254/latest/meta-data", "http://2852039166/", "http://0xA9FEA9FE/", "http://0xa9.0xfe.0xa9.0xfe", "http://0251.0376.0251.0376/",
	"http://169.254.43518/", "http://169.16689662", "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]:80/x", "http://[0:0:0:0:0:ffff:a9fe:a9fe]",
	"http://169。254。169。254/", "http://169.254.169.254/", "http://①⑥⑨.254.169.254/", "http://%31%36%39.254.169.254/", "http://169%2E254%2e169.254",
	"http:169.254.169.254/", "http:/169.254.169.254", "http:////169.254.169.254/", `http:\\169.254.169.254\x`, `http:/\/169.254.169.254`, "HTTP://169.254.169.254.:80/",
	"http://user:pw@169.254.169.254:0080/", "ht\ttp://169.25\n4.169.254/\r", "  http://169.254.169.254/ ", "\x01http://169.254.169.254", "http://169.254.169.254:/x",
	"http://a.example\\@169.254.169.254/", "http://a.example#@169.254.169.254/", "http://a@b@169.254.169.254/", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://0x/", "http://1.2.3.09",
	"http://EXAMPLE.com:80/a/../b/./c?q#f", "https://example.com:443/%2e%2E/x", "http://bücher.example/ü?ü#ü", "http://xn--bcher-kva.example", "http://ex\u00adample.com/", "http://ﬁ.example/",
	"ws://h:80/", "wss://h:443", "ftp://h:21/x", "ftp://h:80/x", "http://h:65536/", "http://h:x/", "http://", "http:///", "http://h h/", "http://h%20h/", "http://h%00/", "http://[::1", "http://[::1%25eth0]/",
	"http://a_b.example/", "http://-a-.example", "http://a..b/", "http://a.b..", "http://.a/", "http://h/a b\"<>`{}'|^", "http://h?a'b\"c", "http://h#a`b", "http://h/..", "http://h/a/.", "http://h/a//../b", `http://h/a\..\b`,
	"//h/x", "h/x", "file:///etc/passwd", "javascript:1", "data:,x", "http://ａ.example", "http://example.com%2f@b/", "http://example.com?@b/", "http://\u200bh/", "http://0177.1", "http://00000177.1", "http://4294967296/", "http://0x100000000",
}

// standard returns what node, which implements the URL standard, makes of addresses, or "" for those it refuses.
func standard(t testing.TB, addresses []string) (normal []string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	cmd := exec.Command(node, "-e", `
		const out = JSON.parse(require("fs").readFileSync(0, "utf8")).map(a => {
			try {
				const u = new URL(a);
				if (!["http:", "https:", "ws:", "wss:", "ftp:"].includes(u.protocol)) return "";
				return [u.protocol.slice(0, -1), u.hostname, u.port, u.pathname.replaceAll("^", "%5E") + u.href.slice((u.href + "#").search(/[?#]/))].join(" ");
			} catch { return "" }
		});
		console.log(JSON.stringify(out));`)
	in, err := json.Marshal(addresses)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &normal); err != nil {
		t.Fatal(err)
	}
	return normal
}

// agrees compares Parse with the standard's result.
func agrees(t *testing.T, text, want string) {
	t.Helper()
	u, ok := Parse(text)
	got := ""
	if ok {
		got = strings.Join([]string{u.Scheme, u.Host, u.Port, strings.ReplaceAll(u.Rest, "^", "%5E")}, " ")
	}
	if want != "" {
		parts := strings.SplitN(want, " ", 4)
		var ok bool
		if parts[1], ok = Host(parts[1]); ok { // Host writes mapped addresses as IPv4, and removes the last dot
			parts[3] = strings.ReplaceAll(parts[3], "^", "%5E")
			want = strings.Join(parts, " ")
		} else {
			want = "" // two dots at the end: not a name
		}
	}
	if got != want {
		t.Errorf("Parse(%q)\n got %q\nwant %q", text, got, want)
	}
}

func TestParseAgreesWithTheStandard(t *testing.T) {
	for i, want := range standard(t, spellings) {
		agrees(t, spellings[i], want)
	}
}

// FuzzParse checks the properties that rules rely on. TestParseAgreesOnMixtures compares with node.
func FuzzParse(f *testing.F) {
	for _, s := range spellings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, ok := Parse(text)
		if !ok {
			return
		}
		list := Readings(text)
		if len(list) == 0 || list[0] != u {
			t.Fatalf("the first reading of %q is not the standard's", text)
		}
		again, ok := Parse(u.String())
		again.User = u.User
		if !ok || again != u {
			t.Fatalf("the normal form of %q is %q, whose own is %q, %v", text, u, again, ok)
		}
	})
}

// TestParseAgreesOnMixtures compares with node on all combinations of parts.
func TestParseAgreesOnMixtures(t *testing.T) {
	var mixed []string
	for _, scheme := range []string{"http:", "HTTPS:", "ht\ntp:", "ws:", "ftp:", ""} {
		for _, slashes := range []string{"", "/", "//", "///", `\\`, `/\`, "/\t/"} {
			for _, user := range []string{"", "a@", "a:b@", "a@b@", "%40@", `a\@`, "a#@", "@"} {
				for _, host := range []string{"h.example", "H.example.", "127.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:7f00:1]", "１２７.0.0.1", "127。1", "%31", "", "a b", "é.x", "127.0.0.1.", "0", "08", "h%2ex", "a%00b", "::1"} {
					for _, port := range []string{"", ":", ":80", ":443", ":0443", ":99999", ":x"} {
						mixed = append(mixed, scheme+slashes+user+host+port+"/a/../b?c#d")
					}
				}
			}
		}
	}
	for i, want := range standard(t, mixed) {
		agrees(t, mixed[i], want)
		if t.Failed() && i > 20000 {
			break
		}
	}
}

func TestReadings(t *testing.T) {
	for text, hosts := range map[string]string{
		"http://a.example/":                   "a.example",
		`http://a.example\@b.example/`:        "a.example b.example",
		"http://a.example#@b.example/":        "a.example b.example",
		"http://a.example?@b.example/":        "a.example b.example",
		"http://x@a.example@b.example/":       "b.example a.example",
		"b.example/x":                         "b.example",
		"b.example:80":                        "b.example",
		"view-source:http://a.example/":       "a.example",
		"jar:http://a.example/x!/y":           "a.example",
		"http://4294967297/":                  "0.0.0.1",
		"http://[fe80::1%25eth0]/":            "[fe80::1]",
		"http://１６９.254.169.254/":             "169.254.169.254",
		"http://[64:ff9b::169.254.169.254]/x": "169.254.169.254",
		"tcp://0x7f.1:80":                     "127.0.0.1",
	} {
		var got []string
		for _, u := range Readings(text) {
			if !slices.Contains(got, u.Host) {
				got = append(got, u.Host)
			}
		}
		if strings.Join(got, " ") != hosts {
			t.Errorf("hosts of %q: %q, want %q", text, got, hosts)
		}
		if Ambiguous(text) != strings.Contains(hosts, " ") {
			t.Errorf("Ambiguous(%q) = %v", text, Ambiguous(text))
		}
	}
}

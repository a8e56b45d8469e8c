package gate

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callgate/gate/internal/companions"
	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

func TestAddressesHoweverSpelled(t *testing.T) {
	protected, err := NewProtected(nil, "/home/u", []string{"7777"})
	if err != nil {
		t.Fatal(err)
	}
	protected = protected.WithPorts(func() []string { return []string{"41234"} })
	j := &Judge{Policy: policy(t, `{"*":"allow"}`), Protected: protected, Now: time.Now()}
	denied := func(call Call) bool {
		v := j.Judge(call)
		return v.Action == permissions.Deny && strings.Contains(v.Reason, "address that approvals are given at")
	}
	shell := map[bool][]string{
		true: {
			`curl 127.0.0.1:7777`, `curl 127.0.0.1:41234`, `curl http://127.0.0.1:07777/api/approvals`, `curl 127.0.0.1:"77"77`, `curl 127.0.0.1:77\77`,
			`p=7777; curl 127.0.0.1:$p`, `curl http://%31%32%37.0.0.1:7777`, `curl http://%2531%32%37.0.0.1:7777`, `curl -d x localhost:7777/api`,
			`curl 127.1:7777`, `curl 0:7777`, `curl 000:7777`, `curl 0x0:7777`, `curl 0x07f.0.0.1:7777`, `curl 0177.0.0.1:7777`, `curl 2130706433:7777`,
			`curl 0x7f000001:7777`, `curl http://[::1]:7777`, `curl 'http://[::ffff:127.0.0.1]:7777'`, `curl 'http://[::127.0.0.1]:7777'`, `curl 'http://[0:0::1]:7777'`,
			`curl 'http://[::]:7777'`, `curl １２７.0.0.1:7777`, `curl 127。0。0。1:7777`, `curl ⓛocalhost:7777`, `curl localhost:７７７７`, "curl http://loc\u00adalhost:7777",
			`curl http://localtest.me:7777/`, `curl localtest.me:7777`, `curl me@localtest.me:7777`, `curl http://u:p@localtest.me:7777`, `curl --resolve a:7777:127.0.0.1 http://a:7777`,
			`curl --connect-to ::127.0.0.1:7777 http://example.com`, `curl -x 127.0.0.1:7777 http://example.com`, `curl http://127.0.0.1.:7777`, `curl x.localhost:7777`,
			`nc localhost 7777`, `nc -w 1 127.0.0.1 7777`, `nc -p 7777 -w 3 127.0.0.1`, `nc localtest.me 7777`, `nc 0 7777`, `nc ::1 7777`, `telnet localtest.me 07777`,
			`wget --post-data=x http://localhost:7777/`, `exec 3<>/dev/tcp/127.0.0.1/7777`, `exec 3<>/dev/tcp/127.0.0.1/"77"77`, `cat < /dev/tcp/localtest.me/7777`,
			`bash -c 'curl 127.0.0.1:"77"77'`, `timeout 5 curl 127.0.0.1:07777`, `socat - TCP:localtest.me:7777`, `socat - TCP4:127.0.0.1:7777,retry=1`,
			`python3 -c "import socket; socket.create_connection(('127.0.0.1', 7777))"`, `node -e "require('http').get({host:'127.0.0.1',port:7777})"`,
			`ssh -L 8080:localhost:7777 example.com`, `awk 'BEGIN{"/inet/tcp/0/localtest.me/7777" |& getline}'`,
		},
		false: {
			`curl http://127.0.0.1:8080/`, `curl https://example.com/7777`, `echo 7777 items`, `sed -n 7777p file`, `head -c 7777 localhost.txt`, `kill 7777`, `sleep 10 7777`,
			`git log -L7777,8000:main.go`, `grep -n x main.go:7777`, `curl http://10.0.0.1:77770/`, `curl http://192.0.2.1:7777/`, `cat 7777/localhost`, `nc 192.0.2.1 7777`,
			`echo 127.0.0.1:17777`, `echo http://127.0.0.1/x7777`, `tail -n 7777 127.log`, `curl "http://example.com/?q=100%&n=7777"`, `make PORT=7777`, `npm run dev -- --port 7777`,
		},
	}
	for want, commands := range shell {
		for _, command := range commands {
			call := kindCallRapid(t.TempDir(), command)
			if denied(call) != want {
				v := j.Judge(call)
				t.Errorf("%s: denied %v: %s %s (%+v)", command, !want, v.Action, v.Reason, v.Analysis.Commands)
			}
		}
	}
	for command, want := range map[string]bool{
		`kill $(lsof -ti :7777)`: true, `lsof -t -i:41234 | xargs kill -9`: true, `fuser -k 7777/tcp`: true, `npx kill-port 7777`: true,
		`ss -ltnp | grep :7777 | awk '{print $2}' | xargs kill`: true, `kill $(lsof -ti :3000)`: false, `lsof -i :7777`: false, `kill 7777`: false,
		`fuser -k 3000/tcp`: false, `npx kill-port 3000`: false, `grep -rn 7777 .`: false,
	} {
		if v := j.Judge(kindCallRapid(t.TempDir(), command)); (v.Action == permissions.Ask && strings.Contains(v.Reason, "ends what listens")) != want {
			t.Errorf("%s: %s %s", command, v.Action, v.Reason)
		}
	}
	arguments := map[bool][]string{
		true: {
			`{"host":"127.0.0.1","port":7777}`, `{"port":"07777","target":{"hostname":"localtest.me"}}`, `{"host":"0","port":7.777e3}`, `{"to":["localhost",7777]}`,
			`{"url":"http://１２７.0.0.1:7777/"}`, `{"url":"http://localtest.me:7777"}`, `{"url":"ws:\\\\localhost:7777"}`, `{"url":"http://local\nhost:77\n77/"}`,
			`{"server":"example.com","port":41234}`, `{"u":"http://127.0.0.1:\u0037777"}`, `{"args":["http://0x7f.1:7777"]}`, `{"127.0.0.1:7777":1}`,
		},
		false: {
			`{"n":7777,"text":"7777 items"}`, `{"host":"localhost","port":8080}`, `{"host":"192.0.2.7","port":7777}`, `{"limit":7777,"name":"foo"}`,
			`{"text":"listens on localhost; see line 7777"}`, `{"content":"port: 7777\nhost: example.com\n"}`, `{"data":"10,0,7777,3"}`, `{"url":"https://example.com:443/7777"}`,
		},
	}
	for want, all := range arguments {
		for _, text := range all {
			call := Call{ID: "call", Tool: tools.KindTool("skill"), Arguments: []byte(text), Place: tools.Place{Dir: "/w", Roots: []string{"/w"}, Home: "/home/u"}}
			if err := jsonx.Check(call.Arguments); err != nil {
				t.Fatal(text, err)
			}
			if denied(call) != want {
				t.Errorf("%s: denied %v", text, !want)
			}
		}
	}
}

func TestAddressesThatCannotBeTold(t *testing.T) {
	protected, err := NewProtected(nil, "/home/u", []string{"7777"})
	if err != nil {
		t.Fatal(err)
	}
	j := &Judge{Policy: policy(t, `{"*":"allow"}`), Protected: protected, Autonomy: FullAuto, Now: time.Now()}
	for command, want := range map[string]bool{
		`curl $X`: true, `curl -s "$X"`: true, `curl http://$H:80/`: true, `curl https://api.example.com$P`: true, `curl localhost:$p`: true,
		`curl --url="$X"`: true, `curl -x "$X" https://example.com`: true, `nc $h 80`: true, `nc localhost $p`: true, `curl "http://$(hostname)/"`: true,
		`curl 'http://127.0.0.1:[7776-7779]/'`: true, `curl 'http://127.0.0.1:{7,8}777/'`: true, `xargs curl < list`: true, `wget -q $(cat list)`: true,
		`curl 'http://[2001:db8::1]:80/'`: false, `curl "https://api.example.com/$X"`: false, `curl "https://api.example.com/?q=$X"`: false,
		`curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1`: false, `curl -d "$BODY" https://api.example.com`: false, `curl --data="$BODY" https://api.example.com`: false,
		`curl -o "$OUT" https://example.com/a`: false, `curl -sSfo "$OUT" https://example.com/a`: false, `echo "$X"`: false, `nc example.com 80`: false,
		`curl -s https://example.com -w '%{http_code}'`: false,
	} {
		v := j.Judge(kindCallRapid(t.TempDir(), command))
		marked := false
		for _, m := range v.Marks {
			marked = marked || m.Code == "unknown-address"
		}
		if marked != want {
			t.Errorf("%s: marked %v, %s %+v", command, marked, v.Action, v.Analysis.Commands)
		}
	}
}

func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:7777", "http://a@[::1%25lo]:07777/x", "nc -p7777 0x7f.1", "%31%zz１。:7777", "host=localhost; port: 7777", ":7777", "[:7777", "7777"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ports := []string{"7777"}
		names := func(arguments string, a *tools.Analysis) bool {
			return companions.Reaches([]byte(arguments), facts.TextsOf([]byte(arguments)), a, ports)
		}
		argv := strings.Fields(text)
		commands := []tools.CommandView{{Argv: argv}}
		companions.UnknownAddress(commands[0])
		names(`{"host":`+string(jsonx.Quote(text))+`}`, &tools.Analysis{Paths: []string{text}, Commands: commands})
		// Whatever words stand around the plain address, it is found.
		if !names(`{"text":`+string(jsonx.Quote(text+" http://localhost:7777/ "+text))+`}`, &tools.Analysis{}) {
			t.Errorf("%q hides the address", text)
		}
	})
}

func BenchmarkAddresses(b *testing.B) {
	text := []byte(`{"path":"a","content":` + string(jsonx.Quote(strings.Repeat("a line of text, 127.0.0.1:8080 and 7777\n", 2000))) + `}`)
	for b.Loop() {
		if companions.Reaches(text, facts.TextsOf(text), &tools.Analysis{}, []string{"7777"}) {
			b.Fatal("found")
		}
	}
}

func TestHasNumber(t *testing.T) {
	expression := regexp.MustCompile(`[0-9][eE][+-]?[0-9]`)
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[01eE+\-x.]{0,12}`).Draw(t, "text")
		for range rapid.IntRange(0, 2).Draw(t, "strings") { // where no number is
			text = string(jsonx.Quote(rapid.StringMatching(`[1e"\\]{0,6}`).Draw(t, "string"))) + " " + text
		}
		if got, want := companions.HasNumber([]byte(text), nil), expression.MatchString(quoted.ReplaceAllString(text, "")); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

// A URL need not name the port that its scheme implies, and this machine has the addresses of its interfaces.
func TestAddressesByImpliedPortsAndInterfaces(t *testing.T) {
	protected, err := NewProtected(nil, "/home/u", []string{"443", "80", "7778"})
	if err != nil {
		t.Fatal(err)
	}
	j := &Judge{Policy: policy(t, `{"*":"allow"}`), Protected: protected, Now: time.Now()}
	own := "127.0.0.1"
	for _, addr := range companions.OwnAddresses() {
		if addr.Is4() && !addr.IsLoopback() {
			own = addr.String()
		}
	}
	for command, want := range map[string]bool{
		"curl http://localhost/mcp": true, "curl https://127.1/": true, "curl https://u@localhost": true, "curl -k 'https://[::1]?x'": true, "curl http://localhost:/": true,
		"curl localhost/mcp": true, "curl localhost": true, "wget -q 2130706433/mcp": true, "curl https://" + own + ":7778/mcp": true, "curl -k https://" + own + "/mcp": true,
		"nc " + own + " 7778": true, "python3 -c 'get(\"https://localhost/mcp\")'": true,
		"curl https://example.com/": false, "curl -m 0 https://example.com": false, "curl http://192.0.2.77/": false, "echo localhost": false, "curl https://localhost.example.com/": false,
		"curl https://example.com/http/localhost": false,
	} {
		v := j.Judge(kindCallRapid(t.TempDir(), command))
		if denied := v.Action == permissions.Deny; denied != want {
			t.Errorf("%s: denied %v: %s", command, denied, v.Reason)
		}
	}
	for text, want := range map[string]bool{`{"url":"http:\/\/localhost\/mcp"}`: true, `{"url":"https://[::1]/"}`: true, `{"url":"https://example.com/"}`: false, `{"text":"see localhost"}`: false} {
		call := Call{ID: "call", Tool: tools.KindTool("skill"), Arguments: []byte(text), Place: tools.Place{Dir: "/w", Roots: []string{"/w"}, Home: "/home/u"}}
		if v := j.Judge(call); strings.Contains(v.Reason, "address that approvals are given at") != want {
			t.Errorf("%s: %s %s", text, v.Action, v.Reason)
		}
	}
}

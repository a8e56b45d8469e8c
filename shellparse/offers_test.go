package shellparse

import "testing"

// TestOffersForAddresses checks that an "always" for a request is limited to its host, and to reading from it.
func TestOffersForAddresses(t *testing.T) {
	for _, c := range []struct {
		cmd, widest string
		covers      []string
		not         []string
	}{
		{
			cmd: "curl -s https://a.example/v1/x", widest: "curl -s https://a.example/*",
			covers: []string{"curl -s https://a.example/v1/y", "curl -s https://a.example/x -G --data-urlencode q=b", "curl -s https://a.example/x -X GET"},
			not: []string{
				"curl -s https://b.example/x", "curl -s https://a.example/x https://b.example/", "curl -s https://a.example/x -X POST",
				"curl -s https://a.example/x -XPUT", "curl -s https://a.example/x --request=DELETE", "curl -s https://a.example/x -d a=b",
				"curl -s https://a.example/x --expand-data {{A}}", "curl -s https://a.example/x --next -X POST https://a.example/y",
				"curl -s https://a.example/x -T in.txt", "curl -s https://a.example/x -H @in.txt", "curl -s https://a.example/x -K in.txt",
				"curl -s https://a.example/x --dat a=b", "curl -s https://a.example/x --reques POST", "curl -s https://a.example/x -sXPOST",
				"curl -s https://a.example/x -x b.example", "curl -s https://a.example/x --connect-to ::b.example:443",
				"curl -s https://a.example/x --json {}", "curl -s https://a.example/x -F f=@in.txt", "curl -s https://a.example/x -X $M",
			},
		},
		{cmd: "curl -X POST https://a.example/x", widest: "curl -X POST https://a.example/x"},
		{
			cmd: "http https://a.example/x", widest: "http https://a.example/*",
			covers: []string{"http https://a.example/y q==1 Accept:text/plain"},
			not: []string{
				"http https://b.example/x", "http https://a.example/x a=b", "http https://a.example/x f@in.txt", "http https://a.example/x v:=1",
				"http https://a.example/x < in.txt", "cat in.txt | http https://a.example/x", "http https://a.example/x --proxy=http:http://b.example",
			},
		},
		{cmd: "http POST localhost:8000/x name=y", widest: "http POST localhost:8000/x name=y"},
		{cmd: "lynx -dump https://a.example", widest: "lynx -dump https://a.example"},
		{cmd: "hey https://a.example/x", widest: "hey https://a.example/*", not: []string{"hey https://b.example/x"}},
		{cmd: "nmap a.example", widest: "nmap a.example"},
		{cmd: "nats pub a b -s nats://a.example", widest: "nats pub a b -s nats://a.example"},
		{cmd: "grpcurl -plaintext localhost:50051 list", widest: "grpcurl -plaintext localhost:50051 list"},
	} {
		offers := Patterns(&Parse(c.cmd, Options{}).Commands[0])
		if len(offers) == 0 || offers[len(offers)-1].Text != c.widest {
			t.Errorf("%q offers %v at last, want %q", c.cmd, offers, c.widest)
			continue
		}
		for _, other := range c.covers {
			if got := judge(Parse(other, Options{}), []string{c.widest}, nil, nil); got != "allow" {
				t.Errorf("after %q, %q is %s, want allow", c.widest, other, got)
			}
		}
		for _, other := range c.not {
			if got := judge(Parse(other, Options{}), []string{c.widest, "cat *"}, nil, nil); got != "ask" {
				t.Errorf("after %q, %q is %s, want ask", c.widest, other, got)
			}
		}
	}
}

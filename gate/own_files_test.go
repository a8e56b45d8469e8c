package gate

import (
	"strings"
	"testing"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
)

// TestNamesOfFilesAreProtected names the hub's socket in words that only their own program reads.
func TestNamesOfFilesAreProtected(t *testing.T) {
	base, err := NewProtected([]string{"/home/u/.local/share/callgate"}, "/home/u", nil)
	if err != nil {
		t.Fatal(err)
	}
	named := base.WithNames("callgate.sock")
	for _, tt := range []struct {
		arguments string
		argv      []string
		denied    bool
	}{
		{`{"command":"socat - UNIX-CONNECT:../hub/callgate.sock"}`, nil, true},
		{`{"command":"nc -U hub/Callgate.Sock"}`, nil, true},
		{`{"a":{"b":["callgate.sock"]}}`, nil, true},
		{`{"a":"callgate\\u002esock"}`, nil, false},
		{`{"a":"callgate\u002esock"}`, nil, true},
		{`{"command":"socat - UNIX:callgate.so\"\"ck"}`, []string{"socat", "-", "UNIX:callgate.sock"}, true},
		{`{"command":"ls callgate"}`, []string{"ls", "callgate"}, false},
	} {
		a := &tools.Analysis{}
		if tt.argv != nil {
			a.Commands = []tools.CommandView{{Argv: tt.argv}}
		}
		why := named.touched(Call{Arguments: []byte(tt.arguments)}, a)
		if (why != "") != tt.denied || tt.denied && !strings.Contains(why, "callgate's own files") {
			t.Errorf("%s: %q, want denied %v", tt.arguments, why, tt.denied)
		}
		if why := base.touched(Call{Arguments: []byte(tt.arguments)}, a); why != "" {
			t.Errorf("%s: the name is protected where it was not asked for: %s", tt.arguments, why)
		}
	}
}

// TestFoldersAboveOwnFiles reads whole folders that hold callgate's own files.
func TestFoldersAboveOwnFiles(t *testing.T) {
	p, err := NewProtected([]string{"/home/u/.local/share/callgate"}, "/home/u", nil)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{"/": true, "/home": true, "/home/u/.local/share/callgate": true, "/home/u/x": false, "/hom": false} {
		if why := p.touched(Call{}, &tools.Analysis{Folders: []string{folder}}); (why != "") != want {
			t.Errorf("%s: %q", folder, why)
		}
	}
}

// TestNeedle checks each needle against texts that name it in another form, or only end alike.
func TestNeedle(t *testing.T) {
	p, err := NewProtected([]string{"/home/u/.local/share/callgate", "/home/u/x", "/srv/own.d/key"}, "/home/u", nil)
	if err != nil {
		t.Fatal(err)
	}
	p = p.WithNames("callgate.sock", "noextension")
	for said, want := range map[string]bool{
		"cat /home/u/.local/share/callgate/x": true, "~/.LOCAL/share/Callgate": true, "$HOME/x": true, "${home}/X/y": true, "/srv/OWN.d/key": true,
		"a callgate.sock b": true, "NoExtension": true, "/home/v/.local/share/callgate": false, "./x": false, "own.d/key": false, "other.sock": false, "": false,
	} {
		if why := p.named(facts.TextsOf(jsonx.Quote(said))); (why != "") != want {
			t.Errorf("%q: %q", said, why)
		}
	}
}

// BenchmarkTouched measures the cost of long arguments that name nothing of callgate's.
func BenchmarkTouched(b *testing.B) {
	p, err := NewProtected([]string{"/home/u/.local/share/callgate", "/home/u/.config/callgate"}, "/home/u", []string{"7777"})
	if err != nil {
		b.Fatal(err)
	}
	p = p.WithNames("callgate.sock")
	for name, line := range map[string]string{"data": "0123456789abcdef", "addresses": "A line of text, 127.0.0.1:8080 and 7777, \"quoted\".\n"} {
		arguments := []byte(`{"path":"a","content":` + string(jsonx.Quote(strings.Repeat(line, 100<<10/len(line)))) + `}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(arguments)))
			b.ReportAllocs()
			for b.Loop() {
				if why := p.touched(Call{Arguments: arguments}, &tools.Analysis{}); why != "" {
					b.Fatal(why)
				}
			}
		})
	}
}

package gate

import (
	"strings"
	"testing"

	"callgate/internal/tools"
)

// TestNamesOfFilesAreProtected: the hub's socket is named in words that only the program which they are for reads.
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

package shellparse

import "testing"

func TestPlain(t *testing.T) {
	for text, want := range map[string]bool{
		"ls": true, "ls -la 'a;b' \"c|d\"": true, "timeout 5 ls": true, "  ls  ": true, "ls $x *": true,
		"ls;": false, "ls &": false, "! ls": false, "(ls)": false, "{ ls; }": false, "ls | wc": false, "ls && ls": false, "ls\nls": false, "ls > f": false,
		"cat < f": false, "ls 2>&1": false, "x=1 ls": false, "x=1": false, "ls $(pwd)": false, "ls `pwd`": false, "ls \"$(pwd)\"": false, "ls <(pwd)": false,
		"ls $((1))": false, "ls # x": false, "time ls": false, "[[ -f a ]]": false, "": false, "f() { ls; }": false, "ls 'x": false, "bash -c 'ls; ls'": true,
	} {
		if got := Parse(text, Options{}).Plain; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

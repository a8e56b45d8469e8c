package gate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/permissions"
)

// No spelling lets a command read callgate's own files, and no read is left open, whatever releases the command.
func TestReadsOfOwnFiles(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "state", "callgate")
	for _, folder := range []string{own, filepath.Join(dir, "ws", "src")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(own, "key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	protected, err := NewProtected([]string{own}, "/home/u", nil)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]permissions.Action{
		"cat ../*/*/key":                          permissions.Deny,
		"cat ../state/c*/missing":                 permissions.Deny,
		"cat ../s*/call\"\"*/k*":                  permissions.Deny,
		"cd ..; cat st*/*/*":                      permissions.Deny,
		"for f in ../*/*/*; do cat \"$f\"; done":  permissions.Deny,
		"cat < ../s*/*/key":                       permissions.Deny,
		"cat ../**/key":                           permissions.Deny,
		"grep -r x ../*":                          permissions.Deny,
		"diff . ..":                               permissions.Deny,
		"cat \"$(printf ../state/call)gate/key\"": permissions.Ask,
		"cat $x":                  permissions.Ask,
		"ls -a | xargs cat":       permissions.Ask,
		"ls | xargs cat":          permissions.Allow,
		"cat /*/*/*/*/*/*/*/nope": permissions.Ask,
		"cat src/*":               permissions.Allow,
		"cat ../ws/*":             permissions.Allow,
	} {
		for _, j := range []*Judge{
			{Policy: policy(t, `{"*": "allow"}`)},
			{Policy: policy(t, seeded), Autonomy: FullAuto},
			{Policy: policy(t, seeded), Mode: ModeAutoApprove},
		} {
			j.Protected, j.Now = protected, time.Now()
			if v := j.Judge(kindCall(t, filepath.Join(dir, "ws"), "shell_exec", "command", command)); v.Action != want {
				t.Errorf("%s (autonomy %s): %s (%s), want %s", command, j.Autonomy, v.Action, v.Reason, want)
			}
		}
	}
}

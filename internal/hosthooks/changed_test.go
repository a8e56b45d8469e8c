package hosthooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/audit"
)

// A file that changes in a turn although no call could have changed it is recorded, without an alarm. Files that a call
// wrote, older changes, and turns in which a command ran are not recorded.
func TestChangesOutsideTheGateAreOnRecord(t *testing.T) {
	var alarms []string
	d, dir := desk(t, `{ "*": "allow" }`, Options{Alarm: func(_ string, texts ...string) { alarms = append(alarms, texts...) }})
	touch := func(name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte("x"), 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, time.Time{}, time.Now().Add(time.Minute)) // independent of the file system's clock
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	say := func(event, tool, input string) {
		ask(d, "claude", "", fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","cwd":%q,"prompt":"go","tool_name":%q,"tool_input":%s,"tool_use_id":%q}`, event, dir, tool, input, tool+input))
	}
	told := func() (list []string) {
		for r, err := range audit.Read(d.o.Audit, audit.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(r.Summary, "Changed outside the gate") {
				list = append(list, r.Summary)
			}
		}
		return list
	}
	say("UserPromptSubmit", "", "{}")
	say("PreToolUse", "Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, filepath.Join(dir, "written.txt")))
	touch("written.txt")
	touch(".git/index")
	touch("node_modules/a.js")
	say("Stop", "", "{}")
	if list := told(); len(list) > 0 {
		t.Errorf("on record: %q", list)
	}
	say("UserPromptSubmit", "", "{}")
	say("PreToolUse", "Bash", `{"command":"make"}`)
	touch("built.txt")
	say("Stop", "", "{}")
	if list := told(); len(list) > 0 {
		t.Errorf("on record: %q", list)
	}
	for _, name := range []string{"written.txt", "built.txt"} {
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	say("UserPromptSubmit", "", "{}")
	for i := range 7 {
		touch(fmt.Sprintf("sub/%d.txt", i))
	}
	say("Stop", "", "{}")
	if list := told(); len(list) != 1 || !strings.Contains(list[0], "0.txt") || !strings.Contains(list[0], "and 2 more. No call that callgate knows did this") || strings.Contains(list[0], "written") {
		t.Errorf("on record: %q", list)
	}
	if len(alarms) > 0 {
		t.Errorf("alarms: %q", alarms)
	}
}

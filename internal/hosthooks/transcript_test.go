package hosthooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A host that skips its hooks before and after a call is found by what it writes down. Calls that were asked about, that were
// refused, and that are of an earlier session raise no alarm. The lines are as hosts write them.
func TestTranscriptsShowWhatTheHookWasNotAsked(t *testing.T) {
	for _, c := range []struct {
		host, event, tool, idle, version string
		lines                            func(id, command string, fine bool) string
	}{
		{"claude", "PreToolUse", "Bash", "Stop", "2.1.197", func(id, command string, fine bool) string {
			return fmt.Sprintf(`{"message":{"content":[{"id":%q,"input":{"command":%q},"name":"Bash","type":"tool_use"}],"role":"assistant"},"type":"assistant","version":"2.1.197"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":"x","is_error":%v}]},"version":"2.1.197"}
`, id, command, id, !fine)
		}},
		{"codex", "PreToolUse", "exec_command", "Stop", "0.150.0", func(id, command string, fine bool) string {
			meta := ""
			if id == "old" {
				meta = `{"type":"session_meta","payload":{"cli_version":"0.150.0"}}` + "\n"
			}
			return meta + fmt.Sprintf(`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{}","call_id":"p%s"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"p%s","output":"x"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":%q}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":%q,"output":"x"}}
`, id, id, id, id)
		}},
		{"qwen", "PreToolUse", "run_shell_command", "Stop", "0.15.10", func(id, command string, fine bool) string {
			answer := `{"output":"x"}`
			if !fine {
				answer = `{"error":"blocked"}`
			}
			return fmt.Sprintf(`{"type":"assistant","version":"0.15.10","message":{"role":"model","parts":[{"functionCall":{"id":%q,"name":"run_shell_command","args":{"command":%q}}}]}}
{"type":"tool_result","version":"0.15.10","message":{"role":"user","parts":[{"functionResponse":{"id":%q,"name":"run_shell_command","response":%s}}]}}
`, id, command, id, answer)
		}},
		{"gemini", "BeforeTool", "run_shell_command", "AfterAgent", "", func(id, command string, fine bool) string {
			answer := `{"output":"x"}`
			if !fine {
				answer = `{"error":"blocked"}`
			}
			call := fmt.Sprintf(`{"id":"m","type":"gemini","content":"","toolCalls":[{"id":%q,"name":"run_shell_command","args":{"command":%q}}]}`, id, command)
			return call + "\n" + fmt.Sprintf(`{"id":"n","type":"user","content":[{"functionResponse":{"id":%q,"name":"run_shell_command","response":%s}}]}`, id, answer) + "\n" + call + "\n"
		}},
	} {
		t.Run(c.host, func(t *testing.T) {
			var alarms []string
			d, dir := desk(t, `{ "*": "deny", "shell_exec": { "ls *": "allow" } }`, Options{Alarm: func(_ string, texts ...string) { alarms = append(alarms, texts...) }})
			path := filepath.Join(dir, "t.jsonl")
			write := func(text string) {
				t.Helper()
				f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err == nil {
					_, err = f.WriteString(text)
				}
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
			}
			event := func(name, id, command string) {
				ask(d, c.host, "", fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","cwd":%q,"transcript_path":%q,"tool_name":%q,"tool_input":{"command":%q},"tool_use_id":%q}`, name, dir, path, c.tool, command, id))
			}
			write(c.lines("old", "curl a", true)) // the version is in its first line
			event(c.event, "1", "ls a")
			event(c.event, "2", "curl b")
			write(c.lines("1", "ls a", true) + c.lines("2", "curl b", false))
			event(c.idle, "", "")
			if len(alarms) > 0 {
				t.Errorf("alarms: %q", alarms)
			}
			write(c.lines("3", "curl c", true) + c.lines("4", "curl d", true)[:40])
			event(c.idle, "", "")
			if len(alarms) != 1 || !strings.Contains(alarms[0], "callgate was not asked") {
				t.Errorf("alarms: %q", alarms)
			}
			state, err := ReadProof(filepath.Dir(d.o.Proof.path))
			if s := state[c.host]; err != nil || s.Uncovered == nil || s.Version != c.version || slices.Contains([]string{""}, s.Uncovered.What) {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
}

package hosthooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A host that skips its hooks before and after a call is caught by its transcript. Calls that were asked about, that
// were refused, or that are from an earlier session raise no alarm. The lines are as hosts write them.
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
			write(c.lines("old", "curl a", true)) // the version is in the first line
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

// Copilot CLI names its transcript when a turn is over, Cline rewrites one file, and opencode reports calls outside its
// hooks. Calls from before the session raise no alarm.
func TestOtherTranscripts(t *testing.T) {
	old, now := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	copilot := func(id, command string, fine bool, at time.Time) string {
		return fmt.Sprintf(`{"type":"tool.execution_start","data":{"toolCallId":%q,"toolName":"bash","arguments":{"command":%q}},"timestamp":%q}
{"type":"tool.execution_complete","data":{"toolCallId":%q,"success":%v},"timestamp":%q}
`, id, command, at.Format(time.RFC3339Nano), id, fine, at.Format(time.RFC3339Nano))
	}
	cline := func(id, command string, fine bool, at time.Time) string {
		return fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"run_commands","input":{"commands":[%q]}}],"ts":%d},
{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":[{"query":"x","result":"","success":%v}]}],"ts":%d}`, id, command, at.UnixMilli(), id, fine, at.UnixMilli())
	}
	for host, c := range map[string]struct {
		line          func(id, command string, fine bool, at time.Time) string
		before        func(dir, id, command string) string
		idle          func(dir, path string) string
		asked, over   string // events
		first, last   string // of the file
		path, version string
	}{
		"copilot": {
			line: copilot,
			before: func(dir, _, command string) string {
				return fmt.Sprintf(`{"sessionId":"s","cwd":%q,"toolName":"bash","toolArgs":{"command":%q}}`, dir, command)
			},
			idle: func(dir, path string) string {
				return fmt.Sprintf(`{"sessionId":"s","cwd":%q,"transcriptPath":%q}`, dir, path)
			},
			asked: "preToolUse", over: "agentStop", first: `{"type":"session.start","data":{"copilotVersion":"1.0.102"}}` + "\n", path: "events.jsonl", version: "1.0.102",
		},
		"cline": {
			line: cline,
			before: func(dir, id, command string) string {
				return fmt.Sprintf(`{"taskId":"c","sessionContext":{"rootSessionId":"1_a"},"workspaceRoots":[%q],"tool_call":{"id":%q,"name":"run_commands","input":{"commands":[%q]}}}`, dir, id, command)
			},
			idle: func(dir, _ string) string {
				return fmt.Sprintf(`{"taskId":"c","sessionContext":{"rootSessionId":"1_a"},"workspaceRoots":[%q]}`, dir)
			},
			asked: "PreToolUse", over: "SessionShutdown", first: `{"origin":{"version":"3.0.65"},"messages":[{"role":"user","content":"go","ts":1}`, last: "]}", path: ".cline/data/sessions/1_a/1_a.messages.json", version: "3.0.65",
		},
	} {
		t.Run(host, func(t *testing.T) {
			var alarms []string
			home := t.TempDir()
			d, dir := desk(t, `{ "*": "deny", "shell_exec": { "ls *": "allow" } }`, Options{Home: home, Alarm: func(_ string, texts ...string) { alarms = append(alarms, texts...) }})
			path := filepath.Join(home, c.path)
			write := func(lines ...string) {
				t.Helper()
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if err == nil {
					err = os.WriteFile(path, []byte(c.first+strings.Join(lines, "")+c.last), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			ask(d, host, c.asked, c.before(dir, "1", "ls a"))
			ask(d, host, c.asked, c.before(dir, "2", "curl b"))
			lines := []string{c.line("0", "curl z", true, old), c.line("1", "ls a", true, now), c.line("2", "curl b", false, now)}
			write(lines...)
			ask(d, host, c.over, c.idle(dir, path))
			if len(alarms) > 0 {
				t.Errorf("alarms: %q", alarms)
			}
			ask(d, host, c.asked, c.before(dir, "3", "ls c"))
			write(append(lines, c.line("3", "ls c", true, now), c.line("4", "curl d", true, now.Add(time.Second)))...)
			ask(d, host, c.over, c.idle(dir, path))
			if want := 1; len(alarms) < want || !strings.Contains(alarms[len(alarms)-1], "callgate was not asked, as its transcript says") {
				t.Errorf("alarms: %q", alarms)
			}
			state, err := ReadProof(filepath.Dir(d.o.Proof.path))
			if s := state[host]; err != nil || s.Uncovered == nil || s.Version != c.version {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
	t.Run("opencode", func(t *testing.T) {
		var alarms []string
		d, dir := desk(t, `{ "*": "deny", "shell_exec": { "ls *": "allow" } }`, Options{Alarm: func(_ string, texts ...string) { alarms = append(alarms, texts...) }})
		say := func(event, id, command string) {
			ask(d, "opencode", "", fmt.Sprintf(`{"event":%q,"session":"s","call":%q,"tool":"bash","args":{"command":%q},"directory":%q}`, event, id, command, dir))
		}
		say("before", "1", "ls a")
		say("told", "1", "ls a")
		say("after", "1", "ls a")
		if len(alarms) > 0 {
			t.Errorf("alarms: %q", alarms)
		}
		for _, v := range d.visits {
			if len(v.reading.asked) > 0 { // a long session would reach maxPending
				t.Errorf("questions that the host has mentioned are kept: %v", v.reading.asked)
			}
		}
		say("told", "2", "curl b")
		if len(alarms) != 1 || !strings.Contains(alarms[0], "callgate was not asked, as its session says") {
			t.Errorf("alarms: %q", alarms)
		}
		say("before", "3", "curl c")
		say("told", "3", "curl c")
		if len(alarms) != 2 || !strings.Contains(alarms[1], "although callgate had denied it") {
			t.Errorf("alarms: %q", alarms)
		}
	})
}

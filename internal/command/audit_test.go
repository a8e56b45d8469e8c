package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"callgate/audit"
	"callgate/internal/config"
)

// auditOutput runs `callgate audit ARGS` on dir.
func auditOutput(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	settings := config.NewSettings(pflag.NewFlagSet("", pflag.ContinueOnError))
	if err := settings.Common.Set("data-dir", dir); err != nil {
		t.Fatal(err)
	}
	cmd := newAuditCommand(settings)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean this program's own arguments
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func auditTrail(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []audit.Record{
		{Event: audit.Control, Summary: "autonomy is CAUTIOUS", By: "web:alice"},
		{Event: audit.Decision, CallID: "call_1", SessionID: "s1", Tool: "fs_read", Decision: "auto_approved", Risk: "READ_ONLY", Summary: "reads a", By: "rule", Rule: `read_file "*" allow`},
		{Event: audit.Outcome, CallID: "call_1", SessionID: "s1", Tool: "fs_read", Duration: 12.5},
		{Event: audit.Decision, CallID: "call_2", SessionID: "s2", Tool: "sh_run", Decision: "denied", Summary: "runs \x1b[2J\u202Etxt.\nrm", Arguments: []byte(`{"password":"x","a":"\u202E` + "\u202E\U000E0041" + `"}`)},
	} {
		if _, err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAuditLines(t *testing.T) {
	dir := auditTrail(t)
	for _, tt := range []struct {
		name string
		args []string
		want []string // one substring for each line
	}{
		{"all", nil, []string{"  control        autonomy is CAUTIOUS  by web:alice", `  auto_approved  fs_read  READ_ONLY  reads a  by rule read_file "*" allow  call_1`, "  done 12.5ms    fs_read  call_1", "  denied         sh_run  runs ⟨U+001B⟩[2J⟨U+202E⟩txt.⟨U+000A⟩rm  call_2"}},
		{"tail", []string{"--tail", "1"}, []string{"call_2"}},
		{"session", []string{"--session", "s1"}, []string{"auto_approved", "done"}},
		{"decision", []string{"--decision", "denied"}, []string{"sh_run"}},
		{"tool", []string{"--tool", "fs_*"}, []string{"auto_approved", "done"}},
		{"since", []string{"--since", time.Now().Add(time.Hour).Format(time.RFC3339)}, []string{"No records of this kind in "}},
		{"json", []string{"--json", "--tail", "1"}, []string{`"arguments":{"password":"[redacted]","a":"\u202E\u202e\udb40\udc41"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := auditOutput(t, dir, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(out, "\n")
			if lines = lines[:len(lines)-1]; len(lines) != len(tt.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tt.want), out)
			}
			for i, want := range tt.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %q\nwant %q", lines[i], want)
				}
			}
		})
	}
}

func TestAuditShow(t *testing.T) {
	dir := auditTrail(t)
	out, err := auditOutput(t, dir, "show", "call_1")
	if err != nil || strings.Count(out, `"callId": "call_1"`) != 2 || !strings.Contains(out, `"durationMs": 12.5`) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := auditOutput(t, dir, "show", "call_9"); err == nil || !strings.Contains(err.Error(), `no record of call "call_9"`) {
		t.Errorf("an unknown call: %v", err)
	}
}

func TestAuditVerify(t *testing.T) {
	dir := auditTrail(t)
	out, err := auditOutput(t, dir, "verify")
	if err != nil || !strings.Contains(out, "closed   4 records: complete\nnothing is broken: 4 records in 1 log\nhead manifest.jsonl:2:") {
		t.Fatalf("%v\n%s", err, out)
	}
	head := strings.TrimSpace(out[strings.LastIndex(out, "head ")+len("head "):])
	if out, err := auditOutput(t, dir, "verify", "--head", head); err != nil {
		t.Errorf("its own head: %v\n%s", err, out)
	}
	if _, err := auditOutput(t, dir, "verify", "--head", "x"); err == nil {
		t.Error("a head that is none")
	}

	logs, err := filepath.Glob(filepath.Join(audit.Dir(dir), "2*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logs[0], bytes.Replace(b, []byte("reads a"), []byte("reads b"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = auditOutput(t, dir, "verify", "--json")
	want := "the audit trail is broken, first at " + filepath.Base(logs[0]) + " line 2 (record 2): hash: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v\nwant %s", err, want)
	}
	var report audit.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Breaks) != 1 || report.Logs[0].Good.Seq != 1 {
		t.Errorf("report %s: %v", out, err)
	}

	if err := os.RemoveAll(audit.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if out, err := auditOutput(t, dir, "verify", "--head", head); err == nil {
		t.Errorf("everything is gone, and the anchored head is not missed:\n%s", out)
	}
}

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, zone)
	for s, want := range map[string]time.Time{
		"":                     {},
		"90m":                  now.Add(-90 * time.Minute),
		"2026-11-19":           time.Date(2026, 11, 19, 0, 0, 0, 0, zone),
		"2026-11-19T10:30":     time.Date(2026, 11, 19, 10, 30, 0, 0, zone),
		"2026-11-19 10:30":     time.Date(2026, 11, 19, 10, 30, 0, 0, zone),
		"2026-11-19 10:30:15":  time.Date(2026, 11, 19, 10, 30, 15, 0, zone),
		"2026-11-19T10:00:00Z": time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := config.ParseSince(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v: want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"yesterday", "-1h", "2026-13-01"} {
		if got, err := config.ParseSince(s, now); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

package siem

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callgate/audit"
)

func TestSecurityFormats(t *testing.T) {
	r := &audit.Record{
		Seq: 7, Time: time.UnixMilli(1764000000123), Event: audit.Decision, CallID: "call_1", SessionID: "s-1", Worker: "default", Server: "demo", Tool: "demo_shell_exec",
		Decision: "denied", Risk: "DESTRUCTIVE", By: "rule", From: "127.0.0.1:5", Host: "curl", Principal: "laptop", Rule: `"rm *" deny`, Reason: "a|b=c\nCEF:0|forged", Hash: strings.Repeat("a", 64),
	}
	line := string(CEF(r))
	if strings.ContainsAny(line, "\n\r") || !strings.HasPrefix(line, "CEF:0|callgate|callgate|1|decision|denied demo_shell_exec|8|rt=1764000000123 ") {
		t.Errorf("%q", line)
	}
	if !strings.Contains(line, `msg=a|b\=c`) || !strings.Contains(line, `cs4Label=risk cs4=DESTRUCTIVE`) {
		t.Errorf("%q", line)
	}
	if !strings.Contains(line, " src=127.0.0.1 spt=5 suid=laptop requestClientApplication=curl ") || strings.Contains(line, "shost=") {
		t.Errorf("%q", line)
	}
	text, err := OCSF(r)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"class_uid": 6003., "category_uid": 6., "type_uid": 600399., "activity_id": 99., "severity_id": 4., "action_id": 2., "status_id": 2., "time": 1764000000123.} {
		if o[name] != want {
			t.Errorf("%s is %v, not %v", name, o[name], want)
		}
	}
	if actor, _ := o["actor"].(map[string]any); actor["app_name"] != "curl" || actor["app_uid"] != "laptop" {
		t.Errorf("actor: %v", actor)
	}
	for _, required := range []string{"actor", "api", "metadata", "src_endpoint"} { // of the class
		if o[required] == nil {
			t.Errorf("%s is missing", required)
		}
	}
}

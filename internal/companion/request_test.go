package companion

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// FuzzToolApprove checks that whatever a client sends, the gate gets one session, one call and one digest, a known
// decision, and no member that the decision does not use.
func FuzzToolApprove(f *testing.F) {
	for _, seed := range []string{
		approve("call_1", "s1", "d", "approve"),
		approve("call_1", "*", "d", "always"),
		`{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"always","grants":[{"tool":"t","pattern":"p"}],"scope":"worker","expiresIn":60}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"approve","arguments":{"a":1.0e2}}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"reject","feedback":"x","Decision":"approve"}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"always","expiresIn":1e400}`,
		`{"sessionId":"s1","toolCallId":"c","argsDigest":"d","decision":"always","grants":[]}`,
		`[`, `null`, `{"decision":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var frame wire.ToolApprove
		if rest.Decode(data, &frame) != nil {
			return
		}
		a, refused := answerOf(&frame, audit.Author{By: "custom:x", From: "there"})
		if refused != nil {
			if refused.Code != wire.CodeBadMessage || refused.Message == "" {
				t.Fatalf("%s: refused with %+v", data, refused)
			}
			return
		}
		always := a.Decision == "always"
		switch {
		case a.SessionID == "" || a.SessionID == wire.AllSessions, a.Digest == "", a.By != "custom:x",
			a.Decision != "approve" && a.Decision != "reject" && !always,
			!always && (len(a.Grants) > 0 || a.Scope != "" || a.ExpiresIn != 0),
			always && a.Scope != "session" && a.Scope != "worker",
			always && frame.Grants != nil && len(a.Grants) == 0,
			a.ExpiresIn < 0 || a.ExpiresIn > maxExpiry*time.Second,
			a.Decision != "reject" && a.Feedback != "",
			len(a.Arguments) > 0 && (a.Decision != "approve" || a.Arguments[0] != '{' || !json.Valid(a.Arguments)):
			t.Fatalf("%s: became %+v", data, a)
		}
	})
}

// The path of a file is only for the log. The reason why it could not be written also goes to the person.
func TestAFailureSaysWhatTheSystemSays(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/home/ann/freeze.json", Err: syscall.ENOSPC}
	if got := refusalOf(full).Message; !strings.Contains(got, syscall.ENOSPC.Error()) || strings.Contains(got, "ann") {
		t.Errorf("a full disk: %q", got)
	}
	if got := refusalOf(errors.New("/home/ann is odd")).Message; got != rest.FailedText {
		t.Errorf("another failure: %q", got)
	}
}

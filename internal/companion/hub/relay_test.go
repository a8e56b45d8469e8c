package hub

import "testing"

func TestFramesThatReadTwoWaysEndTheLink(t *testing.T) {
	for _, frame := range []string{
		`{"v":1,"type":"team_update","sessionId":"s9","sessionId":"s1","agents":[]}`,
		`{"v":1,"type":"team_update","sessionId":"s9","sessionID":"s1","agents":[]}`,
		`{"v":1,"type":"team_update","SessionId":"s1","agents":[]}`,
		`{"v":1,"Type":"team_update","sessionId":"s1","agents":[]}`,
		`{"v":1,"type":"tool_result","sessionId":"s9","args":{},"ToolCallId":"call_1"}`,
		`["team_update"]`, `{`, ``,
	} {
		if f, err := glance([]byte(frame)); err == nil {
			t.Errorf("%s reads as %+v", frame, f)
		}
	}
	f, err := glance([]byte(`{"v":1,"type":"team_update","sessionId":"s9","toolCallId":"c","args":{"a":1,"a":2,"sessionId":"s1"},"agents":[]}`))
	if want := (glimpse{"team_update", "s9", "c", true}); err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
}

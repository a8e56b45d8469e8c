package companion

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

func TestAPanicFailsOneRequest(t *testing.T) {
	hub := start(t, newFakeBackend("s1"))
	hub.backend.ask(approval("call_1"))
	b := newFakeBackend("s2")
	b.ask(approvalOf("s2", "call_2"))
	member := hub.joined(t, b)
	meet(t, hub, 1)
	answer, sessions := "Answer", "Sessions"
	c := hub.join(t, credentials.Approve)
	for range 2 {
		c.want(wire.TypeToolApproveRequest)
	}
	for _, one := range []struct {
		of            *rig
		session, call string
	}{{hub, "s1", "call_1"}, {member, "s2", "call_2"}} {
		one.of.backend.panics.Store(&answer)
		response, body := hub.do(t, credentials.Approve, "POST", "/api/approvals/"+one.call, `{"sessionId":"`+one.session+`","argsDigest":"d-`+one.call+`","decision":"approve"}`)
		if response.StatusCode != http.StatusInternalServerError || !strings.Contains(body, wire.CodeInternal) || strings.Contains(body, "mistake") {
			t.Errorf("%s: %d %s", one.call, response.StatusCode, body)
		}
		if log := one.of.log.String(); !strings.Contains(log, "a mistake in Answer") || !strings.Contains(log, "backend_test.go") {
			t.Errorf("%s: the log does not show the stack: %s", one.call, log)
		}
		c.send(approve(one.call, one.session, "d-"+one.call, "approve"))
		if f := c.wantError(wire.CodeInternal); f["toolCallId"] != one.call {
			t.Errorf("%v", f)
		}
		one.of.backend.panics.Store(nil)
	}

	// Each process's part of an answer is made on its own goroutine.
	hub.backend.panics.Store(&sessions)
	if response, body := hub.do(t, credentials.View, "GET", "/api/sessions", ""); response.StatusCode != http.StatusOK || !strings.Contains(body, `"s2"`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	member.backend.panics.Store(&sessions)
	if response, body := hub.do(t, credentials.View, "GET", "/api/sessions", ""); response.StatusCode != http.StatusInternalServerError || !strings.Contains(body, wire.CodeInternal) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	hub.backend.panics.Store(nil)
	member.backend.panics.Store(nil)

	// The connection and both processes go on.
	for session, call := range map[string]string{"s1": "call_1", "s2": "call_2"} {
		c.send(approve(call, session, "d-"+call, "approve"))
		c.want(wire.TypeToolApproveResolved)
	}
}

// A response that has begun cannot become an error. Its abrupt end tells the client that it is not valid.
func TestAPanicInTheMiddleOfAnAnswerCutsItOff(t *testing.T) {
	hub := start(t, newFakeBackend())
	server := httptest.NewServer(rest.Recovering(hub.Server.log, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		w.Write([]byte("12345"))
		panic("a mistake")
	})))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err == nil {
		defer response.Body.Close()
		_, err = response.Body.Read(make([]byte, 10))
		for err == nil {
			_, err = response.Body.Read(make([]byte, 10))
		}
	}
	if err == nil || err.Error() == "EOF" {
		t.Errorf("the answer ends as if it were whole: %v", err)
	}
	if !strings.Contains(hub.log.String(), "a mistake") {
		t.Error("it is not logged")
	}
}

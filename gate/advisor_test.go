package gate

import (
	"errors"
	"testing"
	"time"

	"callgate/permissions"
)

// advice is an advisor that always gives the same advice.
type advice struct {
	action permissions.Action
	err    error
}

func (a advice) Name() string { return "a" }
func (a advice) Advise(Question) (permissions.Action, string, error) {
	if errors.Is(a.err, errBroken) {
		panic(a.err)
	}
	return a.action, "because", a.err
}

var errBroken = errors.New("broken")

// An advisor that fails or panics denies the call, and does no other harm.
func TestAdvisorsThatPanicDeny(t *testing.T) {
	b := newBench(t, `{"shell_exec": "allow"}`, func(o *Options) { o.Advisors = []Advisor{advice{permissions.Allow, errBroken}} })
	if v := (<-b.decide(t.Context(), b.shell("call_1", "git status"))).verdict; v.Action != permissions.Deny {
		t.Errorf("%v %s", v.Action, v.Reason)
	}
}

// Advisors tighten what the rules say, and never loosen it.
func TestAdvisorsOnlyTighten(t *testing.T) {
	for _, rule := range []string{"allow", "ask", "deny"} {
		for _, c := range []struct {
			advice advice
			want   map[string]permissions.Action
		}{
			{advice{action: permissions.Allow}, map[string]permissions.Action{"allow": permissions.Allow, "ask": permissions.Ask, "deny": permissions.Deny}},
			{advice{action: permissions.Ask}, map[string]permissions.Action{"allow": permissions.Ask, "ask": permissions.Ask, "deny": permissions.Deny}},
			{advice{action: permissions.Deny}, map[string]permissions.Action{"allow": permissions.Deny, "ask": permissions.Deny, "deny": permissions.Deny}},
			{advice{action: permissions.Allow, err: errors.New("gone")}, map[string]permissions.Action{"allow": permissions.Deny, "ask": permissions.Deny, "deny": permissions.Deny}},
			{advice{}, map[string]permissions.Action{"allow": permissions.Deny, "ask": permissions.Deny, "deny": permissions.Deny}},
		} {
			j := Judge{Policy: policy(t, `{"shell_exec": "`+rule+`"}`), Advisors: []Advisor{advice{action: permissions.Allow}, c.advice}, Now: time.Now()}
			v := j.Judge(kindCall(t, t.TempDir(), "shell_exec", "command", "git status"))
			if v.Action != c.want[rule] {
				t.Errorf("%s and %+v: %v %s", rule, c.advice, v.Action, v.Reason)
			}
			if v.Action == permissions.Ask && c.advice.action == permissions.Ask && (len(v.Marks) != 1 || v.Marks[0].Code != markAdvisor) {
				t.Errorf("%s: marks %+v", rule, v.Marks)
			}
		}
	}
}

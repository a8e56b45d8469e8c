package policy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/policy"
	"callgate/internal/translate"
	"callgate/permissions"
)

func question(t *testing.T, tool *tools.Tool, arguments string) gate.Question {
	t.Helper()
	place := tools.Place{Dir: "/src/app", Roots: []string{"/src/app"}, Home: "/home/u"}
	call := gate.Call{Tool: tool, Arguments: []byte(arguments), Place: place, Principal: "John"}
	return gate.Question{Call: call, Analysis: tools.Analyze(tools.Call{Tool: tool, Arguments: call.Arguments, Place: place}), Agent: "default", Host: "claude-code"}
}

func shell(t *testing.T, command string) gate.Question {
	t.Helper()
	text, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return question(t, tools.KindTool(tools.KindShell), string(text))
}

type advice struct {
	action permissions.Action
	why    string
}

// advises checks the advice on each command. Errors are failures.
func advises(t *testing.T, a gate.Advisor, commands map[string]advice) {
	t.Helper()
	for command, want := range commands {
		action, why, err := a.Advise(shell(t, command))
		if err != nil || action != want.action || !strings.Contains(why, want.why) {
			t.Errorf("%s: %v %q %v; want %v %q", command, action, why, err, want.action, want.why)
		}
	}
}

func TestCedar(t *testing.T) {
	c, err := policy.NewCedar("p.cedar", []byte(`
permit (principal, action == Callgate::Action::"call", resource);
@id("no-prod")
forbid (principal, action, resource) when { context.kind == "shell_exec" && context.value like "kubectl * --context prod*" };
@id("release") @callgate("ask")
forbid (principal, action, resource) when { context.value like "npm publish*" && principal.host == "claude-code" };
forbid (principal, action, resource) when { context.kind == "read_file" && context.value like "*/secret.txt" };
forbid (principal, action, resource) when { context.risk == "DESTRUCTIVE" && context.value like "rm *" && context.workspace == "/src/app" };
`))
	if err != nil {
		t.Fatal(err)
	}
	advises(t, c, map[string]advice{
		"git status":                          {permissions.Allow, ""},
		"kubectl delete pod --context prod-1": {permissions.Deny, "no-prod (p.cedar:3)"},
		"npm publish --tag x":                 {permissions.Ask, "release (p.cedar:5)"},
		"npm publish && cat /x/secret.txt":    {permissions.Deny, "p.cedar:7"},
		"cat /x/other.txt":                    {permissions.Allow, ""},
		"rm -rf build":                        {permissions.Deny, "p.cedar:8"},
	})
	// Other spellings can be forbidden too: the target of a link, and the command in a wrapper.
	for name, s := range map[string]permissions.Subject{
		"link": {Kind: "read_file", Decides: permissions.Form{"/src/app/link"}, Also: []permissions.Form{{"/x/secret.txt"}}},
		"none": {},
	} {
		q := shell(t, "ls")
		q.Analysis.Subjects = []permissions.Subject{s}
		if name == "none" {
			q.Analysis.Subjects = nil
		}
		c := c
		if name == "none" {
			if c, err = policy.NewCedar("p.cedar", []byte(`permit (principal, action, resource); forbid (principal, action, resource) when { resource.kind == "shell_exec" };`)); err != nil {
				t.Fatal(err)
			}
		}
		if action, why, err := c.Advise(q); err != nil || action != permissions.Deny {
			t.Errorf("%s: %v %q %v", name, action, why, err)
		}
	}
	if _, err := policy.NewCedar("p.cedar", []byte("permit (principal")); err == nil {
		t.Error("what does not parse is taken")
	}
	for name, text := range map[string]string{"nothing permits": `forbid (principal, action, resource) when { false };`, "an error": `permit (principal, action, resource); forbid (principal, action, resource) when { context.nothing == 1 };`} {
		c, err := policy.NewCedar("p.cedar", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		action, _, err := c.Advise(shell(t, "ls"))
		if action != permissions.Deny || (err != nil) != (name == "an error") {
			t.Errorf("%s: %v %v", name, action, err)
		}
	}
}

// TestCedarOfAgentCore checks that policies as in Amazon's documentation of gateways mean the same here.
func TestCedarOfAgentCore(t *testing.T) {
	c, err := policy.NewCedar("refunds.cedar", []byte(`
permit (
  principal is AgentCore::OAuthUser,
  action == AgentCore::Action::"RefundTool___process_refund",
  resource == AgentCore::Gateway::"arn:aws:bedrock-agentcore:us-west-2:123456789012:gateway/refund-gateway"
) when {
  principal.hasTag("username") && principal.getTag("username") == "John" && context.input.amount < 500
};
permit (principal, action in AgentCore::Action::"CallTool", resource is AgentCore::Gateway) when { context.input has query && ["a", "b"].contains(context.input.query) };`))
	if err != nil {
		t.Fatal(err)
	}
	refund := tools.Describe(tools.Server{Name: "RefundTool"}, "process_refund", "RefundTool_process_refund", nil)
	for arguments, want := range map[string]permissions.Action{
		`{"amount": 499, "items": [{"id": 1.5, "none": null}]}`: permissions.Allow, `{"amount": 500}`: permissions.Deny, `{"amount": 4.99e2}`: permissions.Allow, `{"query": "a", "amount": 900}`: permissions.Allow,
	} {
		if action, why, err := c.Advise(question(t, refund, arguments)); err != nil || action != want {
			t.Errorf("%s: %v %q %v, want %v", arguments, action, why, err, want)
		}
	}
	for _, arguments := range []string{`{"amount": "much"}`, `{}`, `{"amount": 1e400}`} { // the policy cannot be evaluated
		if action, _, err := c.Advise(question(t, refund, arguments)); action != permissions.Deny || err == nil {
			t.Errorf("%s: %v %v", arguments, action, err)
		}
	}
	q := question(t, refund, `{"amount": 1}`)
	q.Call.Principal = "Jane"
	if action, _, _ := c.Advise(q); action != permissions.Deny {
		t.Errorf("somebody else: %v", action)
	}
	if _, err := policy.NewCedar("x", []byte(`permit (principal, action, resource == AgentCore::Gateway::"a"); permit (principal, action, resource == AgentCore::Gateway::"b");`)); err == nil {
		t.Error("two gateways are one")
	}
}

// TestCedarNumbers checks that numbers are compared exactly, and not at all if Cedar has no such number.
func TestCedarNumbers(t *testing.T) {
	c, err := policy.NewCedar("p.cedar", []byte(`permit (principal, action, resource);
forbid (principal, action, resource) when { context.input has whole && context.input.whole > 100 };
forbid (principal, action, resource) when { context.input has part && context.input.part.greaterThan(decimal("100.0")) };
forbid (principal, action, resource) when { context.input has same && context.input.same != decimal("-0.5") };`))
	if err != nil {
		t.Fatal(err)
	}
	tool := tools.Describe(tools.Server{Name: "s"}, "pay", "s_pay", nil)
	for arguments, want := range map[string]advice{
		`{"whole": 100}`: {permissions.Allow, ""}, `{"whole": 101}`: {permissions.Deny, "p.cedar:2"}, `{"whole": 1.010e2}`: {permissions.Deny, "p.cedar:2"},
		`{"whole": 10000000000000000e-14}`: {permissions.Allow, ""}, `{"whole": 100.0000000000000000001}`: {permissions.Deny, "error"},
		`{"whole": 9223372036854775807}`: {permissions.Deny, "p.cedar:2"}, `{"whole": 9223372036854775808}`: {permissions.Deny, "error"},
		`{"part": 99.9999}`: {permissions.Allow, ""}, `{"part": 100.0001000}`: {permissions.Deny, "p.cedar:3"}, `{"part": 100.00009}`: {permissions.Deny, "error"},
		`{"part": 1e-9}`: {permissions.Deny, "error"}, `{"part": 1e-999999999}`: {permissions.Deny, "error"}, `{"part": 1e999999999}`: {permissions.Deny, "error"},
		`{"part": 922337203685477.5808}`: {permissions.Deny, "error"}, `{"part": -922337203685477.5808}`: {permissions.Allow, ""},
		`{"same": -0.50}`: {permissions.Allow, ""}, `{"same": -0.50001}`: {permissions.Deny, "p.cedar:4"}, `{"latitude": 52.520008}`: {permissions.Allow, ""},
	} {
		action, why, err := c.Advise(question(t, tool, arguments))
		if action != want.action || (err != nil) != (want.why == "error") || err == nil && !strings.Contains(why, want.why) {
			t.Errorf("%s: %v %q %v, want %v", arguments, action, why, err, want)
		}
	}
}

// shared returns a call of one of several tools that share a name on their server, which is their plain name.
func shared(t *testing.T) gate.Question {
	t.Helper()
	tool := tools.Describe(tools.Server{Name: "s"}, "delete_all", "s_delete_all_1a2b3c4d", nil)
	tool.Plain = "s_delete_all"
	return question(t, tool, "{}")
}

// TestCedarKnowsPlainNames checks that a server cannot take a tool away from a policy, or give it a permit, by offering
// another tool of the same name.
func TestCedarKnowsPlainNames(t *testing.T) {
	const every = `permit (principal, action, resource);`
	for text, want := range map[string]permissions.Action{
		every: permissions.Allow,
		every + `forbid (principal, action, resource == Callgate::Tool::"s_delete_all");`:                                                               permissions.Deny,
		every + `@callgate("ask") forbid (principal, action, resource) when { resource.name == "s_delete_all" };`:                                       permissions.Ask,
		`permit (principal, action, resource == Callgate::Tool::"s_delete_all");`:                                                                       permissions.Deny,
		`permit (principal, action, resource == Callgate::Tool::"s_delete_all_1a2b3c4d");`:                                                              permissions.Allow,
		`permit (principal, action, resource == AgentCore::Gateway::"g"); forbid (principal, action == AgentCore::Action::"s___delete_all", resource);`: permissions.Deny,
		`permit (principal, action == AgentCore::Action::"s___delete_all", resource);`:                                                                  permissions.Deny,
		`permit (principal, action == AgentCore::Action::"s___delete_all_1a2b3c4d", resource);`:                                                         permissions.Allow,
	} {
		c, err := policy.NewCedar("p.cedar", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if action, why, err := c.Advise(shared(t)); err != nil || action != want {
			t.Errorf("%s: %v %q %v, want %v", text, action, why, err, want)
		}
	}
}

// TestExportedRulesInCedar checks that exported rules decide the same in Cedar, as far as they translate.
func TestExportedRulesInCedar(t *testing.T) {
	file, err := permissions.ParseFile("p", []byte(`{"*": "ask", "read_file": {"*": "allow", "*.env*": "deny", "*.env.example": "allow"},
	  "shell_exec": {"git @(status|log) *": "allow", "git log -p": "confirm", "rm *": "deny", "rm -i *": "ask"}}`), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := permissions.NewPolicy(nil, file.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &translate.Export{Rules: rules.File}
	text, _, err := e.Write("cedar")
	if err != nil || len(e.Left) > 0 {
		t.Fatalf("%v %v", err, e.Left)
	}
	c, err := policy.NewCedar("exported.cedar", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	questions := []gate.Question{}
	for _, command := range []string{"git status", "git log -p", "git log", "git push", "rm x", "rm -i x", "ls"} {
		questions = append(questions, shell(t, command))
	}
	for _, path := range []string{"a.go", "/x/.env", "/x/.env.example", "/x/.envrc"} {
		questions = append(questions, question(t, tools.KindTool(tools.KindReadFile), fmt.Sprintf(`{"path": %q}`, path)))
	}
	for _, q := range questions {
		s := q.Analysis.Subjects[0]
		s.Also, s.Decides = nil, s.Decides[:1]
		want := permissions.Evaluate(rules, permissions.Context{}, &s).Action
		if want == permissions.Confirm {
			want = permissions.Ask
		}
		if got, why, err := c.Advise(q); err != nil || got != want {
			t.Errorf("%s: %v %q %v, want %v\n%s", s.Decides, got, why, err, want, text)
		}
	}
}

func TestAuthZEN(t *testing.T) {
	var asked map[string]any
	reply := func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"decision": true}`) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = nil
		if r.Method != "POST" || r.URL.Path != "/base/access/v1/evaluation" || r.Header.Get("Authorization") != "Bearer secret" || json.NewDecoder(r.Body).Decode(&asked) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		reply(w)
	}))
	defer server.Close()
	a, err := policy.NewAuthZEN(server.URL+"/base", "secret", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reply  string
		status int
		action permissions.Action
		why    string
	}{
		{`{"decision": true}`, 200, permissions.Allow, ""},
		{`{"decision": false, "context": {"reason_user": {"de": "nein", "en": "Not today."}}}`, 200, permissions.Deny, "Not today"},
		{`{"decision": false, "context": {"ask": true, "reason_admin": {"403": "look"}}}`, 200, permissions.Ask, "look"},
		{`{"decision": false}`, 200, permissions.Deny, "no reason"},
		{`{"decision": "yes"}`, 200, permissions.Deny, "error"}, {`{}`, 200, permissions.Deny, "error"}, {`{"decision": true}`, 500, permissions.Deny, "error"},
		{`{"decision": true}`, 302, permissions.Deny, "error"}, {`{"decision": true, "x": "` + strings.Repeat("x", 70<<10) + `"}`, 200, permissions.Deny, "error"},
	} {
		reply = func(w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.reply)
		}
		action, why, err := a.Advise(shell(t, "git push"))
		if action != c.action || (err != nil) != (c.why == "error") || err == nil && !strings.Contains(why, c.why) {
			t.Errorf("%d %.60s: %v %q %v", c.status, c.reply, action, why, err)
		}
	}
	resource, _ := asked["resource"].(map[string]any)
	context, _ := asked["context"].(map[string]any)
	if resource["id"] != "shell_exec" || context["risk"] != "NETWORK" || !strings.Contains(fmt.Sprint(context["subjects"]), "git push") {
		t.Errorf("it was asked %v", asked)
	}
	var names []any // the engine is also asked under the tool's plain name
	reply = func(w http.ResponseWriter) {
		names = append(names, asked["resource"].(map[string]any)["id"])
		_, _ = fmt.Fprintf(w, `{"decision": %t}`, names[len(names)-1] != "s_delete_all")
	}
	if action, _, err := a.Advise(shared(t)); err != nil || action != permissions.Deny || fmt.Sprint(names) != "[s_delete_all_1a2b3c4d s_delete_all]" {
		t.Errorf("several tools of one name: %v %v, asked about %v", action, err, names)
	}
	server.Close()
	if action, _, err := a.Advise(shell(t, "ls")); action != permissions.Deny || err == nil {
		t.Errorf("a dead decision point: %v %v", action, err)
	}
	for _, address := range []string{"", "pdp", "http://pdp.example.com"} {
		if _, err := policy.NewAuthZEN(address, "", time.Second); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// TestReasonIsCut checks that a long reason is cut between characters.
func TestReasonIsCut(t *testing.T) {
	if got := policy.Reason("x" + strings.Repeat("ß", 200)); got != "x"+strings.Repeat("ß", 149) {
		t.Errorf("%q", got)
	}
}

// TestAuthZENHasADeadline checks that a decision point which does not answer in time denies.
func TestAuthZENHasADeadline(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	a, err := policy.NewAuthZEN(server.URL, "", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if action, _, err := a.Advise(shell(t, "ls")); action != permissions.Deny || err == nil {
		t.Errorf("%v %v", action, err)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/policy"
	"callgate/permissions"
)

// A Rego file is compiled when the configuration is read.
func TestConfiguration(t *testing.T) {
	policy.OpenRego = OpenRego
	load := func(file string) (*config.Config, error) {
		dir := t.TempDir()
		file = filepath.ToSlash(filepath.Join(dir, file))
		for name, text := range map[string]string{
			"callgate.yaml": "policy:\n  rego: [" + file + "]\n", "p.rego": "package p\n\ndeny contains \"no\" if input.context.value == \"x\"\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := config.NewSettings(pflag.NewFlagSet("common", pflag.ContinueOnError))
		if err := s.Common.Parse([]string{"--config", filepath.Join(dir, "callgate.yaml"), "--data-dir", dir}); err != nil {
			t.Fatal(err)
		}
		return s.Load()
	}
	if c, err := load("p.rego"); err != nil || len(c.PolicyEngines) != 1 || c.PolicyEngines[0].Name() != "p.rego" || c.Policy.Timeout != 2*time.Second {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := load("none.rego"); err == nil || !strings.Contains(err.Error(), "policy.rego") {
		t.Errorf("a file that is not there: %v", err)
	}
}

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

func TestRego(t *testing.T) {
	r, err := NewRego("p.rego", []byte(`
package callgate

deny contains "no production" if {
	input.context.kind == "shell_exec"
	glob.match("kubectl * --context prod*", [], input.context.value)
}
deny contains {"msg": "secret"} if endswith(input.context.value, "/secret.txt")
deny contains sprintf("%s in %s", [input.context.risk, input.context.workspace]) if {
	input.context.risk == "DESTRUCTIVE"
	startswith(input.context.value, "rm ")
}
ask contains "a release" if {
	startswith(input.context.value, "npm publish")
	input.principal.host == "claude-code"
}
unused := to_number("x") # what no rule that counts needs is not evaluated
`), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]struct {
		action permissions.Action
		why    string
	}{
		"git status":                          {permissions.Allow, ""},
		"kubectl delete pod --context prod-1": {permissions.Deny, "no production"},
		"npm publish --tag x":                 {permissions.Ask, "a release"},
		"npm publish && cat /x/secret.txt":    {permissions.Deny, "secret"},
		"rm -rf build":                        {permissions.Deny, "DESTRUCTIVE in /src/app"},
	} {
		if action, why, err := r.Advise(shell(t, command)); err != nil || action != want.action || !strings.Contains(why, want.why) {
			t.Errorf("%s: %v %q %v; want %v %q", command, action, why, err, want.action, want.why)
		}
	}
	q := shell(t, "ls")
	q.Analysis.Subjects = []permissions.Subject{{Kind: "read_file", Decides: permissions.Form{"/src/app/link"}, Also: []permissions.Form{{"/x/secret.txt"}}}}
	if action, _, err := r.Advise(q); err != nil || action != permissions.Deny {
		t.Errorf("where a link leads: %v %v", action, err)
	}
}

// Policies in the form of OPA's documentation: allow with a default, and rules about the arguments.
func TestRegoAllows(t *testing.T) {
	r, err := NewRego("authz.rego", []byte(`
package httpapi.authz

default allow := false

allow if {
	input.resource.name == "pay_refund"
	input.principal.principal == "John"
	input.context.input.amount < 500
}
allow if input.resource.server != "pay"
`), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	refund := tools.Describe(tools.Server{Name: "pay"}, "refund", "pay_refund", nil)
	for arguments, want := range map[string]permissions.Action{
		`{"amount": 499.5}`: permissions.Allow, `{"amount": 500}`: permissions.Deny, `{"amount": null}`: permissions.Allow, // null is less than any number
		`{"amount": "1"}`: permissions.Deny, `{}`: permissions.Deny, ``: permissions.Deny, `{"amount": 99999999999999999999}`: permissions.Deny,
	} {
		if action, why, err := r.Advise(question(t, refund, arguments)); err != nil || action != want {
			t.Errorf("%s: %v %q %v, want %v", arguments, action, why, err, want)
		}
	}
	if action, why, err := r.Advise(shell(t, "cat a")); err != nil || action != permissions.Allow {
		t.Errorf("another server: %v %q %v", action, why, err)
	}
}

// A server can neither take a tool away from a policy nor get an allow by offering another tool of the same name.
func TestRegoKnowsPlainNames(t *testing.T) {
	tool := tools.Describe(tools.Server{Name: "s"}, "delete_all", "s_delete_all_1a2b3c4d", nil)
	tool.Plain = "s_delete_all"
	for rule, want := range map[string]permissions.Action{
		`deny if input.resource.name == "s_delete_all"`: permissions.Deny, `allow if input.resource.name == "s_delete_all"`: permissions.Deny,
		`allow if input.resource.name == "s_delete_all_1a2b3c4d"`: permissions.Allow,
	} {
		r, err := NewRego("p.rego", []byte("package p\n"+rule), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if action, why, err := r.Advise(question(t, tool, "{}")); err != nil || action != want {
			t.Errorf("%s: %v %q %v, want %v", rule, action, why, err, want)
		}
	}
}

// Policies that fail never allow.
func TestRegoFailsClosed(t *testing.T) {
	for name, rules := range map[string]string{
		"an error of a function": `deny if to_number(input.context.value) > 1`,
		"two values":             "ask := true\nask := false",
		"a number":               `deny := 1`,
		"a set of numbers":       `deny contains 1`,
		"null":                   `deny := null`,
		"asking is null":         `ask := null`,
		"an object":              `ask.because := "x"`,
		"no allow":               `allow if false`,
		"allow is a text":        `allow := "yes"`,
		"allow is a set":         `allow contains "yes"`,
		"allow is an error":      `allow if to_number(input.context.value) > 1`,
	} {
		r, err := NewRego("p.rego", []byte("package p\n"+rules), time.Minute)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if action, why, err := r.Advise(shell(t, "ls")); action != permissions.Deny {
			t.Errorf("%s: %v %q %v", name, action, why, err)
		}
	}
	for name, text := range map[string]string{
		"no package": `deny if true`, "no rule that counts": "package p\ndenied if true", "another syntax": "package p\ndeny[m] { m := 1 }", "nothing": "",
		"an unsafe variable": "package p\ndeny if x > 1",
		"network":            "package p\ndeny if http.send({\"method\": \"get\", \"url\": \"http://127.0.0.1:1\"}).status_code == 200",
		"names":              "package p\ndeny if net.lookup_ip_addr(\"localhost\")",
		"a function":         "package p\ndeny(x) := true if x == 1",
		"environment":        "package p\ndeny if opa.runtime().env.HOME",
		"chance":             "package p\ndeny if rand.intn(\"x\", 2) == 1",
	} {
		if _, err := NewRego("p.rego", []byte(text), time.Minute); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	r, err := NewRego("slow.rego", []byte(`
package p
deny if {
	some i in numbers.range(1, 10000)
	some j in numbers.range(1, 10000)
	i * j == -1
}`), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if action, _, err := r.Advise(shell(t, "ls")); action != permissions.Deny || err == nil {
		t.Errorf("what takes too long: %v %v", action, err)
	}
	if action, _, err := r.Advise(question(t, tools.KindTool(tools.KindReadFile), `{"path": `)); action != permissions.Deny || err == nil {
		t.Errorf("arguments that are no JSON: %v %v", action, err)
	}
	if _, err := OpenRego(fmt.Sprint(t.TempDir(), "/none.rego"), time.Second); err == nil {
		t.Error("a file that is not there is taken")
	}
	if _, err := NewRego("p.rego", []byte("package p\ndeny if false"), 0); err == nil {
		t.Error("no deadline is taken")
	}
}

package store

import (
	"bytes"
	"strings"
	"testing"

	"callgate/permissions"
)

func merged(t *testing.T, text string) (string, *permissions.Policy) {
	t.Helper()
	out, err := MergeDefaults("p", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	f, err := permissions.ParseFile("p", out, "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	p, err := permissions.NewPolicy(nil, f.Rules, f.Grants)
	if err != nil {
		t.Fatal(err)
	}
	again, err := MergeDefaults("p", out, "/home/u")
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("a second merge changes something: %v\n%s", err, again)
	}
	return string(out), p
}

func TestMergeDefaults(t *testing.T) {
	if out, _ := merged(t, string(formerDefaults)); out != string(defaults) {
		t.Errorf("the former defaults do not become the new ones:\n%s", out)
	}
	if out, _ := merged(t, string(defaults)); out != string(defaults) {
		t.Error("the defaults change")
	}

	own := strings.Replace(string(formerDefaults), `"shell_exec": "ask",`, `"shell_exec": {
    // we deploy by hand
    "make deploy *": "deny",
    "terraform plan *": "allow", // reads only
    "*": "ask"
  },
  // our own server
  "acme_*": { "env=dev": "allow" },
  "web_fetch": { "https://go.dev/*": "allow" },`, 1)
	own = strings.Replace(own, `"glob": "allow"`, `"glob": "deny"`, 1)
	own = strings.Replace(own, `"$always": []`, `"$always": [{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"}]`, 1)
	out, p := merged(t, own)
	for _, want := range []string{"// we deploy by hand", "// our own server", "// Credentials: denied to every tool"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(out, want), out)
		}
	}
	if strings.Index(out, `"make deploy *"`) > strings.Index(out, `"terraform plan *"`) {
		t.Error("the order changed")
	}
	shell := func(command string, risk permissions.Risk) permissions.Subject {
		return permissions.Subject{Tool: "shell_exec", Kind: "shell_exec", KindBound: true, Value: command, Decides: permissions.Form{command}, Risk: risk}
	}
	file := func(kind, path string) permissions.Subject {
		return permissions.Subject{Tool: "s_t", Kind: kind, KindBound: true, Decides: permissions.Form{path, "$WORKSPACE/" + strings.TrimPrefix(path, "/w/")}}
	}
	for _, c := range []struct {
		subject permissions.Subject
		want    permissions.Action
	}{
		{shell("make deploy", permissions.Unknown), permissions.Deny},
		{shell("terraform plan", permissions.ReadOnly), permissions.Allow},
		{shell("git log", permissions.ReadOnly), permissions.Allow},
		{file("glob", "/w/x"), permissions.Deny},
		{file("read_file", "/w/x"), permissions.Allow},
		{file("read_file", "/w/.env"), permissions.Deny},
		{file("read_file", "/w/secretary.go"), permissions.Allow},
		{permissions.Subject{Tool: "s_f", Kind: "web_fetch", KindBound: true, Decides: permissions.Form{"https://go.dev/x"}}, permissions.Allow},
		{permissions.Subject{Tool: "s_f", Kind: "web_fetch", KindBound: true, Decides: permissions.Form{"https://evil.example/x"}}, permissions.Ask},
		{permissions.Subject{Tool: "acme_x", Arguments: []byte(`{"env":"dev"}`)}, permissions.Allow},
	} {
		if f := permissions.Evaluate(p, permissions.Context{}, &c.subject); f.Action != c.want {
			t.Errorf("%s %v: %v by %v, want %v", c.subject.Kind, c.subject.Decides, f.Action, f.Rule, c.want)
		}
	}
	if len(p.Grants) != 1 {
		t.Errorf("grants: %v", p.Grants)
	}
	if _, err := MergeDefaults("p", []byte(`{"a": "alow"}`), "/home/u"); err == nil {
		t.Error("a file that cannot be read is merged")
	}
	if out, _ := merged(t, `{"*": "allow"}`); !strings.Contains(out, `"*": "allow"`) {
		t.Errorf("the file's own word about everything is gone:\n%s", out)
	}
	merged(t, `{"read_file": {"*": "allow"}, "x": "deny", "$always": []}`)
	merged(t, "{\n}")
}

package hooks

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// before returns a hook that decides with a shell script.
func before(name, script string) Config {
	return Config{Name: name, Event: []string{ToolRequested}, When: "before", Action: Action{Command: []any{"sh", "-c", script}}}
}

// opinions asks the hooks about a call and returns their opinions.
func opinions(t *testing.T, r *Runner, arguments string) (all []Opinion) {
	t.Helper()
	e := Event{Name: ToolRequested, Tool: "a_b", Kind: "write_file", Arguments: []byte(arguments)}
	r.Decide(t.Context(), e, func(o Opinion) (Event, bool, error) {
		if string(o.Arguments) == `{"bad":1}` {
			return e, true, errors.New("they are bad")
		}
		all = append(all, o)
		if o.Arguments != nil {
			e.Arguments = o.Arguments
		}
		return e, !o.Deny, nil
	})
	return all
}

func TestDecidingHooks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are shell scripts")
	}
	for name, c := range map[string]struct {
		script    string
		onFailure string
		timeout   time.Duration
		secrets   bool
		arguments string
		want      Opinion
	}{
		"nothing to say":            {script: `cat >/dev/null`},
		"blanks":                    {script: `echo; echo`},
		"an empty answer":           {script: `echo '{}'`},
		"a code that denies":        {script: `echo "not today" >&2; exit 2`, want: Opinion{Deny: true, Reason: "The hook h refuses the call: not today."}},
		"a code that denies in red": {script: `printf 'a\033[31mb' >&2; exit 2`, want: Opinion{Deny: true, Reason: `The hook h refuses the call: a`}},
		"a code that asks":          {script: `exit 3`, want: Opinion{Ask: true, Reason: "The hook h wants a person to look at the call."}},
		"JSON that denies":          {script: `echo '{"decision":"deny","reason":"no"}'`, want: Opinion{Deny: true, Reason: "The hook h refuses the call: no"}},
		"JSON that asks":            {script: `echo '{"decision":"ask","reason":"look"}'`, want: Opinion{Ask: true, Reason: "The hook h wants a person to look at the call: look"}},
		"other arguments":           {script: `echo '{"arguments":{"b":2}}'`, want: Opinion{Arguments: []byte(`{"b":2}`)}},
		"other arguments, and a question": {
			script: `echo '{"decision":"ask","reason":"r","arguments":{"b":2}}'`,
			want:   Opinion{Ask: true, Reason: "The hook h wants a person to look at the call: r", Arguments: []byte(`{"b":2}`)},
		},
		"what it reads": {script: `grep -q '"parameters":{"a":1}' || exit 9`},

		"it allows":                {script: `echo '{"decision":"allow"}'`, want: Opinion{Ask: true, Reason: "cannot let a call run"}},
		"it approves":              {script: `echo '{"decision":"approve"}'`, onFailure: "deny", want: Opinion{Deny: true, Reason: "cannot let a call run"}},
		"another word":             {script: `echo '{"decision":"Deny"}'`, want: Opinion{Ask: true, Reason: "use deny or ask"}},
		"another member":           {script: `echo '{"permissionDecision":"deny"}'`, want: Opinion{Ask: true, Reason: "not an answer"}},
		"a member in another case": {script: `echo '{"Decision":"deny"}'`, want: Opinion{Ask: true, Reason: "not an answer"}},
		"a member twice":           {script: `echo '{"decision":"deny","decision":"ask"}'`, want: Opinion{Ask: true, Reason: "not an answer"}},
		"no JSON":                  {script: `echo ok`, want: Opinion{Ask: true, Reason: "not an answer (invalid JSON at byte 0: invalid character 'o'"}},
		"JSON that breaks off":     {script: `echo '{"decision":"deny"'`, want: Opinion{Ask: true, Reason: "not an answer (invalid JSON: it ends too early)"}},
		"two answers":              {script: `echo '{}{"decision":"deny"}'`, want: Opinion{Ask: true, Reason: "not an answer"}},
		"arguments that are none":  {script: `echo '{"arguments":[1]}'`, want: Opinion{Ask: true, Reason: "not an object"}},
		"arguments that are bad":   {script: `echo '{"arguments":{"bad":1}}'`, onFailure: "deny", want: Opinion{Deny: true, Reason: "they are bad"}},
		"another code":             {script: `echo oops >&2; exit 1`, onFailure: "deny", want: Opinion{Deny: true, Reason: "exit code 1: oops"}},
		"a signal":                 {script: `kill -s KILL $$`, want: Opinion{Ask: true, Reason: "killed"}},
		"a flood":                  {script: `yes`, want: Opinion{Ask: true, Reason: "MiB"}},
		"much":                     {script: `echo '{"decision":"deny","reason":"'; head -c 100000 /dev/zero | tr '\0' x; echo '"}'`, want: Opinion{Ask: true, Reason: "more than 65536 bytes"}},
		"it hangs":                 {script: `trap '' TERM; sleep 60`, timeout: 200 * time.Millisecond, want: Opinion{Ask: true, Reason: "longer than the 200ms"}},
		"it hangs, and counts":     {script: `sleep 60 & sleep 60`, timeout: 200 * time.Millisecond, onFailure: "deny", want: Opinion{Deny: true, Reason: "longer than the 200ms"}},

		"it changes what it did not see": {script: `echo '{"arguments":{"b":2}}'`, arguments: `{"password":"hunter2"}`, want: Opinion{Ask: true, Reason: "secrets: true"}},
		"it changes what it saw":         {script: `echo '{"arguments":{"b":2}}'`, arguments: `{"password":"hunter2"}`, secrets: true, want: Opinion{Arguments: []byte(`{"b":2}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			hook := before("h", c.script)
			hook.OnFailure, hook.Timeout, hook.Secrets = c.onFailure, c.timeout, c.secrets
			r, _ := start(t, hook)
			if c.arguments == "" {
				c.arguments = `{"a":1}`
			}
			got := opinions(t, r, c.arguments)
			if len(got) != 1 {
				t.Fatalf("%+v", got)
			}
			o := got[0]
			if o.Deny != c.want.Deny || o.Ask != c.want.Ask || string(o.Arguments) != string(c.want.Arguments) || !strings.Contains(o.Reason, c.want.Reason) || o.Hook != "h" {
				t.Errorf("got %+v %s, want %+v", o, o.Arguments, c.want)
			}
			if strings.ContainsRune(o.Reason, '\033') {
				t.Errorf("the reason %q moves the cursor", o.Reason)
			}
			if failed := r.List(nil)[0].Failures; (failed == 1) != strings.Contains(o.Reason, "could not look") {
				t.Errorf("%d failures with %q", failed, o.Reason)
			}
		})
	}
}

func TestDecidingHooksInOrder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are shell scripts")
	}
	off := false
	other := before("for another kind", "exit 2")
	other.Name, other.Matcher = "other", "read_file"
	disabled := before("disabled", "exit 2")
	disabled.Enabled = &off
	r, _ := start(t, disabled, other,
		before("first", `echo '{"arguments":{"n":1}}'`),
		before("second", `grep -q '"parameters":{"n":1}' || exit 2; exit 3`),
		before("third", `exit 2`),
		before("fourth", `exit 3`),
	)
	got := opinions(t, r, `{"n":0}`)
	if len(got) != 3 || got[0].Hook != "first" || !got[1].Ask || !got[2].Deny {
		t.Errorf("%+v", got)
	}
	if r.Wants(ToolRequested) {
		t.Error("a hook that decides also follows")
	}
}

// A call that its host withdrew is not held up, and the hook is not blamed.
func TestDecidingEndsWithTheCall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hook is a shell script")
	}
	r, _ := start(t, before("h", "sleep 3600"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	var got []Opinion
	r.Decide(ctx, Event{Name: ToolRequested}, func(o Opinion) (Event, bool, error) {
		got = append(got, o)
		return Event{}, true, nil
	})
	if took := time.Since(began); took > waits.Limit || len(got) != 1 || !got[0].Ask || r.List(nil)[0].Failures != 0 {
		t.Errorf("after %s: %+v, %+v", took, got, r.List(nil)[0])
	}
}

// However many hooks there are, they do not delay a call for longer than all of them together may.
func TestDecidingIsBounded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are shell scripts")
	}
	r, _ := start(t, before("a", "sleep 3600"), before("b", "sleep 3600"), before("c", "exit 0"))
	r.pace.deciding = 300 * time.Millisecond
	began := time.Now()
	got := opinions(t, r, `{}`)
	if took := time.Since(began); took > waits.Limit || len(got) != 3 {
		t.Errorf("after %s: %+v", took, got)
	}
	for _, o := range got {
		if !o.Ask || !strings.Contains(o.Reason, "delayed the call for 300ms") {
			t.Errorf("%+v", o)
		}
	}
}

func TestDecidingConfigurations(t *testing.T) {
	action := Action{Command: []any{"cat"}}
	for want, c := range map[string]Config{
		"use before":           {Event: []string{ToolRequested}, When: "first", Action: action},
		"tool.requested alone": {Event: []string{ToolRequested, ToolFailed}, When: "before", Action: action},
		"event tool.requested": {Event: []string{ToolFailed}, When: "before", Action: action},
		"use ask or deny":      {Event: []string{ToolRequested}, When: "before", OnFailure: "allow", Action: action},
		"with when: before":    {Event: []string{ToolRequested}, OnFailure: "deny", Action: action},
		"type command":         {Event: []string{ToolRequested}, When: "before", Action: Action{Message: "x"}},
		"for 45s at most":      {Event: []string{ToolRequested}, When: "before", Timeout: time.Minute, Action: action},
	} {
		c.Name = "h"
		if _, err := New(Options{Hooks: []Config{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

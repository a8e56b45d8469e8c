package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
)

const (
	// maxDeciding bounds how long all hooks together may delay a call. Hosts may give up after a minute: this leaves
	// time for the rest.
	maxDeciding = 45 * time.Second

	// deciders bounds how many of them run at the same time, over all calls.
	deciders = 8

	maxReason = 1000 // bytes of a hook's reason
)

// Exit codes of a hook that decides.
const (
	codeNoOpinion = 0 // unless standard output has an answer
	codeDeny      = 2
	codeAsk       = 3
)

// Opinion is a hook's answer about a call before the gate decides. It cannot allow: the zero value has no effect.
type Opinion struct {
	Hook      string
	Deny      bool   // the call does not run
	Ask       bool   // a person must look at it
	Reason    string // why
	Arguments []byte // to be judged and sent in place of the call's; nil keeps those
}

// words returns what the opinion would do to a call.
func (o *Opinion) words() string {
	var lines []string
	switch {
	case o.Deny:
		lines = append(lines, "denies: "+o.Reason)
	case o.Ask:
		lines = append(lines, "asks a person: "+o.Reason)
	}
	if o.Arguments != nil && !o.Deny {
		lines = append(lines, "changes the arguments: "+string(o.Arguments))
	}
	if lines == nil {
		return "has nothing to say: the gate decides"
	}
	return strings.Join(lines, "\n")
}

// decides reports whether the hook is asked before the gate decides. It returns an error for settings that do not fit.
func (c Config) decides() (bool, error) {
	switch {
	case c.When == "" && c.OnFailure == "":
		return false, nil
	case c.When == "":
		return false, errors.New("onFailure is for hooks with when: before")
	case c.When != "before":
		return false, fmt.Errorf("when %q: use before, or leave it out", c.When)
	case !slices.Equal(c.Event, []string{ToolRequested}):
		return false, fmt.Errorf("when: before is for the event %s alone", ToolRequested)
	case c.OnFailure != "" && c.OnFailure != "ask" && c.OnFailure != "deny":
		return false, fmt.Errorf("onFailure %q: use ask or deny", c.OnFailure)
	case c.Timeout > maxDeciding:
		return false, fmt.Errorf("timeout %s: all hooks together may delay a call for %s at most", c.Timeout, maxDeciding)
	}
	return true, nil
}

// Decides reports whether any hook is asked before the gate decides.
func (r *Runner) Decides() bool {
	return r != nil && slices.ContainsFunc(r.hooks, func(h *hook) bool { return h.before })
}

// Decide asks the deciding hooks about e before the gate decides, one after another in the order of the configuration,
// and passes each opinion to heed. heed returns the event with the opinion applied, and false if no other hook has to
// be asked. Its error means that the hook's arguments cannot be used, which counts as a failure of the hook. All hooks
// together take at most maxDeciding. A failure is an opinion too: the one in the hook's onFailure.
func (r *Runner) Decide(ctx context.Context, e Event, heed func(Opinion) (Event, bool, error)) {
	if !r.Decides() {
		return
	}
	caller := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, r.pace.deciding, fmt.Errorf("hooks delayed the call for %s, which is the limit", r.pace.deciding))
	defer cancel()
	r.complete(&e)
	for _, h := range r.hooks {
		if !h.before || !h.wants(&e) || !r.enabled(h) {
			continue
		}
		opinion, err := r.ask(ctx, h, &e)
		next, more := e, true
		if err == nil {
			next, more, err = heed(opinion)
		}
		if err != nil {
			if caller.Err() == nil { // else nobody waits for the call any more, which is not the hook's fault
				r.failed(h, &e, err)
			}
			if next, more, err = heed(h.failure(err)); err != nil {
				return // a failure has no arguments that could be wrong
			}
		}
		if !more {
			return
		}
		e = next
		r.complete(&e)
	}
}

// failure returns the opinion of a hook that failed.
func (h *hook) failure(err error) Opinion {
	reason := fmt.Sprintf("The hook %s could not look at the call: %s.", h.name, clip(err.Error()))
	return Opinion{Hook: h.name, Deny: h.onFailure == "deny", Ask: h.onFailure != "deny", Reason: reason}
}

// ask runs the hook and reads its answer.
func (r *Runner) ask(ctx context.Context, h *hook, e *Event) (Opinion, error) {
	select {
	case r.deciding <- struct{}{}:
		defer func() { <-r.deciding }()
	case <-ctx.Done():
		return Opinion{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("it ran longer than the %s it may, and was ended", h.timeout))
	defer cancel()
	stop := context.AfterFunc(r.ctx, cancel)
	defer stop()
	h.stats.ran()
	result, err := h.action.(*command).start(ctx, r, h, e)
	if err != nil {
		return Opinion{}, err
	}
	o := Opinion{Hook: h.name}
	switch result.Code {
	case codeNoOpinion:
		if result.Cut {
			return o, fmt.Errorf("it wrote more than %d bytes", kept)
		}
		return o, h.read(result.Stdout, e, &o)
	case codeDeny:
		o.Deny, o.Reason = true, answerText(h, "refuses the call", string(result.Stderr))
	case codeAsk:
		o.Ask, o.Reason = true, answerText(h, "wants a person to look at the call", string(result.Stderr))
	default:
		return o, fmt.Errorf("exit code %d: %s", result.Code, firstLine(result.Stderr))
	}
	return o, nil
}

// reply is the answer that a hook may write to standard output.
type reply struct {
	Decision  string         `json:"decision"` // deny, ask, or missing
	Reason    string         `json:"reason"`
	Arguments jsontext.Value `json:"arguments"`
}

// read parses the hook's answer into o. Anything but a known answer is an error.
func (h *hook) read(stdout []byte, e *Event, o *Opinion) error {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return nil
	}
	var answer reply
	if err := json.Unmarshal(stdout, &answer, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf(`its output is not an answer (%w): write nothing, or {"decision": "deny" or "ask", "reason": "…"} and {"arguments": {…}}`, jsonx.Explain(err))
	}
	switch answer.Decision {
	case "":
	case "deny":
		o.Deny, o.Reason = true, answerText(h, "refuses the call", answer.Reason)
	case "ask":
		o.Ask, o.Reason = true, answerText(h, "wants a person to look at the call", answer.Reason)
	case "allow", "approve":
		return fmt.Errorf("it answered %q: a hook cannot let a call run, only the gate can", answer.Decision)
	default:
		return fmt.Errorf("it answered %q: use deny or ask, or leave decision out", clip(answer.Decision))
	}
	if answer.Arguments == nil || answer.Arguments.Kind() == 'n' {
		return nil
	}
	if answer.Arguments.Kind() != '{' {
		return errors.New("the arguments that it wrote are not an object")
	}
	if !h.saw(e.Arguments) {
		return errors.New("it changes arguments that it saw without their secrets, or cut: give the hook secrets: true")
	}
	o.Arguments = answer.Arguments
	return nil
}

// saw reports whether the hook got the arguments unchanged.
func (h *hook) saw(raw []byte) bool {
	if h.secrets || raw == nil {
		return true
	}
	plain := jsontext.Value(bytes.Clone(raw))
	return plain.Compact() == nil && bytes.Equal(plain, h.json(raw))
}

// answerText words a hook's answer, for people and for the model.
func answerText(h *hook, what, reason string) string {
	if reason = clip(strings.TrimSpace(reason)); reason == "" {
		return fmt.Sprintf("The hook %s %s.", h.name, what)
	}
	if !strings.ContainsAny(reason[len(reason)-1:], ".!?…") {
		reason += "."
	}
	return fmt.Sprintf("The hook %s %s: %s", h.name, what, reason)
}

// clip bounds a text that a program wrote, and makes its invisible characters visible.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return tools.Visible(s)
}

package gate

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"callgate/audit"
	"callgate/gate/internal/past"
	"callgate/gate/tools"
	"callgate/permissions"
)

// Decide decides whether the call may run. It returns the call to forward, whose arguments an approver may have
// changed. If a person has to decide, it waits until ctx or the session ends, the approval times out, or the call is
// handed over. The decision is on record when Decide returns; a decision that cannot be recorded is a denial. A call
// that Decide allows MUST be forwarded at most once, exactly as returned, and its outcome MUST be reported with Finish.
//
// The phases are in Judge; here is what surrounds them:
//
//	judge → budget → (ask → wait → judge the denials again) → a free place → record → answer
//
// A call uses one set of settings, even if Configure replaces them meanwhile. Only after a wait for a person does it
// use the current ones, so that what was switched off during the wait applies to it.
func (g *Gate) Decide(ctx context.Context, s *Session, call Call) (Verdict, Call) {
	call.facts() // so that all copies of the call share one reading
	s.active.touch()
	s.learnCredentials.Do(func() {
		for _, c := range g.credentials() {
			s.secrets.LearnValue(c.Value, c.Place)
		}
	})
	s.around.Look(call.Place, &s.secrets, &s.flow)
	now := g.judging()
	v := now.judge(s, call)
	limits := now.set.Limits
	if spent := s.turn.Take(limits.CallsPerTurn, limits.TurnIdle, time.Now()); spent != "" && v.Action != permissions.Deny {
		v = v.deny(DecidedLimited, "limits", "callsPerTurn", spent)
	}
	if v.Action == permissions.Allow {
		v = now.enforceLossLimit(s, call, v)
	}
	var asked *resolution
	if v.Action == permissions.Ask {
		if v, call, asked = g.questions(&now).ask(ctx, s, call, v); asked != nil {
			defer asked.outcome.settle(errUnfinished)
		}
		if v.Action == permissions.Allow {
			_, _ = now.countLosses(s, call, v, true) // an approved call counts, and is not refused
		}
	}
	v.Note = cmp.Or(v.Note, call.Before.note(call))
	v = now.admit(s, call, v)
	admitted := v.Action == permissions.Allow
	v, recorded := g.journal.recordDecision(s, call, v)
	g.queue.ended(asked, &v, recorded)
	if asked != nil && recorded == nil {
		g.questions(&now).note(s, call, &v)
	}
	if admitted && v.Action != permissions.Allow {
		s.leave(call)
	}
	if v.Action != permissions.Allow && g.journal.o.Ledger != nil {
		g.journal.o.Ledger.Done(call.ID)
	}
	if v.Action == permissions.Allow {
		if v.Decision != DecidedApproved { // a person has looked at an approved call
			s.manifests.Note(v.Analysis)
		}
		s.past.Begin(call.ID, v.Analysis, time.Now())
		s.noteStart(call, &v)
		if g.journal.events.followed() {
			g.journal.events.publish(Started{SessionID: s.id, Agent: cmp.Or(call.Agent, s.agent), ID: call.ID, Tool: call.Tool.Qualified, Arguments: call.Arguments, Risk: v.Risk(), Thinks: call.Thinks()})
		}
	}
	return v, call
}

// judging judges calls by the settings of one moment.
type judging struct {
	gate   *Gate
	set    *Settings
	always *given // the last "always" of that moment, whose grants count
}

func (g *Gate) judging() judging {
	return judging{gate: g, always: g.queue.given.Load(), set: g.journal.set.Load()}
}

// enforceLossLimit counts the irreversible changes of an allowed call. If they may not all happen unasked, it judges
// the call again.
func (g judging) enforceLossLimit(s *Session, call Call, v Verdict) Verdict {
	may, err := g.countLosses(s, call, v, false)
	switch {
	case err != nil:
		return v.deny(DecidedLimited, "limits", past.MarkLosses, past.Uncounted(err))
	case may:
		return v
	}
	if v = g.judge(s, call); v.Action == permissions.Allow { // other calls reached the limit meanwhile
		v = v.deny(DecidedLimited, "limits", past.MarkLosses, "Too many irreversible calls came at once.")
	}
	return v
}

// countLosses counts the irreversible changes of an allowed call. It returns false if they may not all happen unasked.
func (g judging) countLosses(s *Session, call Call, v Verdict, approved bool) (bool, error) {
	n, limits := past.LostBy(call.facts().Call, v.Analysis), g.set.Limits
	if n == 0 || limits.Irreversible <= 0 || g.gate.journal.o.Off {
		return true, nil
	}
	return s.burst.Count(limits.Irreversible, limits.IrreversibleWithin, n, approved, time.Now())
}

// admit counts an allowed call as running and sets how long it may run. If no place is left, it denies the call.
func (g judging) admit(s *Session, call Call, v Verdict) Verdict {
	if v.Action != permissions.Allow {
		return v
	}
	if full := s.enter(call, g.set.Limits.Concurrent); full != "" {
		return v.deny(DecidedLimited, "limits", "concurrent", full)
	}
	v.Timeout = g.set.Limits.timeout(call, v.Risk())
	return v
}

// enter counts a call that is about to be forwarded. It returns why there is no place for the call, or "".
func (s *Session) enter(call Call, most int) (full string) {
	running := s.runs(call, +1)
	may, err := most <= 0 || running <= most, error(nil)
	if s.places != nil && most > 0 {
		may, err = s.places.Take(1, most)
	}
	if may {
		return ""
	}
	s.runs(call, -1)
	if err != nil {
		return past.Uncounted(err)
	}
	return fmt.Sprintf("%d calls of this session already run, which is the limit. Wait until one has ended.", most)
}

// leave undoes enter once the call has ended.
func (s *Session) leave(call Call) {
	s.runs(call, -1)
	if s.places != nil {
		s.places.Give(1)
	}
}

// Finish ends a call that Decide allowed and returns a function that records its outcome. The caller MUST call record.
// It may do so after the host has its answer, so that the host does not wait for the disk. result is the raw result, or
// nil if none came; then failure says why.
func (g *Gate) Finish(s *Session, call Call, result []byte, isError bool, failure string, took time.Duration) (record func()) {
	s.leave(call)
	if g.journal.o.Ledger != nil {
		g.journal.o.Ledger.Done(call.ID)
	}
	s.past.End(call.ID, !isError && failure == "", time.Now())
	s.active.touch()
	id, tool, agent, digest := call.ID, call.Tool, cmp.Or(call.Agent, s.agent), call.Digest // so that record does not keep the arguments
	learn := s.learn(id, tool, call.facts(), result)
	return func() {
		learn()
		g.journal.recordOrLog(audit.Record{
			Event: audit.Outcome, CallID: id, SessionID: s.id, Agent: agent, Principal: s.Client().Principal, Server: tool.Server, Tool: tool.Qualified, Digest: digest,
			IsError: isError, Error: failure, Result: len(result), Duration: float64(took) / float64(time.Millisecond),
		})
		if g.journal.events.followed() {
			g.journal.events.publish(Finished{SessionID: s.id, Agent: agent, ID: id, Tool: tool.Qualified, Duration: took, Result: result, IsError: isError || failure != ""})
		}
	}
}

// Refuse records a call that never reached Decide, because it is malformed or names no tool.
func (g *Gate) Refuse(s *Session, call Call, reason string) Verdict {
	rule := "malformed"
	if call.Digest != "" { // it is well formed but names no tool
		rule = "unknown tool"
	}
	v, _ := g.journal.recordDecision(s, call, Verdict{}.deny(DecidedDenied, "callgate", rule, reason)) // logged; the call is refused anyway
	return v
}

// judge returns the verdict on the call now. A call that names an agent other than its session's must pass under both.
// The name comes from the host, so it can only tighten.
func (g judging) judge(s *Session, call Call) Verdict {
	unknown := s.applySettings()
	level := Autonomy(s.autonomy.Load())
	v := g.judgeAs(s, s.agent, level, unknown, call)
	if call.Agent != "" && call.Agent != s.agent {
		other := g.judgeAs(s, call.Agent, level, unknown, call)
		if other.Action < v.Action {
			return other
		}
		if other.Action == permissions.Ask && v.Action == permissions.Ask {
			return v.and(other)
		}
	}
	return v
}

// and returns a verdict that asks what two asking verdicts on a call ask together.
func (v Verdict) and(other Verdict) Verdict {
	if len(v.Marks) == 0 && len(other.Marks) > 0 || other.Approvers > v.Approvers {
		v, other = other, v
	}
	for _, m := range other.Marks {
		if !slices.Contains(v.Marks, m) {
			v.Marks, v.offers = append(slices.Clip(v.Marks), m), nil
		}
	}
	return v
}

// judgeAs judges the call under an agent, and denies it if judging panics. Arguments are hostile input, and a bug in
// reading them MUST NOT end the process, which serves others too. If unknown is not nil, the level may be stale, so
// nothing runs.
func (g judging) judgeAs(s *Session, agent string, level Autonomy, unknown error, call Call) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			g.gate.journal.o.Logger.Error("a call could not be judged: please report this", "tool", call.Tool.Qualified, "panic", p, "stack", string(debug.Stack()))
			v = Verdict{Analysis: &tools.Analysis{Risk: permissions.Unknown}}.deny(DecidedDenied, "callgate", "failure", "callgate failed while it judged the call, so it does not run.")
		}
	}()
	j := g.judgeOf(s, agent)
	j.Autonomy = level
	if unknown != nil {
		j.Policy, j.PolicyError = nil, unknown
	}
	return j.Judge(call)
}

// judgeOf returns the Judge for the session's calls under an agent. Rules that cannot be read deny everything.
func (g judging) judgeOf(s *Session, agent string) Judge {
	var policy *permissions.Policy
	err := s.applySettings()
	if err == nil {
		policy, err = s.policy(agent)
	}
	set, remembered := g.set, &s.flow
	if g.gate.journal.o.NoFlow {
		remembered = nil
	}
	var around *permissions.Circumstances
	if policy.AsksSession() || len(set.Advisors) > 0 {
		around = g.circumstances(s, agent)
	}
	return Judge{
		Session: around, Advisors: set.Advisors, flow: remembered, Policy: policy, PolicyError: err,
		Autonomy: Autonomy(s.autonomy.Load()), Mode: set.Mode, AskEscalations: set.AskEscalations,
		Protected: g.gate.protected.Load(), Terminal: set.Terminal, Off: g.gate.journal.o.Off, Changed: s.manifests.Changed(), Unkept: g.gate.journal.o.Unkept, Now: time.Now(),
		Freezer: g.gate.journal.o.Freezer, Current: g.gate.journal.o.Current, secrets: &s.secrets, unlearned: &s.unlearned, Burst: set.Limits, Lost: s.burst.InWindow(set.Limits.IrreversibleWithin, time.Now()),
	}
}

// circumstances returns what rule conditions look at for a call of the session under an agent.
func (g judging) circumstances(s *Session, agent string) *permissions.Circumstances {
	c := &permissions.Circumstances{Host: s.Client().Name, Agent: agent, Known: true, Past: s.past.Each}
	if at := g.gate.lastPerson.Load(); at != 0 {
		c.Answered = time.Unix(0, at)
	}
	return c
}

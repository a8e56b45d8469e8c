package gate

import (
	"context"
	"time"

	"callgate/permissions"
)

// Decide says whether the call may run and returns the call to forward, whose arguments an approver may
// have changed. It waits for a person when one has to decide, at most until ctx ends, the session ends or
// the approval times out. The decision is on record when Decide returns; a decision that cannot be
// recorded is a denial. What Decide allows MUST be forwarded at most once, exactly as returned, and its
// outcome MUST be reported with Finish.
//
// The phases are in Judge; here is what surrounds them:
//
//	judge → (ask → wait → judge the denials again) → record → answer
func (g *Gate) Decide(ctx context.Context, s *Session, call Call) (Verdict, Call) {
	v := g.judge(s).Judge(call)
	if v.Action == permissions.Ask {
		v, call = g.ask(ctx, s, call, v)
	}
	v = g.recordDecision(s, call, v)
	if v.Action == permissions.Allow {
		s.running.Add(1)
		if g.events.listening() {
			g.events.publish(Started{SessionID: s.id, Agent: s.agent, ID: call.ID, Tool: call.Tool.Qualified, Arguments: call.Arguments, Risk: v.Risk()})
		}
	}
	return v, call
}

// Finish records how a call ended that Decide allowed. Result is the raw result, nil when none came; then
// failure says why.
func (g *Gate) Finish(s *Session, call Call, result []byte, isError bool, failure string, took time.Duration) {
	s.running.Add(-1)
	g.recordOutcome(s, call, isError, failure, took)
	if g.events.listening() {
		g.events.publish(Finished{SessionID: s.id, Agent: s.agent, ID: call.ID, Tool: call.Tool.Qualified, Duration: took, Result: result, IsError: isError || failure != ""})
	}
}

// Refuse records a call that never came as far as Decide: one that is malformed, or names no tool.
func (g *Gate) Refuse(s *Session, call Call, reason string) Verdict {
	return g.recordDecision(s, call, Verdict{}.deny(DecidedDenied, "callgate", "malformed", reason))
}

// judge assembles what decides about the session's calls now. Rules that cannot be read deny.
func (g *Gate) judge(s *Session) *Judge {
	policy, err := s.policy()
	return &Judge{
		Policy: policy, PolicyError: err,
		Autonomy: Autonomy(s.autonomy.Load()), Mode: g.o.Mode, AskEscalations: g.o.AskEscalations,
		Protected: g.protected.Load(), Now: time.Now(),
	}
}

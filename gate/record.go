package gate

import (
	"cmp"
	"encoding/json"
	"fmt"

	"callgate/audit"
	"callgate/gate/internal/explain"
	"callgate/permissions"
)

// recordDecision writes the decision; the error says why it is not on record. An allowed call whose decision cannot be
// written is denied.
func (j *journal) recordDecision(s *Session, call Call, v Verdict) (Verdict, error) {
	r := j.recordOf(s, call, v)
	err := j.record(r)
	if err != nil {
		j.o.Logger.Error("a decision could not be recorded: the call is denied", "tool", r.Tool, "error", err)
		if v.Action == permissions.Allow {
			v = v.deny(DecidedDenied, "callgate", "audit", fmt.Sprintf("The decision could not be recorded, so the call does not run: %v.", err))
		}
	}
	return v, err
}

// recordAsked writes that a person is asked about the call.
func (j *journal) recordAsked(s *Session, call Call, v Verdict) error {
	r := j.recordOf(s, call, v)
	r.Event, r.Decision = audit.Asked, ""
	return j.record(r)
}

// recordOf returns the record of a verdict on a call.
func (j *journal) recordOf(s *Session, call Call, v Verdict) audit.Record {
	r := audit.Record{
		Event: audit.Decision, CallID: call.ID, SessionID: s.id, Agent: cmp.Or(call.Agent, s.agent),
		Decision: v.Decision, By: v.By, From: v.From, Rule: v.Rule, Reason: call.Before.recorded(v.Reason),
		Digest: call.Digest, Arguments: call.Arguments, Risk: v.Risk().String(), Category: v.Category(),
		Host: s.Client().Name, Principal: s.Client().Principal, Project: s.Origin().Folder, Presence: v.Presence,
		Approval: v.Approval, Edited: v.Note != "",
	}
	if call.Tool != nil {
		r.Server, r.Tool, r.Kind = call.Tool.Server, call.Tool.Qualified, call.Tool.Kind
	}
	if v.Analysis != nil {
		r.Summary = v.Analysis.Summary
	}
	r.Subjects = make([]audit.Subject, len(v.Findings))
	for i := range v.Findings {
		f := &v.Findings[i]
		r.Subjects[i] = audit.Subject{
			Tool: f.Subject.Tool, Kind: f.Subject.Kind, Value: f.Subject.Value,
			Action: f.Action.String(), Rule: explain.Rule(f), Risk: f.Subject.Risk.String(),
		}
	}
	return r
}

// control records a change that somebody made besides answering approvals.
func (j *journal) control(who audit.Author, r audit.Record) error {
	r.Event, r.By, r.From, r.Presence = audit.Control, who.By, who.From, json.RawMessage(who.Presence)
	return j.record(r)
}

// record writes one record and tells the listeners.
func (j *journal) record(r audit.Record) error {
	r.Worker = j.o.Worker
	written, err := j.o.Audit.Append(r)
	if err == nil && j.events.followed() {
		j.events.publish(Recorded{written})
	}
	return err
}

// recordOrLog records something that has already happened, so it can no longer be refused. If that fails, it logs.
func (j *journal) recordOrLog(r audit.Record) {
	if err := j.record(r); err != nil {
		j.o.Logger.Error("a record could not be written", "event", r.Event, "tool", r.Tool, "error", err)
	}
}

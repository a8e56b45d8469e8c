package gate

import (
	"time"

	"callgate/gate/internal/explain"
	"callgate/gate/internal/provenance"
	"callgate/gate/tools"
	"callgate/permissions"
)

// Verdict is the gate's decision on one call, and the reason. The zero value denies.
type Verdict struct {
	Action   permissions.Action // after Decide it is Allow or Deny; Judge may also return Ask
	Decision string             // the audit trail's word, one of the Decided constants
	By       string             // what or who decided: "rule", "default", "grant", "mark", "autonomy:MANUAL", "web:alice", …
	From     string             // where a person decided from; "" if no person did
	Presence []byte             // the proof that this person was there; nil for none
	Approval string             // the approval that the person answered, if its id is not the call's
	Rule     string             // the rule, grant or mark that decided, with its place
	Reason   string             // one sentence for people and for the model
	Analysis *tools.Analysis
	Findings []permissions.Finding // what the rules say, one per subject of the analysis
	Marks    []tools.Mark          // why only a person can release the call
	// Approvers is how many persons must approve, each with a credential of their own; 0 means any one person.
	Approvers int
	// Note tells the model, beside the result of an allowed call, that a person or a hook changed the arguments, or is
	// "".
	Note   string
	advice []tools.Mark  // marks that advisors set
	offers []tools.Offer // grants that may be offered although the call is marked
	builds []string      // manifests that the session changed, if the call is marked for one
	// Timeout bounds how long an allowed call may run once it is forwarded; 0 means no bound.
	Timeout time.Duration
}

// The audit trail's words for a decision.
const (
	DecidedAutoApproved = "auto_approved" // a rule, the autonomy level or the mode let it run
	DecidedApproved     = "approved"      // a person let it run
	DecidedRejected     = "rejected"      // a person refused it, or it gains privileges
	DecidedTrusted      = "trusted"       // an earlier "always" let it run
	DecidedTimeout      = "timeout"       // nobody answered in time
	DecidedDenied       = "denied"        // a rule, or the gate itself, refused it
	DecidedCancelled    = "cancelled"     // the host took the call back, its session ended, or callgate was stopped
	DecidedPending      = "pending"       // handed over: the host got an answer, the question stays
	DecidedLimited      = "limited"       // too many calls, or too many questions at once
)

// Decisions returns all Decided constants.
func Decisions() []string {
	return []string{
		DecidedAutoApproved, DecidedApproved, DecidedRejected, DecidedTrusted, DecidedTimeout,
		DecidedDenied, DecidedCancelled, DecidedPending, DecidedLimited,
	}
}

// Risk returns the class of the worst subject, or Unknown for a call that was not judged.
func (v *Verdict) Risk() permissions.Risk {
	if v.Analysis == nil {
		return permissions.Unknown
	}
	return v.Analysis.Risk
}

// Category returns the category that the autonomy presets look at, or "" for a call that was not judged.
func (v *Verdict) Category() string {
	if v.Analysis == nil {
		return ""
	}
	return v.Analysis.Category
}

// judged returns what provenance looks at.
func (v *Verdict) judged() provenance.Judged {
	return provenance.Judged{Analysis: v.Analysis, Findings: v.Findings}
}

// deny turns v into a refusal.
func (v Verdict) deny(decision, by, rule, reason string) Verdict {
	v.Action, v.Decision, v.By, v.Rule, v.Reason = permissions.Deny, decision, by, rule, reason
	return v
}

// allow turns v into a release.
func (v Verdict) allow(decision, by, rule, reason string) Verdict {
	v.Action, v.Decision, v.By, v.Rule, v.Reason = permissions.Allow, decision, by, rule, reason
	return v
}

// ask turns v into a question for a person.
func (v Verdict) ask(by, rule, reason string) Verdict {
	v.Action, v.Decision, v.By, v.Rule, v.Reason = permissions.Ask, "", by, rule, reason
	return v
}

// reasons lists the marks, then what the rules say of each subject. Marks come first because they outrank rules.
func (v *Verdict) reasons() []Reason {
	reasons := make([]Reason, 0, len(v.Marks)+len(v.Findings))
	for _, m := range v.Marks {
		reasons = append(reasons, Reason{Subject: m.Code, Rule: m.Text, Layer: "mark", Action: permissions.Confirm})
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Subject.DeniesOnly && f.Action == permissions.Allow {
			continue
		}
		r := Reason{Subject: explain.Subject(&f.Subject), Rule: explain.Rule(f), Layer: f.Layer, Action: f.Action}
		if f.Grant != nil {
			r.Rule, r.Layer, r.Action = f.Grant.String(), f.Grant.Layer, permissions.Allow
		}
		reasons = append(reasons, r)
	}
	return reasons
}

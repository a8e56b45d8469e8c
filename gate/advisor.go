package gate

import (
	"fmt"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Advisor is a policy engine beside the rules. It can deny a call or have a person confirm it, but never allow one.
type Advisor interface {
	// Advise returns Deny, Ask or Allow, and the reason. Allow leaves the decision to others. An error denies.
	Advise(Question) (permissions.Action, string, error)
	// Name returns the name that people and the audit trail use.
	Name() string
}

// Question is a call as advisors see it.
type Question struct {
	Call     Call
	Analysis *tools.Analysis
	Agent    string // the agent that it is judged under
	Host     string // the host's own name
}

// markAdvisor is the code of the mark for a call that an advisor wants a person to confirm.
const markAdvisor = "policy"

// advised asks the advisors one after another until one denies, and reports whether one did.
func (j *Judge) advised(v Verdict, call Call) (Verdict, bool) {
	q := Question{Call: call, Analysis: v.Analysis, Agent: call.Agent}
	if j.Session != nil {
		q.Host, q.Agent = j.Session.Host, j.Session.Agent
	}
	for _, a := range j.Advisors {
		action, why, err := a.Advise(q)
		switch {
		case err != nil:
			return v.deny(DecidedDenied, "policy:"+a.Name(), "error", fmt.Sprintf("The policy %s cannot be asked, so the call does not run: %v.", a.Name(), err)), true
		case action == permissions.Allow:
		case action == permissions.Deny:
			return v.deny(DecidedDenied, "policy:"+a.Name(), why, fmt.Sprintf("The policy %s denies it: %s.", a.Name(), tools.Visible(why))), true
		default:
			v.advice = append(v.advice, tools.Mark{Code: markAdvisor, Text: fmt.Sprintf("The policy %s wants a person to confirm it: %s.", a.Name(), tools.Visible(why))})
		}
	}
	return v, false
}

package gate

import (
	"fmt"

	"callgate/gate/internal/explain"
	"callgate/gate/tools"
	"callgate/permissions"
)

// MarkUnkept is the code of the mark on a call whose files could not be kept as they are: who releases it
// knows that there is no way back.
const MarkUnkept = "no-checkpoint"

// Files says what sessions may see and write, for what callgate itself reads and puts back.
type Files struct{ gate *Gate }

// HidesFile reports whether rules keep the session from reading the file at path, which is absolute and real. Neither a
// model nor a diff may show its contents then.
func (f Files) HidesFile(s *Session, place tools.Place, path string) bool {
	g := f.gate
	j := g.judging().judgeOf(s, s.agent)
	return j.Policy == nil || j.deniesReading(path, Call{Place: place})
}

// ForbidsWriting says why a call of the session must not write the file at path, which is absolute and real; "" if no
// rule denies it. It ignores rules that ask, because it is for calls that were released already.
func (f Files) ForbidsWriting(s *Session, place tools.Place, path string) (why string) {
	g := f.gate
	j := g.judging().judgeOf(s, s.agent)
	switch {
	case j.Protected.Holds(path):
		return "it belongs to callgate itself"
	case j.Off:
		return ""
	case j.Policy == nil:
		return fmt.Sprintf("the rules cannot be read: %v", j.PolicyError)
	}
	for _, subject := range tools.WriteSubjects(path, place) {
		f := permissions.Evaluate(j.Policy, permissions.Context{Workspace: place.Dir, Now: j.Now, Session: j.around(Call{Place: place})}, &subject)
		if f.Action == permissions.Deny {
			return "the rule " + explain.Rule(&f) + " denies writing it"
		}
	}
	return ""
}

// Unseen says why nothing of the workspace may run without a person: the session changed a file that says what a build
// or test runs, and nobody has looked at it since. "" if nothing is in the way.
func (f Files) Unseen(s *Session) (why string) {
	g := f.gate
	changed := s.manifests.Changed()
	if len(changed) == 0 || g.o.Off {
		return ""
	}
	return fmt.Sprintf("it would run what %s says, which this session changed and nobody has looked at since; run the check with a tool, so that a person is asked", tools.Visible(changed[len(changed)-1]))
}

// DeniesReading reports whether a session may not read the file at that absolute path, by its worker's rules, its
// profile's rules or because no call may. It is for callgate's own tools, which read files without a call for each. A
// session that does not exist may read nothing.
func (f Files) DeniesReading(sessionID, path string, place tools.Place) bool {
	g := f.gate
	s, err := g.session(sessionID)
	if err != nil {
		return true
	}
	policy, err := s.policy(s.agent)
	if err != nil {
		return true
	}
	j := Judge{Policy: policy, Protected: g.protected.Load()}
	return j.deniesReading(path, Call{Place: place})
}

// Changes compares what a pending call would write with the files as they are now, for approvers. It hides what the
// rules keep from being read. It returns ErrNotPending when the approval is over.
func (f Files) Changes(id string) ([]tools.FileChange, error) {
	g := f.gate
	g.mu.Lock()
	a, ok := g.pending[id]
	if !ok {
		g.mu.Unlock()
		return nil, ErrNotPending
	}
	call, analysis, session := a.call, a.verdict.Analysis, a.session
	g.mu.Unlock()
	hidden := func(path string) bool { return g.HidesFile(session, call.Place, path) }
	return tools.Changes(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, analysis, hidden), nil
}

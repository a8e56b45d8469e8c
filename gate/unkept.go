package gate

import (
	"fmt"

	"callgate/gate/tools"
	"callgate/permissions"
)

// MarkUnkept is the code of the mark on a call whose files could not be kept as they are: who releases it
// knows that there is no way back.
const MarkUnkept = "no-checkpoint"

// HidesFile reports whether rules keep the session from reading the file at path, which is absolute and real. Neither a
// model nor a diff may show its contents then.
func (g *Gate) HidesFile(s *Session, place tools.Place, path string) bool {
	j := g.judgeOf(s, s.agent)
	return j.Policy == nil || j.deniesReading(path, Call{Place: place})
}

// ForbidsWriting says why a call of the session must not write the file at path, which is absolute and real; "" if no
// rule denies it. It ignores rules that ask, because it is for calls that were released already.
func (g *Gate) ForbidsWriting(s *Session, place tools.Place, path string) (why string) {
	j := g.judgeOf(s, s.agent)
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
			return "the rule " + describeRule(&f) + " denies writing it"
		}
	}
	return ""
}

// Unseen says why nothing of the workspace may run without a person: the session changed a file that says what a build
// or test runs, and nobody has looked at it since. "" if nothing is in the way.
func (g *Gate) Unseen(s *Session) (why string) {
	changed := s.manifests.changed()
	if len(changed) == 0 || g.o.Off {
		return ""
	}
	return fmt.Sprintf("it would run what %s says, which this session changed and nobody has looked at since; run the check with a tool, so that a person is asked", tools.Visible(changed[len(changed)-1]))
}

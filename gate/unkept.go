package gate

import (
	"fmt"

	"callgate/internal/tools"
	"callgate/permissions"
)

// MarkUnkept is the code of the mark on a call whose files could not be kept as they are: who releases it
// knows that there is no way back.
const MarkUnkept = "no-checkpoint"

// HidesFile reports whether what decides now keeps the session from reading the file at path, which is absolute
// and real: neither a model nor a diff is shown what is in it.
func (g *Gate) HidesFile(s *Session, place tools.Place, path string) bool {
	j := g.judgeOf(s, s.agent)
	return j.Policy == nil || j.deniesReading(path, Call{Place: place})
}

// ForbidsWriting says why a call of the session must not write the file at path, which is absolute and real; ""
// when no rule denies it. What asks is not looked at: it is for calls that were released already.
func (g *Gate) ForbidsWriting(s *Session, place tools.Place, path string) (why string) {
	j := g.judgeOf(s, s.agent)
	switch {
	case j.Policy == nil:
		return fmt.Sprintf("the rules cannot be read: %v", j.PolicyError)
	case j.Protected.Holds(path):
		return "it belongs to callgate itself"
	}
	for _, subject := range tools.WriteSubjects(path, place) {
		f := permissions.Evaluate(j.Policy, permissions.Context{Workspace: place.Dir, Now: j.Now}, &subject)
		if f.Action == permissions.Deny {
			return "the rule " + describeRule(&f) + " denies writing it"
		}
	}
	return ""
}

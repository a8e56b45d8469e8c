package gate

import (
	"fmt"

	"callgate/gate/internal/explain"
	"callgate/gate/tools"
	"callgate/permissions"
)

// MarkUnkept is the code of the mark on a call whose files callgate cannot keep. A person who releases the call knows
// that it cannot be undone.
const MarkUnkept = "no-checkpoint"

// Files tells which files sessions may see and write. callgate's own features that read or restore files use it.
type Files struct{ gate *Gate }

// HidesFile reports whether rules keep the session from reading the file at path, which is absolute and real. If so,
// its contents MUST NOT get into a diff or to a model.
func (f Files) HidesFile(s *Session, place tools.Place, path string) bool {
	g := f.gate
	j := g.judging().judgeOf(s, s.agent)
	return j.Policy == nil || j.deniesReading(path, Call{Place: place})
}

// ForbidsWriting returns why a call of the session must not write the file at path, which is absolute and real, or ""
// if no rule denies it. It ignores rules that ask, because it is for calls that were released already.
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
		f := permissions.Evaluate(j.Policy, permissions.Context{Workspace: place.Dir, Now: j.Now, Session: j.circumstances(Call{Place: place})}, &subject)
		if f.Action == permissions.Deny {
			return "the rule " + explain.Rule(&f) + " denies writing it"
		}
	}
	return ""
}

// Unseen returns why no build or test of the workspace may run without a person: the session changed a file that says
// what they run, and nobody has looked at it since. It returns "" if nothing is in the way.
func (f Files) Unseen(s *Session) (why string) {
	g := f.gate
	changed := s.manifests.Changed()
	if len(changed) == 0 || g.journal.o.Off {
		return ""
	}
	return fmt.Sprintf("it would run what %s says, which this session changed and nobody has looked at since; run the check with a tool, so that a person is asked", tools.Visible(changed[len(changed)-1]))
}

// DeniesReading reports whether the rules of the worker or the profile, or callgate itself, keep a session from reading
// the file at this absolute path. callgate's own tools use it, because they read files without making a call for each.
// A session that does not exist may read nothing.
func (f Files) DeniesReading(sessionID, path string, place tools.Place) bool {
	g := f.gate
	s, err := g.registry.session(sessionID)
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

// Changes returns, for approvers, the differences between the files now and what a pending call would write. It hides
// the contents of files that the rules deny reading. It returns ErrNotPending if the approval is over.
func (f Files) Changes(id string) ([]tools.FileChange, error) {
	g := f.gate
	g.queue.mu.Lock()
	a, ok := g.queue.pending[id]
	if !ok {
		g.queue.mu.Unlock()
		return nil, ErrNotPending
	}
	call, analysis, session := a.call, a.verdict.Analysis, a.session
	g.queue.mu.Unlock()
	hidden := func(path string) bool { return g.Files.HidesFile(session, call.Place, path) }
	return tools.Changes(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, analysis, hidden), nil
}

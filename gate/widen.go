package gate

import (
	"slices"
	"sync"
	"time"

	"callgate/internal/tools"
	"callgate/permissions"
)

// history is the shell commands that the worker's audit trail remembers, read once when somebody is first
// asked about a command.
type history struct {
	once     sync.Once
	subjects []permissions.Subject
}

// maxExamples is how many commands an offer names as examples of what it would newly allow.
const maxExamples = 2

// widen tells, for every offered shell pattern, which commands it would newly allow under its ceiling: of
// those everybody runs, and of those that this worker has asked about. The command itself does not count.
func (g *Gate) widen(s *Session, call Call, a *tools.Analysis, offers []tools.Offer) []tools.Offer {
	if !slices.ContainsFunc(offers, func(o tools.Offer) bool { return a.Subjects[o.Subject].Kind == tools.KindShell }) {
		return offers
	}
	policy, err := s.policy(s.agent)
	if err != nil {
		return offers
	}
	g.history.once.Do(func() {
		if g.o.History != nil {
			g.history.subjects = tools.CommandSubjects(g.o.History())
		}
	})
	from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: time.Now()}
	for i := range offers {
		o := &offers[i]
		glob, err := permissions.CompileGlob(o.Pattern)
		if err != nil || a.Subjects[o.Subject].Kind != tools.KindShell {
			continue
		}
		seen := map[string]bool{a.Subjects[o.Subject].Value: true}
		for _, known := range [][]permissions.Subject{g.history.subjects, tools.CommonCommands()} {
			for j := range known {
				c := known[j]
				if seen[c.Value] || c.Risk.Exceeds(o.Risk) || !slices.ContainsFunc(c.Decides, glob.Match) {
					continue
				}
				seen[c.Value] = true
				c.Tool = a.Subjects[o.Subject].Tool
				if f := permissions.Evaluate(policy, from, &c); f.Action != permissions.Ask || f.Grant != nil {
					continue
				}
				if o.NewlyAllows == nil {
					o.NewlyAllows = &tools.Widening{}
				}
				if o.NewlyAllows.Count++; len(o.NewlyAllows.Examples) < maxExamples {
					o.NewlyAllows.Examples = append(o.NewlyAllows.Examples, c.Value)
				}
			}
		}
	}
	return offers
}

package gate

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// history holds the shell commands of the worker's audit trail. They are read once: by Recall, or when somebody is
// first asked about a command.
type history struct {
	once     sync.Once
	subjects []permissions.Subject
}

func (h *history) load(ctx context.Context, g *Gate) {
	h.once.Do(func() {
		if g.journal.o.History != nil {
			h.subjects = tools.CommandSubjects(g.journal.o.History(ctx))
		}
	})
}

// Recall reads what was asked and answered before, so that the first question does not wait for it. If ctx ends, the
// gate ends too, so what was not read by then is not missed.
func (g *Gate) Recall(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			g.journal.o.Logger.Error("what was asked and answered before could not be read: please report this", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	g.history.load(ctx, g)
	g.answers.load(ctx, g)
	tools.CommonCommands()
}

// maxExamples is how many commands an offer names as examples of what it would newly allow.
const maxExamples = 2

// Offers returns what may be granted with "always" for the call that v is about.
func (v *Verdict) Offers(call Call) []tools.Offer {
	if len(v.Marks) > 0 {
		return v.offers
	}
	offers := tools.Offers(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, v.Analysis)
	offers = slices.DeleteFunc(offers, func(o tools.Offer) bool {
		// A file that a command reads matters where a rule asks about it.
		return v.Analysis.Subjects[o.Subject].DeniesOnly && (o.Subject >= len(v.Findings) || v.Findings[o.Subject].Action != permissions.Ask || v.Findings[o.Subject].Grant != nil)
	})
	return once(v.Analysis.Subjects, offers)
}

// once removes the offers for a subject that equals an earlier one, such as a file that two commands read.
func once(parts []permissions.Subject, offers []tools.Offer) []tools.Offer {
	same := func(i, j int) bool {
		x, y := &parts[i], &parts[j]
		return x.Tool == y.Tool && x.Value == y.Value && slices.Equal(x.Decides, y.Decides) && x.Risk == y.Risk && x.Content == y.Content
	}
	offering := make(map[int]bool, len(parts))
	for _, o := range offers {
		offering[o.Subject] = true
	}
	return slices.DeleteFunc(offers, func(o tools.Offer) bool {
		for j := range o.Subject {
			if offering[j] && same(o.Subject, j) {
				return true
			}
		}
		return false
	})
}

// preselect chooses the default pattern of each command: the first of those that would have saved the most earlier
// questions. If none would have saved any, the default stays. A pattern that opens more than the command is about is
// never chosen.
func (g questions) preselect(a *tools.Analysis, offers []tools.Offer) {
	for i := 0; i < len(offers); {
		end := i + 1
		for end < len(offers) && offers[end].Subject == offers[i].Subject {
			end++
		}
		choices := offers[i:end]
		i = end
		if a.Subjects[choices[0].Subject].Kind != tools.KindShell {
			continue
		}
		best, most := -1, 0
		for k, o := range choices {
			glob, err := permissions.CompileGlob(o.Pattern)
			if err != nil || !o.Bound {
				continue
			}
			saved := 0
			for _, asked := range g.gate.history.subjects {
				if !asked.Risk.Exceeds(o.Risk) && slices.ContainsFunc(asked.Decides, glob.Match) {
					saved++
				}
			}
			if saved > most {
				best, most = k, saved
			}
		}
		if best >= 0 {
			for k := range choices {
				choices[k].Default = k == best
			}
		}
	}
}

// widen notes, for every offered shell pattern, which commands it would newly allow under its ceiling: common ones, and
// ones that this worker has asked about. The command itself does not count.
func (g questions) widen(s *Session, call Call, a *tools.Analysis, offers []tools.Offer) []tools.Offer {
	if !slices.ContainsFunc(offers, func(o tools.Offer) bool { return a.Subjects[o.Subject].Kind == tools.KindShell }) {
		return offers
	}
	policy, err := s.policy(s.agent)
	if err != nil {
		return offers
	}
	g.gate.history.load(context.Background(), g.gate)
	from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: time.Now()}
	g.preselect(a, offers)
	for i := range offers {
		o := &offers[i]
		glob, err := permissions.CompileGlob(o.Pattern)
		if err != nil || a.Subjects[o.Subject].Kind != tools.KindShell {
			continue
		}
		seen := map[string]bool{a.Subjects[o.Subject].Value: true}
		for _, known := range [][]permissions.Subject{g.gate.history.subjects, tools.CommonCommands()} {
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

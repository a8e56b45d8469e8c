package app

import (
	"context"
	"slices"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/permissions"
)

// How far back the audit trail is read, in records: for commands of this worker, and for what people answered. The
// first question waits for it, unless Gate.Recall came before.
const (
	rememberedDecisions = 500
	rememberedAnswers   = 5000
)

// history returns the shell commands that the worker's audit trail remembers, the newest first.
func history(ctx context.Context, c *config.Config) (commands []string) {
	for r, err := range audit.Read(audit.Dir(c.DataDir), audit.Filter{Limit: rememberedDecisions}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil || r.Worker != c.Worker || r.Event != audit.Decision {
			continue // a damaged line is the business of audit verify
		}
		for _, s := range r.Subjects {
			if s.Kind == tools.KindShell && s.Value != "" {
				commands = append(commands, s.Value)
			}
		}
	}
	return commands
}

// answered returns what people answered since then, as far as the newest records tell, the oldest first.
func answered(ctx context.Context, c *config.Config, since time.Time) (list []gate.Answered) {
	marked := map[string]bool{}
	for r, err := range audit.Read(audit.Dir(c.DataDir), audit.Filter{Since: since, Limit: rememberedAnswers}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil || r.Worker != c.Worker {
			continue // a damaged line is the business of audit verify
		}
		if r.Event == audit.Asked && r.By == "mark" {
			marked[r.CallID] = true
		}
		if r.Event != audit.Decision || !gate.ByPerson(r.Decision, r.By) {
			continue
		}
		from := len(list)
		for _, s := range r.Subjects {
			if risk, err := permissions.ParseRisk(s.Risk); err == nil && s.Action == permissions.Ask.String() {
				list = append(list, gate.Answered{
					CallID: r.CallID, At: r.Time, Project: r.Project, Server: r.Server, Tool: s.Tool, Kind: s.Kind, Value: s.Value, Risk: risk,
					Rejected: r.Decision == gate.DecidedRejected,
				})
			}
		}
		for i := from; i < len(list); i++ {
			list[i].Several = len(list)-from > 1
		}
	}
	list = slices.DeleteFunc(list, func(a gate.Answered) bool { return marked[a.CallID] })
	slices.SortStableFunc(list, func(a, b gate.Answered) int { return a.At.Compare(b.At) })
	return list
}

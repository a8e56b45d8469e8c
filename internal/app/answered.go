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

// How many records of the audit trail callgate reads back, for the worker's commands and for people's answers. The
// first question waits for this unless Gate.Recall came before.
const (
	rememberedDecisions = 500
	rememberedAnswers   = 5000
)

// history returns the shell commands in the newest records of the worker's audit trail, newest first.
func history(ctx context.Context, c *config.Config) (commands []string) {
	for r, err := range audit.Read(audit.Dir(c.DataDir), audit.Filter{Limit: rememberedDecisions}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil || r.Worker != c.Worker || r.Event != audit.Decision {
			continue // damaged lines are left to audit verify
		}
		for _, s := range r.Subjects {
			if s.Kind == tools.KindShell && s.Value != "" {
				commands = append(commands, s.Value)
			}
		}
	}
	return commands
}

// answered returns the answers of people since then that are among the newest records, oldest first.
func answered(ctx context.Context, c *config.Config, since time.Time) (list []gate.Answered) {
	marked := map[string]bool{}
	for r, err := range audit.Read(audit.Dir(c.DataDir), audit.Filter{Since: since, Limit: rememberedAnswers}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil || r.Worker != c.Worker {
			continue // damaged lines are left to audit verify
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

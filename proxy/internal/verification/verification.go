// Package verification runs the user's checks after calls changed files, and tells the model how they went.
package verification

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/verify"
	"callgate/permissions"
	"callgate/proxy/internal/checkpoints"
	"callgate/proxy/internal/raw"
)

// Checks are the user's own, which run after calls changed files.
type Checks struct {
	Runner     *verify.Runner
	Workspaces []string            // absolute and real: only these; none means every workspace of a server or host
	Paths      []*permissions.Glob // only when one of these matches a changed file's path; none means every file
}

// Session is the checks that run because of the calls of one host.
type Session struct {
	Checks *Checks         // nil runs none
	Unseen func() string   // why people would not see what a check does now; "" when they would
	Ended  context.Context // ends with the session
	Work   *sync.WaitGroup // of the session

	mu      sync.Mutex
	reports [][]byte // that the host could not wait for, as content
}

// Request is a host's request that waits for checks.
type Request interface {
	Record()             // puts the outcome of the call on record, if it is not
	Beat() (stop func()) // tells the host that checks run, until stop is called
	Patience() time.Duration
}

// After runs the checks for what the call changed and appends their report to its result. The host's call
// waits for them, and nothing else does: the outcome of the call is on record before. When the host would not
// wait so long, the report comes with the next result of the session.
func (s *Session) After(ctx context.Context, r Request, call gate.Call, v *gate.Verdict, k *checkpoints.Kept, answer rpc.Message) rpc.Message {
	if s.Checks == nil || !raw.TakesContent(answer) {
		return answer
	}
	answer = s.withReports(answer)
	if raw.IsErrorResult(answer.Result) {
		return answer
	}
	began := time.Now()
	for _, workspace := range s.Checks.workspacesOf(k.ChangedBy(v), call.Place) {
		r.Record()
		answer = s.in(ctx, r, workspace, k.ID(), began, answer)
	}
	return answer
}

// workspacesOf returns where checks are to run for the changed paths.
func (o *Checks) workspacesOf(changed []string, place tools.Place) (workspaces []string) {
	candidates := o.Workspaces
	if len(candidates) == 0 && len(changed) > 0 {
		for _, root := range append([]string{place.Dir}, place.Roots...) {
			if real, err := filepath.EvalSymlinks(root); err == nil && root != "" {
				candidates = append(candidates, real)
			}
		}
	}
	for _, path := range changed {
		inner := ""
		for _, c := range candidates {
			if rel, err := filepath.Rel(c, path); err == nil && filepath.IsLocal(rel) && len(c) > len(inner) && o.matches(rel, path) {
				inner = c
			}
		}
		if inner != "" && !slices.Contains(workspaces, inner) {
			workspaces = append(workspaces, inner)
		}
	}
	return workspaces
}

func (o *Checks) matches(rel, path string) bool {
	rel = filepath.ToSlash(rel)
	if strings.HasPrefix(rel, ".git/") {
		return false
	}
	return len(o.Paths) == 0 || slices.ContainsFunc(o.Paths, func(g *permissions.Glob) bool { return g.Match(rel) || g.Match(path) })
}

// in waits for one run, as long as the host does.
func (s *Session) in(ctx context.Context, r Request, workspace, checkpoint string, began time.Time, answer rpc.Message) rpc.Message {
	if why := s.Unseen(); why != "" {
		return raw.WithContent(answer, reportItem(&verify.Report{Workspace: workspace, Failure: why}, true, ""))
	}
	done := make(chan []byte, 1)
	running, cancel := context.WithCancelCause(s.Ended)
	leave := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s.Work.Go(func() {
		defer cancel(nil)
		run, full, err := s.Checks.Runner.Verify(running, workspace, checkpoint)
		if err != nil {
			run = &verify.Report{Workspace: workspace, Failure: err.Error()}
		}
		done <- reportItem(run, full, checkpoint)
	})
	stop := r.Beat()
	defer stop()
	var enough <-chan time.Time
	if patience := r.Patience(); patience > 0 {
		timer := time.NewTimer(max(patience-time.Since(began), time.Second))
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case report := <-done:
		leave()
		return raw.WithContent(answer, report)
	case <-enough:
		leave() // it goes on without the call
		s.Work.Go(func() {
			report := <-done // it comes: at the latest when the connection ends
			s.mu.Lock()
			s.reports = append(s.reports, report)
			s.mu.Unlock()
		})
		return raw.WithNote(answer, "The verification still runs. Its report comes with the result of your next call.")
	}
}

// withReports appends the reports that the host could not wait for.
func (s *Session) withReports(answer rpc.Message) rpc.Message {
	s.mu.Lock()
	late := s.reports
	s.reports = nil
	s.mu.Unlock()
	for _, report := range late {
		answer = raw.WithContent(answer, report)
	}
	return answer
}

// reportItem is a content item that says that it is callgate's own.
func reportItem(run *verify.Report, full bool, id string) []byte {
	meta := run.Meta()
	if id != "" {
		meta["checkpoint"] = id
	}
	text, err := json.Marshal(map[string]any{"type": "text", "text": run.Text(full), "_meta": map[string]any{"callgate/verification": meta}}, json.Deterministic(true))
	if err != nil { // a report is text and numbers
		return append(append([]byte(`{"type":"text","text":`), jsonx.Quote(run.Text(full))...), '}')
	}
	return text
}

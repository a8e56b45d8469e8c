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
	"callgate/proxy/internal/raw"
)

// Checks are the user's own, which run after calls changed files.
type Checks struct {
	// Run runs the checks on a workspace after a call, and waits for their end. checkpoint is the id of the checkpoint
	// that was taken before the call, "" for none. Run returns its report for the model, and the same for programs.
	// When ctx ends, the report says why.
	Run func(ctx context.Context, workspace, checkpoint string) (text string, meta map[string]any)

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

// Kept is what was kept before a call.
type Kept interface {
	// ID is that of the checkpoint; "" when none was taken.
	ID() string
	// Changed are the paths that the call was seen to change. It is asked once the call has ended.
	Changed() (paths []string, known bool)
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
func (s *Session) After(ctx context.Context, r Request, call gate.Call, v *gate.Verdict, k Kept, answer rpc.Message) rpc.Message {
	if s.Checks == nil || !raw.TakesContent(answer) {
		return answer
	}
	answer = s.withReports(answer)
	if raw.IsErrorResult(answer.Result) {
		return answer
	}
	began, checkpoint := time.Now(), ""
	changed, known := []string(nil), false
	if k != nil {
		checkpoint = k.ID()
		changed, known = k.Changed()
	}
	if !known {
		for _, w := range v.Analysis.Writes { // what the call names
			changed = append(changed, w.Path)
		}
	}
	for _, workspace := range s.Checks.workspacesOf(changed, call.Place) {
		r.Record()
		answer = s.in(ctx, r, workspace, checkpoint, began, answer)
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
		unseen := &verify.Report{Workspace: workspace, Failure: why}
		return raw.WithContent(answer, reportItem(unseen.Text(true), unseen.Meta()))
	}
	done := make(chan []byte, 1)
	running, cancel := context.WithCancelCause(s.Ended)
	leave := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s.Work.Go(func() {
		defer cancel(nil)
		text, meta := s.Checks.Run(running, workspace, checkpoint)
		if checkpoint != "" {
			meta["checkpoint"] = checkpoint
		}
		done <- reportItem(text, meta)
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
func reportItem(words string, meta map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"type": "text", "text": words, "_meta": map[string]any{"callgate/verification": meta}}, json.Deterministic(true))
	if err != nil { // a report is text and numbers
		return append(append([]byte(`{"type":"text","text":`), jsonx.Quote(words)...), '}')
	}
	return text
}

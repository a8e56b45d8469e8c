// Package verification runs the user's checks after calls change files, and reports the results to the model.
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

// Checks are the user's own checks, which run after calls change files.
type Checks struct {
	// Run runs the checks on a workspace after a call, and waits for their end. checkpoint is the id of the checkpoint
	// from before the call, or "". Run returns its report for the model, and the same for programs. If ctx ends, the
	// report says why.
	Run func(ctx context.Context, workspace, checkpoint string) (text string, meta map[string]any)

	Workspaces []string            // absolute and without symlinks; if empty, every workspace of a server or host
	Paths      []*permissions.Glob // one must match a changed file's path; if empty, every file counts
}

// Session runs the checks that the calls of one host cause.
type Session struct {
	Checks *Checks         // nil means no checks
	Unseen func() string   // returns why people would not see what a check does now, or ""
	Ended  context.Context // ends with the session
	Work   *sync.WaitGroup // waits for the session's goroutines

	mu      sync.Mutex
	reports [][]byte // content items of checks that ended too late for the host
}

// Kept is what callgate kept before a call.
type Kept interface {
	// ID returns the checkpoint's id, or "" if none was taken.
	ID() string
	// Changed returns the paths that the call changed, and whether they are known. The call MUST have ended.
	Changed() (paths []string, known bool)
}

// Request is a host's request that waits for checks.
type Request interface {
	Record()             // records the outcome of the call, unless that was done
	Beat() (stop func()) // tells the host that checks are running, until stop is called
	Patience() time.Duration
}

// After runs the checks for what the call changed and appends their reports to its result. Only the host's call waits
// for them: the outcome of the call is recorded before. If the host would not wait so long, the report comes with the
// session's next result.
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
		for _, w := range v.Analysis.Writes { // the paths that the call names
			changed = append(changed, w.Path)
		}
	}
	for _, workspace := range s.Checks.workspacesOf(changed, call.Place) {
		r.Record()
		answer = s.in(ctx, r, workspace, checkpoint, began, answer)
	}
	return answer
}

// workspacesOf returns the workspaces in which checks must run for the changed paths.
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

// in waits for one run of the checks, as long as the host would.
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
		leave() // the run goes on without the call
		s.Work.Go(func() {
			report := <-done // it always comes: at the latest when the connection ends
			s.mu.Lock()
			s.reports = append(s.reports, report)
			s.mu.Unlock()
		})
		return raw.WithNote(answer, "The verification still runs. Its report comes with the result of your next call.")
	}
}

// withReports appends the reports that came too late for the host.
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

// reportItem returns a content item that is marked as callgate's.
func reportItem(words string, meta map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"type": "text", "text": words, "_meta": map[string]any{"callgate/verification": meta}}, json.Deterministic(true))
	if err != nil { // cannot happen: a report is text and numbers
		return append(append([]byte(`{"type":"text","text":`), jsonx.Quote(words)...), '}')
	}
	return text
}

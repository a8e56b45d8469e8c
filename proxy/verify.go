package proxy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/verify"
	"callgate/permissions"
)

// Verification runs the user's checks after calls changed files.
type Verification struct {
	Runner     *verify.Runner
	Workspaces []string            // absolute and real: only these; none means every workspace of a server or host
	Paths      []*permissions.Glob // only when one of these matches a changed file's path; none means every file
}

// verifications are the checks that run because of the calls of one host.
type verifications struct {
	h *host

	mu      sync.Mutex
	reports []report // that the host could not wait for
}

// report is one that is to be appended to a result.
type report struct{ item []byte }

// after runs the checks for what the call changed and appends their report to its result. The host's call
// waits for them, and nothing else does: the outcome of the call is on record before. When the host would not
// wait so long, the report comes with the next result of the session.
func (vs *verifications) after(ctx context.Context, r *inflight, call gate.Call, v *gate.Verdict, k *kept, answer rpc.Message) rpc.Message {
	o := vs.h.p.o.Verification
	if o == nil {
		return answer
	}
	if !takesContent(answer) {
		return answer
	}
	answer = vs.withReports(answer)
	if isErrorResult(answer.Result) {
		return answer
	}
	began := time.Now()
	for _, workspace := range o.workspacesOf(k.changedBy(v), call.Place) {
		if r.afterwards != nil {
			r.afterwards()
			r.afterwards = nil
		}
		answer = vs.in(ctx, r, workspace, k, began, answer)
	}
	return answer
}

// changedBy returns the paths that the call changed: what was seen to change, or else what the call names.
func (k *kept) changedBy(v *gate.Verdict) (paths []string) {
	if k != nil && k.known {
		return k.changed
	}
	for _, w := range v.Analysis.Writes {
		paths = append(paths, w.Path)
	}
	return paths
}

// workspacesOf returns where checks are to run for the changed paths.
func (o *Verification) workspacesOf(changed []string, place tools.Place) (workspaces []string) {
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

func (o *Verification) matches(rel, path string) bool {
	rel = filepath.ToSlash(rel)
	if strings.HasPrefix(rel, ".git/") {
		return false
	}
	return len(o.Paths) == 0 || slices.ContainsFunc(o.Paths, func(g *permissions.Glob) bool { return g.Match(rel) || g.Match(path) })
}

// in waits for one run, as long as the host does.
func (vs *verifications) in(ctx context.Context, r *inflight, workspace string, k *kept, began time.Time, answer rpc.Message) rpc.Message {
	if why := vs.h.p.o.Gate.Unseen(vs.h.session); why != "" {
		skipped := &verify.Report{Workspace: workspace, Failure: why}
		return withContent(answer, reportItem(skipped, true, ""))
	}
	id := ""
	if k != nil && k.taken != nil {
		id = k.taken.ID
	}
	done := make(chan report, 1)
	running, cancel := context.WithCancelCause(vs.h.ctx)
	leave := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	vs.h.work.Go(func() {
		defer cancel(nil)
		run, full, err := vs.h.p.o.Verification.Runner.Verify(running, workspace, id)
		if err != nil {
			run = &verify.Report{Workspace: workspace, Failure: err.Error()}
		}
		done <- report{reportItem(run, full, id)}
	})
	stop := vs.beat(r)
	defer stop()
	var enough <-chan time.Time
	if patience := (waiter{vs.h}).handOver(r); patience > 0 {
		timer := time.NewTimer(max(patience-time.Since(began), time.Second))
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case rep := <-done:
		leave()
		return withContent(answer, rep.item)
	case <-enough:
		leave() // it goes on without the call
		vs.h.work.Go(func() {
			rep := <-done // it comes: at the latest when the connection ends
			vs.mu.Lock()
			vs.reports = append(vs.reports, rep)
			vs.mu.Unlock()
		})
		return withNote(answer, "The verification still runs. Its report comes with the result of your next call.")
	}
}

// withReports appends the reports that the host could not wait for.
func (vs *verifications) withReports(answer rpc.Message) rpc.Message {
	vs.mu.Lock()
	late := vs.reports
	vs.reports = nil
	vs.mu.Unlock()
	for _, rep := range late {
		answer = withContent(answer, rep.item)
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

// isErrorResult reports whether a result says that the call failed.
func isErrorResult(result []byte) bool {
	var m [1]jsonx.Member
	return jsonx.Members(result, []string{"isError"}, m[:]) == nil && string(m[0].Value) == "true"
}

// beat tells the host at once that the checks run, and then at every beat. stop MUST be called.
func (vs *verifications) beat(r *inflight) (stop func()) {
	if r.token == nil {
		return func() {}
	}
	r.mu.Lock()
	if !r.ended {
		waiter{vs.h}.progress(r, "verifying what changed")
	}
	r.mu.Unlock()
	return waiter{vs.h}.heartbeat(r, "the verification of what changed")
}

// rollbackPatience bounds how long files may take to be put back after a verification.
const rollbackPatience = time.Minute

// AroundVerification is what happens to checkpoints around a run: what the checks change themselves counts as
// changed by the calls, what passed is marked, or cleared, and what failed is put back if that is wanted. note
// puts on record what happened.
func (k *Checkpoints) AroundVerification(rollback, clear bool, note func(summary string) error) func(context.Context, verify.Run) func(bool) []string {
	return func(ctx context.Context, run verify.Run) func(bool) []string {
		ids := slices.DeleteFunc(slices.Clone(run.Checkpoints), func(id string) bool { return id == "" })
		watch, watchErr := k.Store.Watch(ctx, ids)
		return func(passed bool) (notes []string) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackPatience)
			defer cancel()
			err := watchErr
			if watch != nil {
				var adopted []string
				if adopted, err = watch.Adopt(ctx); len(adopted) > 0 {
					notes = append(notes, "It changed files itself: "+listed(run.Workspace, adopted)+".")
				}
			}
			switch {
			case passed:
				err = errors.Join(err, k.Store.Note(k.before(run, ids), clear))
			case rollback:
				notes = append(notes, k.rollBack(ctx, run.Workspace, ids)...)
			}
			summary := fmt.Sprintf("Verification of %s, passed: %t.", run.Workspace, passed)
			if err = errors.Join(err, note(strings.Join(append([]string{summary}, notes...), " "))); err != nil {
				notes = append(notes, "What it means for checkpoints could not be noted: "+err.Error()+".")
			}
			return notes
		}
	}
}

// before are the checkpoints that a success is about: those of the run, and earlier ones of the same sessions
// that lie in the workspace.
func (k *Checkpoints) before(run verify.Run, ids []string) []string {
	all := slices.Clone(ids)
	sessions := map[string]bool{}
	for _, id := range ids {
		if c, err := k.Store.Get(id); err == nil {
			sessions[c.SessionID] = true
		}
	}
	list, err := k.Store.List(checkpoint.Filter{Path: run.Workspace})
	if err != nil {
		return all
	}
	newest := time.Time{}
	for _, c := range list {
		if slices.Contains(ids, c.ID) && c.CreatedAt.After(newest) {
			newest = c.CreatedAt
		}
	}
	for _, c := range list {
		if c.Ended && sessions[c.SessionID] && !c.CreatedAt.After(newest) && !slices.Contains(all, c.ID) {
			all = append(all, c.ID)
		}
	}
	return all
}

// rollBack puts back what the calls of a run changed, the newest first.
func (k *Checkpoints) rollBack(ctx context.Context, workspace string, ids []string) (notes []string) {
	if len(ids) == 0 {
		return []string{"Nothing was rolled back: no checkpoint was taken."}
	}
	for _, id := range slices.Backward(ids) {
		done, err := k.Store.Restore(ctx, id, checkpoint.RestoreOptions{By: "callgate verification"})
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("It could not be rolled back: %v.", err))
		case len(done.Failed) > 0:
			notes = append(notes, fmt.Sprintf("Not all of it could be rolled back: %s (%s).", done.Failed[0].Path, done.Failed[0].Why))
		case len(done.Files) > 0:
			notes = append(notes, fmt.Sprintf("The call's changes were rolled back: %s. Checkpoint %s has them.", listed(workspace, done.Files), done.Checkpoint))
		}
	}
	return notes
}

// listed names a few paths, relative to the workspace.
func listed(workspace string, paths []string) string {
	var names []string
	for i, path := range paths {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		if rel, err := filepath.Rel(workspace, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, tools.Visible(path))
	}
	return strings.Join(names, ", ")
}

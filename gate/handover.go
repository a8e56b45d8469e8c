package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/durable"
)

// handedOver is the stored decision on a call whose host stopped waiting. It is kept until the call is repeated, and
// survives the process. Claiming it removes it, so that it counts once.
type handedOver struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Decision  string          `json:"decision"`
	By        string          `json:"by"`
	From      string          `json:"from,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Presence  json.RawMessage `json:"presence,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Persons   int             `json:"persons,omitempty"`
	Reach     string          `json:"reach"`
	Marks     []string        `json:"marks,omitempty"`
	ClaimBy   time.Time       `json:"claimBy"`
}

// handOverKey returns a hash of what a handed-over approval is bound to: worker, principal, agent, workspace, server,
// tool and its definition, and the arguments as they came and as they are judged. Only the very same call can claim it.
func (j *journal) handOverKey(call Call) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		j.o.Worker, call.Principal, call.Agent, call.Place.Dir, call.Tool.Server, call.Tool.Qualified, call.Tool.Hash, call.digestAsCame(), call.Digest,
	}))
	return hex.EncodeToString(sum[:])
}

// handOver detaches the approval from its waiting call. The host gets an answer, and people still get the question.
func (q *queue) handOver(a *approval, done chan resolution) resolution {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(done) > 0: // it was answered at this moment
		return <-done
	case q.pending[a.call.ID] != a: // it is the duplicate of one that is shown
		q.removeDuplicate(a)
		return resolution{decision: "pending", reason: waitsAlready}
	}
	q.detach(a)
	return resolution{decision: "pending", reason: fmt.Sprintf("Approval %s is pending: a person has to look at the call, and the host does not wait that long. %s", a.call.ID, repeat)}
}

const (
	repeat       = "Repeat the same call, unchanged, once it is decided."
	waitsAlready = "The same call is already waiting for a person's approval. " + repeat
)

// attach lets a repeated call wait on the approval that was handed over for it, or returns nil. The caller holds mu.
func (q *queue) attach(repeated *approval) *approval {
	for _, a := range q.pending {
		if a.detached && a.key == repeated.key && (a.edited != nil || a.fingerprint == repeated.fingerprint || a.unlike(repeated)) {
			a.detached = false
			before := a.session
			moved := before != repeated.session || a.unlike(repeated) // always so for an approval of a dead process
			if moved {
				a.reattach(repeated)
				q.recount(before)
				q.recount(a.session)
			}
			if moved || q.journal.o.Ledger != nil {
				if err := q.renew(a); errors.Is(err, ErrNotPending) { // another process has it
					a.detached = true
					q.resolve(a, resolution{decision: "withdrawn", by: "callgate", reason: "Another replica took it over."})
					return nil
				}
			}
			a.done = repeated.done // the call that waited before may not have read its own yet
			a.expiry.Stop()
			if moved {
				q.journal.events.publish(Asked{a.shown})
			}
			return a
		}
	}
	return nil
}

// Awaits reports whether the approval with that id was handed over and its call has not come back: it still waits for a
// person, or its answer waits for the call.
func (g *Gate) Awaits(id string) bool {
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	if a := g.queue.pending[id]; a != nil {
		return a.detached
	}
	if g.journal.o.Ledger != nil {
		return g.journal.o.Ledger.Awaits(id)
	}
	entries, err := os.ReadDir(g.journal.o.Dir)
	if err != nil {
		return false // there is no folder yet
	}
	for _, e := range entries {
		if kept, ok := g.queue.readHandedOver(e.Name()); ok && kept.ID == id && filepath.Ext(e.Name()) == ".json" { // else it is being claimed
			return true
		}
	}
	return false
}

// readHandedOver reads a file of the folder; ok is false if it holds no decision that can be claimed now.
func (q *queue) readHandedOver(name string) (kept handedOver, ok bool) {
	text, err := durable.ReadFile(filepath.Join(q.journal.o.Dir, name), maxKept)
	if err != nil {
		return handedOver{}, false // claimed meanwhile
	}
	return kept, json.Unmarshal(text, &kept) == nil && time.Now().Before(kept.ClaimBy)
}

// handedOver returns the decision as it is stored.
func (q *queue) handedOver(a *approval, r resolution) handedOver {
	kept := handedOver{
		ID: a.call.ID, Tool: a.call.Tool.Qualified, Decision: r.decision, By: r.by, From: r.from, Reason: r.reason, Presence: r.presence, Persons: r.persons,
		Arguments: r.arguments, Reach: a.fingerprint, Marks: codes(a.verdict.Marks), ClaimBy: time.Now().UTC().Add(q.journal.set.Load().ClaimWithin),
	}
	if kept.Arguments == nil {
		kept.Arguments = a.edited
	}
	return kept
}

// keepDecision records and keeps the decision on an approval that no call waits on. The caller holds mu.
func (q *queue) keepDecision(a *approval, r resolution) error {
	kept := q.handedOver(a, r)
	v := a.verdict.allow(DecidedApproved, r.by, a.verdict.Rule, "The decision is kept until the host repeats the call.")
	if r.decision == "reject" {
		v = a.verdict.deny(DecidedRejected, r.by, a.verdict.Rule, r.reason)
	}
	v.From, v.Presence = r.from, r.presence
	if err := q.journal.record(q.journal.recordOf(a.session, a.call, v)); err != nil {
		return fmt.Errorf("the decision could not be recorded: %w", err)
	}
	if q.journal.o.Ledger != nil {
		text, err := json.Marshal(kept)
		if err == nil {
			err = q.journal.o.Ledger.Decide(a.call.ID, text, false, kept.ClaimBy)
		}
		return err
	}
	if err := q.writeHandedOver(a.key, kept); err != nil {
		return fmt.Errorf("the decision could not be kept for the repeated call: %w", err)
	}
	return nil
}

// writeHandedOver stores a decision. A crash leaves either the whole file or no file.
func (q *queue) writeHandedOver(key string, kept handedOver) error {
	if q.journal.o.Dir == "" {
		return errors.New("no folder for approvals is configured")
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(q.journal.o.Dir, 0o700); err != nil {
		return err
	}
	return durable.Replace(filepath.Join(q.journal.o.Dir, key+".json"), text, 0o600)
}

// claim consumes the decision that was kept for exactly this call. Of several processes, the rename lets one win.
func (g questions) claim(call Call, v Verdict) (resolution, bool) {
	if g.gate.journal.o.Dir == "" {
		return resolution{}, false
	}
	path := filepath.Join(g.gate.journal.o.Dir, g.gate.journal.handOverKey(call)+".json")
	mine := fmt.Sprintf("%s.%s", path, call.ID)
	if err := os.Rename(path, mine); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			g.gate.journal.o.Logger.Error("a kept decision cannot be claimed", "error", err)
		}
		return resolution{}, false
	}
	text, err := durable.ReadFile(mine, maxKept)
	if err := errors.Join(err, os.Remove(mine)); err != nil {
		g.gate.journal.o.Logger.Error("a kept decision cannot be read", "error", err)
		return resolution{}, false
	}
	var kept handedOver
	if err := json.Unmarshal(text, &kept); err != nil {
		return resolution{}, false
	}
	return g.usable(kept, v)
}

// usable turns a kept decision into a resolution, if it still holds for the call.
func (g questions) usable(kept handedOver, v Verdict) (resolution, bool) {
	if time.Now().After(kept.ClaimBy) || kept.Arguments == nil && (kept.Reach != v.fingerprint() || kept.Decision != "reject" && unseen(v.Marks, kept.Marks) != nil) || kept.Decision != "reject" && kept.Persons < v.Approvers {
		return resolution{}, false // too old, or the call now does something else: people are asked again
	}
	if kept.Decision != "reject" && len(kept.Presence) == 0 && g.gate.journal.needsPresence(&v) {
		return resolution{}, false // it was decided when no proof was needed
	}
	return resolution{approval: kept.ID, decision: kept.Decision, by: kept.By, from: kept.From, reason: kept.Reason, presence: kept.Presence, persons: kept.Persons, arguments: kept.Arguments, fingerprint: kept.Reach, marks: kept.Marks}, true
}

// sweep removes decisions that nobody claimed in time.
func (q *queue) sweep() {
	entries, err := os.ReadDir(q.journal.o.Dir)
	if err != nil {
		return // there is no folder yet
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if _, good := q.readHandedOver(e.Name()); good || strings.HasSuffix(e.Name(), durable.Temporary) {
			continue // another process may wait longer, or be writing
		}
		if err := os.Remove(filepath.Join(q.journal.o.Dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			q.journal.o.Logger.Warn("an old decision was not removed", "error", err)
		}
	}
}

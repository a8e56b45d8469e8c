package gate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/gate/tools"
	"callgate/internal/durable"
)

// Approvals that wait are on disk too, so that they outlive the process. The next process of the worker shows them
// again, and the host finds the answer when it repeats the call.
//
//	{Dir}/asked/{worker}-{random}.lock   held while the process runs
//	{Dir}/asked/{worker}-{random}/       one file for each approval that waits
//
// Files are written before people see the approval and removed when it ends. They are not synced, because they must
// survive the process but not the machine.

// askedBook manages the folder of one process. queue.mu guards it.
type askedBook struct {
	base   string // "" keeps nothing
	worker string
	log    *slog.Logger
	own    string // "" until the first approval
	unlock func() error
}

// question is an approval as it is stored.
type question struct {
	Key, Reach             string
	Agent                  string // the session's
	Principal, CallAgent   string
	Server, Name, Hash, In string // of the tool; In is where the call runs
	Edited                 json.RawMessage
	Approval               *Approval
}

// question returns the approval as it is stored.
func (a *approval) question() question {
	return question{
		Key: a.key, Reach: a.fingerprint, Agent: a.session.agent, Principal: a.call.Principal, CallAgent: a.call.Agent,
		Server: a.call.Tool.Server, Name: a.call.Tool.Name, Hash: a.call.Tool.Hash, In: a.call.Place.Dir, Edited: a.edited, Approval: a.shown,
	}
}

// whole reports whether the question has what it takes to ask it again.
func (q *question) whole() bool {
	return q.Approval != nil && q.Approval.Analysis != nil && q.Approval.ID != "" && q.Approval.Worker != ""
}

func newAskedBook(dir, worker string, log *slog.Logger) askedBook {
	b := askedBook{log: log}
	if dir != "" {
		sum := sha256.Sum256([]byte(worker))
		b.base, b.worker = filepath.Join(dir, "asked"), hex.EncodeToString(sum[:6])
	}
	return b
}

// folder makes the folder of this process if there is none. It takes the lock first, because a folder without a lock
// belongs to a dead process.
func (b *askedBook) folder() (string, error) {
	if b.own != "" {
		return b.own, nil
	}
	if err := os.MkdirAll(b.base, 0o700); err != nil {
		return "", err
	}
	own := filepath.Join(b.base, b.worker+"-"+rand.Text()[:16])
	unlock, err := durable.Lock(context.Background(), own+".lock")
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		return "", errors.Join(err, unlock())
	}
	b.own, b.unlock = own, unlock
	return own, nil
}

func fileOf(folder, id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(folder, hex.EncodeToString(sum[:16])+".json")
}

// keep writes the approval. If that fails, the approval still waits, but it ends with the process.
func (b *askedBook) keep(a *approval) {
	if b.base == "" {
		return
	}
	err := func() error {
		folder, err := b.folder()
		if err != nil {
			return err
		}
		text, err := json.Marshal(a.question())
		if err != nil {
			return err
		}
		return os.WriteFile(fileOf(folder, a.call.ID), text, 0o600)
	}()
	if err != nil {
		b.log.Warn("a call that waits for a person would not be shown again after a restart of callgate", "approval", a.call.ID, "error", err)
	}
}

// forget removes the file of an approval that has ended.
func (b *askedBook) forget(a *approval) {
	if b.own == "" {
		return
	}
	if err := os.Remove(fileOf(b.own, a.call.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn("an approval that has ended may be shown again after a restart of callgate", "approval", a.call.ID, "error", err)
	}
}

// close releases the folder. Its approvals are left for the next process.
func (b *askedBook) close() {
	if b.own == "" {
		return
	}
	err := os.Remove(b.own) // fails if approvals are left
	left := err != nil
	if err = b.unlock(); err == nil && !left {
		err = os.Remove(b.own + ".lock")
	}
	if err != nil {
		b.log.Warn("the folder of waiting calls was not released", "error", err)
	}
	b.own = ""
}

// takeOver takes over the approvals of the worker's dead processes, in no particular order.
func (b *askedBook) takeOver() (questions []question) {
	if b.base == "" {
		return nil
	}
	folders, err := os.ReadDir(b.base)
	if err != nil {
		return nil // nobody ever waited
	}
	for _, folder := range folders {
		if !folder.IsDir() || !strings.HasPrefix(folder.Name(), b.worker+"-") {
			continue
		}
		path := filepath.Join(b.base, folder.Name())
		unlock, err := durable.TryLock(path + ".lock")
		if err != nil {
			continue // its process is alive
		}
		questions = append(questions, b.take(path)...)
		if err := errors.Join(os.RemoveAll(path), unlock(), os.Remove(path+".lock")); err != nil {
			b.log.Warn("the calls that waited in a process that is gone were taken over, but its folder stays", "error", err)
		}
	}
	return questions
}

func (b *askedBook) take(path string) (questions []question) {
	files, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	for _, file := range files {
		var q question
		text, err := durable.ReadFile(filepath.Join(path, file.Name()), maxKept)
		if err != nil || json.Unmarshal(text, &q) != nil || !q.whole() {
			b.log.Warn("a call that waited when callgate ended cannot be read; callgate asks again when its host repeats it", "file", file.Name())
			continue
		}
		questions = append(questions, q)
	}
	return questions
}

// maxKept bounds, in bytes, a file that is read back. It is large, because arguments can be a whole file.
const maxKept = 64 << 20

const awaitsHost = "It waits for the host to repeat it: callgate was restarted since. A decision is kept for the repeated call."

// restore shows the approvals of the worker's dead processes. No call waits on them. A decision is kept for the
// repeated call, as for a call that was handed over.
func (g *Gate) restore() {
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	for _, q := range g.queue.asked.takeOver() {
		a := g.revive(q)
		if a == nil {
			continue
		}
		if err := g.queue.ask(a); err != nil {
			g.journal.o.Logger.Warn("a call that waited when callgate ended is not shown: the cluster cannot be told", "approval", a.call.ID, "error", err)
		}
	}
}

// revive makes an approval that no call waits on from its stored form. It returns nil if the approval is pending
// already. The caller holds mu, and shows the approval.
func (g *Gate) revive(q question) *approval {
	shown := *q.Approval
	if string(shown.Arguments) == "null" {
		shown.Arguments = nil
	}
	if !shown.AwaitsHost {
		shown.AwaitsHost, shown.Reason = true, strings.TrimSpace(shown.Reason+" "+awaitsHost)
	}
	revived := &Session{gate: g, id: shown.SessionID, agent: q.Agent, closed: make(chan struct{})}
	revived.client.Store(&shown.Host)
	revived.origin.Store(&shown.Origin)
	a := &approval{
		key: q.Key, fingerprint: q.Reach, session: revived, expires: shown.ExpiresAt, shown: &shown, edited: q.Edited, done: make(chan resolution, 1),
		verdict: Verdict{Reason: q.Approval.Reason, Analysis: shown.Analysis, Marks: shown.Marks},
		call: Call{
			ID: shown.ID, SessionID: shown.SessionID, Principal: q.Principal, Agent: q.CallAgent, Arguments: shown.Arguments, Digest: shown.Digest, Fixed: true,
			Tool: &tools.Tool{Qualified: shown.Tool, Server: q.Server, Name: q.Name, Kind: shown.Kind, Hash: q.Hash}, Place: tools.Place{Dir: q.In},
		},
		detached: true, restored: true,
	}
	shown.Presence = g.journal.needsPresence(&a.verdict)
	if string(a.edited) == "null" {
		a.edited = nil
	}
	if g.queue.pending[a.call.ID] != nil {
		return nil
	}
	a.expiry = time.AfterFunc(time.Until(a.expires), func() { g.queue.lapse(a) })
	return a
}

// lapse times out a detached approval that nobody answered.
func (q *queue) lapse(a *approval) {
	q.mu.Lock()
	defer q.mu.Unlock()
	restored := a.restored
	if r := a.expired(); q.resolve(a, r) && restored {
		record := q.journal.recordOf(a.session, a.call, a.verdict.deny(DecidedTimeout, r.by, "", r.reason+" callgate was restarted while the call waited."))
		q.journal.recordOrLog(record)
	}
}

// unlike reports whether people have not seen why the repeated call is marked. A call that an approver edited is
// another one.
func (a *approval) unlike(repeated *approval) bool {
	return a.edited == nil && unseen(repeated.verdict.Marks, codes(a.verdict.Marks)) != nil
}

// reattach moves an approval of another session or a dead process to the repeated call's session. The caller holds mu.
func (a *approval) reattach(repeated *approval) {
	id, unlike := a.call.ID, a.unlike(repeated)
	a.restored, a.session = false, repeated.session
	shown := *a.shown
	if a.edited == nil { // else the approver's arguments stay, and the verdict on them
		shown, a.verdict = *repeated.shown, repeated.verdict
		if !unlike {
			shown.ApprovedBy, shown.Reason = a.shown.ApprovedBy, a.shown.Reason
		}
		a.call, a.fingerprint = repeated.call, repeated.fingerprint
		a.call.ID = id
	}
	shown.ID, shown.SessionID, shown.CreatedAt, shown.ExpiresAt = id, repeated.session.id, a.shown.CreatedAt, a.expires
	shown.AwaitsHost, shown.Reason = false, strings.TrimSpace(strings.TrimSuffix(shown.Reason, awaitsHost))
	a.shown = &shown
}

// Leave ends every waiting call because callgate is ending. The approvals stay pending. Decisions that people make
// until then, or in the next process, are kept for the repeated calls.
func (g *Gate) Leave() {
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	for _, id := range g.queue.order {
		a := g.queue.pending[id]
		if a.detached {
			continue
		}
		g.queue.detach(a)
		r := resolution{decision: "pending", reason: fmt.Sprintf("callgate is ending. Approval %s still waits for a person. %s", a.call.ID, repeat)}
		a.done <- r
		for _, duplicate := range a.duplicates {
			duplicate.done <- r
		}
		a.duplicates = nil
		g.queue.recount(a.session)
	}
}

// detach makes the approval wait without a call. The caller holds mu.
func (q *queue) detach(a *approval) {
	a.detached = true
	a.expiry = time.AfterFunc(time.Until(a.expires), func() { q.lapse(a) })
	if q.journal.o.Ledger != nil {
		_ = q.renew(a) // a failure is logged; at another replica the repeated call then asks anew
	}
}

package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate"
)

// An approval is one entry, ask.{key}.{id}. The key identifies the exact call, so that a repeated call finds its
// approval at any replica. Its states change by compare-and-set, so each is reached only once:
//
//	pending → decided → claimed → done
//	pending → claimed → done           a call waits: the decision is taken at once
//	pending → ended                    withdrawn, timed out, or moved to where the call was repeated
//
// A pending entry belongs to the process that shows it. When that process is gone, another one takes the entry over,
// and shows it as an approval whose host has to repeat the call.
const (
	statePending = "pending"
	stateDecided = "decided"
	stateClaimed = "claimed"
	stateDone    = "done"
	stateEnded   = "ended"
)

// entry is an approval as stored in the bucket.
type entry struct {
	State    string          `json:"state"`
	Replica  string          `json:"replica"` // that owns the entry or took the decision
	Epoch    string          `json:"epoch"`
	Waits    bool            `json:"waits,omitempty"` // a call waits on it there
	Expires  time.Time       `json:"expires"`
	Question json.RawMessage `json:"question,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Call     string          `json:"call,omitempty"` // the call that took the decision
	Chance   string          `json:"chance"`         // random, so that no two entries are the same
}

func chance() string { return rand.Text()[:12] }

const (
	keepEnded   = 10 * time.Minute // how long a finished approval is kept
	keepUnspent = 24 * time.Hour   // how long an unfinished one is kept beyond its expiry
)

// Approvals keeps one gate's approvals in the bucket, and takes over what others left. It implements gate.Ledger.
type Approvals struct {
	c *Cluster

	mu      sync.Mutex
	owned   map[string]held   // pending entries of this process, by id
	taken   map[string]string // keys of the entries whose decision a call of this process took, by the call's id
	ending  []string          // keys of entries to end
	unsure  map[string]bool   // those of them whose decision was taken by an unconfirmed write
	begun   map[string]bool   // keys of entries that this process is writing for a new call
	orphan  map[string]bool   // keys of entries whose owner is another process, or was
	adopter Adopter           // nil until Serve
	wake    chan struct{}
}

// held is an entry of this process. Nobody else changes it while the process lives.
type held struct {
	key   string // of the entry
	rev   uint64
	entry entry
	left  bool // taken over from a process that is gone; the host may already have repeated the call elsewhere
}

// Adopter is the gate that shows the approvals.
type Adopter interface {
	// Adopt shows an approval that a lost process left. No call waits on it.
	Adopt(question []byte) error
	// Lose ends an approval that now belongs to another process.
	Lose(id, reason string)
	// Unknown records that a process took a decision and ended before it reported the outcome of the call.
	Unknown(question []byte, call string) error
}

var _ gate.Ledger = (*Approvals)(nil)

func newApprovals(c *Cluster) *Approvals {
	return &Approvals{c: c, owned: map[string]held{}, taken: map[string]string{}, unsure: map[string]bool{}, begun: map[string]bool{}, orphan: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Approvals returns where this replica's gate keeps its approvals.
func (c *Cluster) Approvals() *Approvals { return c.approvals }

// Serve begins to take over what other replicas left.
func (a *Approvals) Serve(adopter Adopter) {
	a.mu.Lock()
	a.adopter = adopter
	a.mu.Unlock()
	a.nudge()
}

func (a *Approvals) nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func entryKey(key, id string) string { return "ask." + key + "." + id }

// callOf returns the prefix of all entries about the same call.
func callOf(entryKey string) string { return entryKey[:strings.LastIndexByte(entryKey, '.')+1] }

func idOf(entryKey string) string { return entryKey[strings.LastIndexByte(entryKey, '.')+1:] }

// errMoved means that an approval cannot be decided here, because another process has it or it is already decided.
var errMoved = fmt.Errorf("%w: another replica took it over or decided it", gate.ErrNotPending)

func (a *Approvals) write(key string, e entry, rev uint64, live time.Duration) (uint64, error) {
	e.Chance = chance()
	body, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return a.c.bucket.write(a.c.ctx, key, body, rev, live)
}

func (a *Approvals) mine(state string) entry {
	return entry{State: state, Replica: a.c.o.Name, Epoch: a.c.epoch}
}

// own reports whether an entry belongs to this process.
func (a *Approvals) own(e entry) bool { return e.Replica == a.c.o.Name && e.Epoch == a.c.epoch }

func (a *Approvals) until(expires time.Time) time.Duration {
	return max(time.Until(expires), 0) + keepUnspent
}

// Ask implements gate.Ledger.
func (a *Approvals) Ask(k gate.Kept) error {
	e := a.mine(statePending)
	e.Waits, e.Expires, e.Question = k.Waits, k.Expires, k.Question
	h := held{key: entryKey(k.Key, k.ID), entry: e}
	defer a.begin(h.key)()
	rev, err := a.write(h.key, e, 0, a.until(k.Expires))
	if errors.Is(err, errConflict) { // the call was asked about before, and keeps its id
		_, before, reading := a.c.bucket.read(a.c.ctx, h.key)
		var old entry
		if reading == nil && json.Unmarshal(before.body, &old) == nil && (old.State == stateEnded || old.State == stateDone) {
			rev, err = a.write(h.key, e, before.rev, a.until(k.Expires))
		}
	}
	if err != nil {
		if !errors.Is(err, errConflict) {
			a.endLater(h.key) // the write may have arrived
		}
		return err
	}
	h.rev = rev
	a.mu.Lock()
	a.owned[k.ID] = h
	a.mu.Unlock()
	return nil
}

// begin keeps a queued end from ending the entry that is being written now. The caller MUST call done.
func (a *Approvals) begin(key string) (done func()) {
	a.mu.Lock()
	a.begun[key] = true
	a.mu.Unlock()
	return func() {
		a.mu.Lock()
		delete(a.begun, key)
		a.mu.Unlock()
	}
}

// uses reports whether a call of this process waits on an entry or has its decision. Only that process ends the entry.
func (a *Approvals) uses(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, waits := a.owned[idOf(key)]
	return a.begun[key] || waits && h.key == key || a.hasClaimed(key)
}

// hasClaimed reports whether this process has claimed an entry. The caller holds mu.
func (a *Approvals) hasClaimed(key string) bool {
	return slices.Contains(slices.Collect(maps.Values(a.taken)), key)
}

// Change implements gate.Ledger.
func (a *Approvals) Change(k gate.Kept) error {
	h, ok := a.of(k.ID)
	if !ok {
		return errMoved
	}
	e := h.entry
	e.Waits, e.Expires, e.Question = k.Waits, k.Expires, k.Question
	rev, err := a.write(h.key, e, h.rev, a.until(k.Expires))
	if err != nil {
		return a.failed(k.ID, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owned[k.ID] = held{key: h.key, rev: rev, entry: e}
	return nil
}

func (a *Approvals) of(id string) (held, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, ok := a.owned[id]
	return h, ok
}

// failed returns the error of a write. After a conflict it forgets the entry, which now belongs to somebody else.
func (a *Approvals) failed(id string, err error) error {
	if !errors.Is(err, errConflict) {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.owned, id)
	return errMoved
}

// Decide implements gate.Ledger.
func (a *Approvals) Decide(id string, decision []byte, taken bool, claimBy time.Time) error {
	h, ok := a.of(id)
	if !ok {
		return errMoved
	}
	e := h.entry
	e.State, e.Decision, e.Expires, e.Waits = stateDecided, decision, claimBy, false
	live := a.until(claimBy)
	if taken {
		e.State, e.Call, live = stateClaimed, id, keepUnspent
	}
	if _, err := a.write(h.key, e, h.rev, live); err != nil {
		return a.failed(id, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.owned, id)
	if taken {
		a.taken[id] = h.key
	}
	return nil
}

// End implements gate.Ledger. It does not wait for the cluster.
func (a *Approvals) End(id string) {
	a.mu.Lock()
	h, ok := a.owned[id]
	delete(a.owned, id)
	a.mu.Unlock()
	if ok {
		a.endLater(h.key)
	}
}

// Done implements gate.Ledger. It does not wait for the cluster.
func (a *Approvals) Done(call string) {
	a.mu.Lock()
	key, ok := a.taken[call]
	delete(a.taken, call)
	a.mu.Unlock()
	if ok {
		a.endLater(key)
	}
}

func (a *Approvals) endLater(key string) {
	a.mu.Lock()
	a.ending = append(a.ending, key)
	a.mu.Unlock()
	a.nudge()
}

// Awaits implements gate.Ledger.
func (a *Approvals) Awaits(id string) bool {
	for key, v := range a.c.bucket.valuesUnder("ask.") {
		var e entry
		if idOf(key) == id && json.Unmarshal(v.body, &e) == nil && time.Now().Before(e.Expires) {
			return e.State == stateDecided || e.State == statePending && !e.Waits
		}
	}
	return false
}

// Claim implements gate.Ledger.
func (a *Approvals) Claim(key, call string) ([]byte, error) {
	found := a.c.bucket.valuesUnder("ask." + key + ".")
	last, v, err := a.c.bucket.read(a.c.ctx, "ask."+key+".*") // only the leader's answer counts
	switch {
	case err == nil:
		found[last] = v
	case !errors.Is(err, errNone):
		return nil, err
	}
	for at, v := range found {
		decision, err := a.claim(at, v, call)
		if decision != nil || err != nil {
			return decision, err
		}
	}
	return nil, nil
}

// claim takes the decision of one entry. It ends an entry that waits elsewhere without a call: the call is here now.
func (a *Approvals) claim(at string, v value, call string) ([]byte, error) {
	var e entry
	if err := json.Unmarshal(v.body, &e); err != nil {
		return nil, err
	}
	own := a.own(e)
	switch {
	case e.State == stateDecided:
		decision := e.Decision
		e.State, e.Call, e.Replica, e.Epoch = stateClaimed, call, a.c.o.Name, a.c.epoch
		defer a.begin(at)()
		_, err := a.write(at, e, v.rev, keepUnspent)
		if errors.Is(err, errConflict) {
			return nil, nil // another call took it
		}
		if err != nil { // the call does not run, whether or not it took the decision
			a.mu.Lock()
			a.unsure[at] = true
			a.mu.Unlock()
			a.endLater(at)
			return nil, err
		}
		a.mu.Lock()
		a.taken[call] = at
		a.mu.Unlock()
		return decision, nil
	case e.State == statePending && !own && (!e.Waits || !a.c.replicas.lives(e.Replica, e.Epoch)):
		e.State, e.Replica, e.Epoch, e.Waits = stateEnded, a.c.o.Name, a.c.epoch, false
		if _, err := a.write(at, e, v.rev, keepEnded); err != nil && !errors.Is(err, errConflict) {
			return nil, err
		}
	}
	return nil, nil
}

// changed handles a change of an entry.
func (a *Approvals) changed(key string, v value) {
	id := idOf(key)
	var e entry
	gone := v.body == nil || json.Unmarshal(v.body, &e) != nil
	own := !gone && a.own(e)
	open := !gone && (e.State == statePending || e.State == stateClaimed)
	asked := open && a.waits(e)
	var lose []string
	a.mu.Lock()
	if h, has := a.owned[id]; has && v.rev > h.rev {
		switch {
		case !own:
			delete(a.owned, id)
			lose = append(lose, id)
		case e.State == h.entry.State: // it was sealed again
			a.owned[id] = held{key, v.rev, e, h.left}
		}
	}
	if asked {
		lose = append(lose, a.replaced(key, id)...)
	}
	// An own pending entry that is not held was taken over without an answer. An own claim is not: its call runs here.
	if _, has := a.owned[id]; open && !own || own && e.State == statePending && !has && a.orphan[key] {
		a.orphan[key] = true
	} else {
		delete(a.orphan, key)
	}
	adopter := a.adopter
	a.mu.Unlock()
	for _, id := range lose {
		if adopter != nil {
			go adopter.Lose(id, moved) // it may wait for the gate, and this function must not
		}
	}
}

// replaced lets go of adopted entries for the same call, because the call now waits on another entry. The caller holds
// mu.
func (a *Approvals) replaced(key, id string) (lose []string) {
	for other, h := range a.owned {
		if h.left && other != id && callOf(h.key) == callOf(key) {
			delete(a.owned, other)
			a.ending = append(a.ending, h.key)
			lose = append(lose, other)
		}
	}
	return lose
}

// moved tells people why an approval is withdrawn here.
const moved = "The host repeated the call at another replica, or another replica took it over."

// waits reports whether a call waits on the entry at a live process.
func (a *Approvals) waits(e entry) bool {
	return e.State == statePending && e.Waits && a.c.replicas.lives(e.Replica, e.Epoch)
}

// repeated reports whether the entry's call waits on another entry by now.
func (a *Approvals) repeated(key string) bool {
	for other, v := range a.c.bucket.valuesUnder(callOf(key)) {
		var e entry
		if other != key && json.Unmarshal(v.body, &e) == nil && a.waits(e) {
			return true
		}
	}
	return false
}

// run ends finished entries, and takes over those that nobody owns.
func (a *Approvals) run() {
	ticker := time.NewTicker(a.c.o.beat())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-a.wake:
		case <-a.c.ctx.Done():
			return
		}
		if a.c.Fresh() == nil {
			a.finish()
			a.inherit()
		}
	}
}

// finish writes the queued ends. It tries failed ones again later, so that one entry does not block the others.
func (a *Approvals) finish() {
	a.mu.Lock()
	ending := a.ending
	a.ending = nil
	a.mu.Unlock()
	away := false
	failed := slices.DeleteFunc(ending, func(key string) bool {
		if away {
			return false
		}
		err := a.finishOne(key)
		away = errors.Is(err, ErrAway)
		return err == nil
	})
	a.mu.Lock()
	a.ending = append(failed, a.ending...)
	a.mu.Unlock()
}

func (a *Approvals) finishOne(key string) error {
	_, v, err := a.c.bucket.read(a.c.ctx, key)
	if errors.Is(err, errNone) {
		return a.keepOut(key, v.rev)
	}
	var e entry
	if err == nil {
		err = json.Unmarshal(v.body, &e)
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	unsure := a.unsure[key]
	a.mu.Unlock()
	if unsure && e.State == stateDecided { // the write may still arrive; this one keeps it out
		if _, err := a.write(key, e, v.rev, a.until(e.Expires)); err != nil && !errors.Is(err, errConflict) {
			return err
		} else if err != nil { // look at the entry again
			return a.finishOne(key)
		}
	}
	a.mu.Lock()
	delete(a.unsure, key)
	a.mu.Unlock()
	if !a.own(e) || a.uses(key) {
		return nil
	}
	switch e.State {
	case statePending:
		e.State = stateEnded
	case stateClaimed:
		e.State = stateDone
	default:
		return nil
	}
	e.Question, e.Decision = nil, nil
	_, err = a.write(key, e, v.rev, keepEnded)
	if errors.Is(err, errConflict) { // sealed again, or used again
		return a.finishOne(key)
	}
	return err
}

// keepOut writes an end for an entry that does not exist, because an unconfirmed write may still arrive.
func (a *Approvals) keepOut(key string, rev uint64) error {
	if a.uses(key) {
		return nil
	}
	_, err := a.write(key, a.mine(stateEnded), rev, keepEnded)
	if errors.Is(err, errConflict) { // it has arrived
		return a.finishOne(key)
	}
	return err
}

// inherit takes over the entries of lost processes. One replica takes each. It tries again with an entry whose
// take-over was not confirmed, because nobody else would.
func (a *Approvals) inherit() {
	a.mu.Lock()
	adopter := a.adopter
	keys := slices.Collect(maps.Keys(a.orphan))
	a.mu.Unlock()
	if adopter == nil {
		return
	}
	for _, key := range keys {
		v := a.c.bucket.last(key)
		var e entry
		if v.body == nil || json.Unmarshal(v.body, &e) != nil {
			continue
		}
		own := a.own(e)
		if own && e.State != statePending || !own && (a.c.replicas.lives(e.Replica, e.Epoch) || !a.c.replicas.first(key)) {
			continue
		}
		if err := a.take(adopter, key, v, e); err != nil {
			a.c.log.Warn("cluster: an approval of a lost replica cannot be taken over; trying again", "approval", idOf(key), "error", err)
			if errors.Is(err, ErrAway) {
				return
			}
		}
	}
}

func (a *Approvals) take(adopter Adopter, key string, v value, e entry) error {
	id := idOf(key)
	if e.State == stateClaimed { // the call may have run, so it never runs again
		if err := adopter.Unknown(e.Question, e.Call); err != nil {
			return err
		}
		e.State = stateDone
		_, err := a.write(key, e, v.rev, keepEnded)
		if errors.Is(err, errConflict) {
			return nil
		}
		return err
	}
	e.Replica, e.Epoch, e.Waits = a.c.o.Name, a.c.epoch, false
	rev, err := a.write(key, e, v.rev, a.until(e.Expires))
	if errors.Is(err, errConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.owned[id] = held{key, rev, e, true}
	delete(a.orphan, key)
	a.mu.Unlock()
	if a.repeated(key) { // changed hears of later repetitions
		a.End(id)
		return nil
	}
	if err := adopter.Adopt(e.Question); err != nil {
		a.c.log.Error("cluster: an approval of a lost replica cannot be shown; it is asked again when its host repeats the call", "approval", id, "error", err)
		a.End(id)
	}
	if _, still := a.of(id); !still { // changed may have been faster than Adopt
		adopter.Lose(id, moved)
	}
	return nil
}

// count returns how many approvals wait in the whole cluster and how many decisions wait for their calls, as far as
// this replica has heard.
func (a *Approvals) count() (pending, unclaimed int) {
	for _, v := range a.c.bucket.valuesUnder("ask.") {
		var e entry
		if json.Unmarshal(v.body, &e) != nil {
			continue
		}
		switch e.State {
		case statePending:
			pending++
		case stateDecided:
			unclaimed++
		}
	}
	return pending, unclaimed
}

// Pending returns how many approvals wait in the whole cluster.
func (c *Cluster) Pending() int {
	n, _ := c.approvals.count()
	return n
}

package cluster

import (
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"callgate/gate"
	"callgate/internal/periodic"
)

// A budget is one entry, budget.{name}. For each replica it has what the replica uses of a limit, and what it holds: as
// much as it may use without asking. A replica takes more by compare-and-set, so all together never hold more than the
// limit. Each replica alone knows its part, and writes it again if the entry is gone.
//
// A lost replica gives back what it held and had not reported as used. So all replicas together use at most the limit,
// plus one slice for each replica that died or was cut off before it reported its use.
type spending struct {
	Turn   int             `json:"turn"`
	Parts  map[string]part `json:"parts"` // by replica
	By     string          `json:"by"`    // epoch of the process that wrote it
	Begun  int             `json:"begun"` // prompts that had come to that process
	Chance string          `json:"chance"`
}

type part struct {
	Epoch string `json:"epoch"`
	Used  int    `json:"used"`
	Held  int    `json:"held"`
}

const (
	keepBudget = 10 * time.Minute // how long an unwritten entry is kept after its use has ended
	sayAgain   = 2 * time.Minute  // how often a replica reports ongoing use
	budgeteers = 4                // how many budgets are written at once in the background
)

// slice returns how much a replica takes beyond its use: half its share of the rest.
func slice(left, replicas int) int { return max(left, 0) / (2 * max(replicas, 1)) }

// reserve returns how little may be left of a slice before a replica takes more.
func reserve(held int) int { return max(held/8, 1) }

// Budgets counts what hosts use at all replicas. It implements gate.Tallies.
type Budgets struct {
	c    *Cluster
	work chan *tally // tallies whose part has to be written

	mu  sync.Mutex
	all map[string]*tally // by key
}

var _ gate.Tallies = (*Budgets)(nil)

func newBudgets(c *Cluster) *Budgets {
	return &Budgets{c: c, work: make(chan *tally, 256), all: map[string]*tally{}}
}

// Budgets returns where this replica's gate counts.
func (c *Cluster) Budgets() *Budgets { return c.budgets }

// tally is one budget as this replica knows it.
type tally struct {
	b   *Budgets
	key string
	how gate.Counted

	writing sync.Mutex // one write at a time; taken before mu

	users int // sessions that have it open; guarded by Budgets.mu

	mu     sync.Mutex
	limit  int // as last asked for
	used   int // by this process
	each   []time.Time
	took   time.Time // when a session here last asked for something
	lately bool      // used since the last round
	begins int       // prompts that came to this process, each of which begins a turn
	begun  int       // those of them whose turn has begun
	queued bool
	now    spending // the entry as last heard
	rev    uint64
	heard  time.Time            // when another replica last changed it
	wrote  time.Time            // when this replica last wrote it
	silent map[string]time.Time // since when a lost process has been gone, by epoch
}

// Tally implements gate.Tallies.
func (b *Budgets) Tally(how gate.Counted) gate.Tally {
	key := "budget." + how.Name
	b.mu.Lock()
	t := b.all[key]
	if t == nil {
		t = &tally{b: b, key: key, how: how, silent: map[string]time.Time{}}
		b.all[key] = t
	}
	t.users++
	b.mu.Unlock()
	t.hear(b.c.bucket.last(key))
	return t
}

// Close implements gate.Tally. What was used still counts for as long as use lasts.
func (t *tally) Close() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.users--
}

// changed handles a change of an entry.
func (b *Budgets) changed(key string, v value) {
	b.mu.Lock()
	t := b.all[key]
	b.mu.Unlock()
	if t != nil {
		t.hear(v)
	}
}

// hear takes over the entry from the bucket.
func (t *tally) hear(v value) {
	var now spending
	if v.body != nil && json.Unmarshal(v.body, &now) != nil {
		return // a replica wrote it, because it opened
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.rev <= t.rev {
		return
	}
	if v.body == nil {
		t.ended(v.rev)
		return
	}
	t.rev = v.rev
	if now.Turn != t.now.Turn {
		t.used, t.each = now.Parts[t.b.c.o.Name].Used, nil
		if now.By != t.b.c.epoch {
			t.used = 0
		}
	}
	if now.By != t.b.c.epoch {
		t.heard = time.Now()
	} else {
		t.begun = max(t.begun, now.Begun) // even if the answer to that write was lost
	}
	t.now = now
}

// ended notes that there is no entry, and the change that the next write has to follow.
func (t *tally) ended(rev uint64) { t.now.Parts, t.rev = nil, rev }

// mine returns the part of this process. The caller holds mu, as for the functions below.
func (t *tally) mine() part {
	if p := t.now.Parts[t.b.c.o.Name]; p.Epoch == t.b.c.epoch {
		return p
	}
	return part{Epoch: t.b.c.epoch}
}

// anew reports whether a prompt is about to begin a turn.
func (t *tally) anew() bool { return t.begins > t.begun }

// over reports whether the next use begins a turn.
func (t *tally) over() bool {
	return t.anew() || t.how.Idle > 0 && time.Since(t.took) >= t.how.Idle && time.Since(t.heard) >= t.how.Idle+t.how.Idle/4
}

// others returns the parts of other processes that count, and their sum. A lost process counts with its reported use,
// as long as that use lasts.
func (t *tally) others() (parts map[string]part, sum int) {
	parts = map[string]part{}
	for name, p := range t.now.Parts {
		switch {
		case p.Epoch == t.b.c.epoch:
			continue
		case t.b.c.replicas.lives(name, p.Epoch):
			delete(t.silent, p.Epoch)
		default:
			if t.silent[p.Epoch].IsZero() {
				t.silent[p.Epoch] = time.Now()
			}
			if p.Held = p.Used; t.how.Idle == 0 && time.Since(t.silent[p.Epoch]) >= t.how.Within {
				delete(t.silent, p.Epoch)
				continue
			}
			if name == t.b.c.o.Name {
				name += "\x00" + p.Epoch // an earlier process of this replica
			}
		}
		parts[name] = p
		sum += max(p.Held, p.Used)
	}
	return parts, sum
}

// age drops the uses that are older than how.Within.
func (t *tally) age() {
	for t.how.Within > 0 && len(t.each) > 0 && time.Since(t.each[0]) >= t.how.Within {
		t.each, t.used = t.each[1:], max(t.used-1, 0)
	}
}

// use counts n more uses.
func (t *tally) use(n int) {
	t.used += n
	for range n {
		if t.how.Within > 0 {
			t.each = append(t.each, time.Now())
		}
	}
}

// unuse takes back the last n uses.
func (t *tally) unuse(n int) {
	t.used = max(t.used-n, 0)
	t.each = t.each[:max(len(t.each)-n, 0)]
}

// Take implements gate.Tally.
func (t *tally) Take(n, limit int) (bool, error) {
	if err := t.b.c.Fresh(); err != nil {
		return false, err
	}
	if t.takeHeld(n, limit) {
		return true, nil
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	for {
		if t.takeHeld(n, limit) {
			return true, nil
		}
		t.mu.Lock()
		next, sum, turn := t.next()
		if sum+next.used+n > limit {
			t.took = time.Now()
			t.mu.Unlock()
			return false, nil
		}
		lease := 0
		if t.how.Leases {
			lease = slice(limit-sum-next.used-n, t.b.c.replicas.recent())
		}
		next.add(n, lease)
		if t.took = time.Now(); next.Turn == turn {
			t.use(n)
		}
		rev := t.rev
		t.mu.Unlock()
		err := t.write(next, rev)
		if err == nil {
			return true, nil
		}
		t.mu.Lock()
		if next.Turn == turn && t.now.Turn == turn {
			t.unuse(n)
		}
		t.mu.Unlock()
		if !errors.Is(err, errConflict) {
			return false, err
		}
	}
}

// takeHeld takes n from what this replica holds. It returns false if that is not enough.
func (t *tally) takeHeld(n, limit int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit, t.lately = limit, true
	t.age()
	held := min(t.mine().Held, limit)
	if t.over() || t.used+n > held {
		return false
	}
	t.use(n)
	t.took = time.Now()
	if left := held - t.used; t.how.Leases && left <= reserve(held) {
		t.queue() // get the next slice before this one is used up
	}
	return true
}

// upcoming is an entry to be written.
type upcoming struct {
	spending
	name string // of this replica
	used int    // by this process
}

func (u *upcoming) add(n, lease int) {
	p := u.Parts[u.name]
	p.Used += n
	p.Held = p.Used + lease
	u.Parts[u.name] = p
}

// next returns the entry to write, in which this process holds only what it uses. sum is what the others hold, and turn
// is the turn before.
func (t *tally) next() (u upcoming, sum, turn int) {
	turn = t.now.Turn
	u = upcoming{spending{Turn: turn, By: t.b.c.epoch, Begun: t.begins, Chance: chance()}, t.b.c.o.Name, t.used}
	if t.over() {
		u.Turn, u.Parts, u.used = turn+1, map[string]part{}, 0
	} else {
		u.Parts, sum = t.others()
	}
	u.Parts[u.name] = part{t.b.c.epoch, u.used, u.used}
	return u, sum, turn
}

// write replaces the entry at rev. After a conflict, it takes over the entry that came first.
func (t *tally) write(next upcoming, rev uint64) error {
	body, err := json.Marshal(next.spending)
	if err != nil {
		return err
	}
	bucket := t.b.c.bucket
	written, err := bucket.write(t.b.c.ctx, t.key, body, rev, max(t.how.Idle, t.how.Within)+keepBudget)
	switch {
	case err == nil:
		t.mu.Lock()
		t.wrote = time.Now()
		t.begun = max(t.begun, next.Begun) // the entry of another replica may have been heard meanwhile
		t.mu.Unlock()
		bucket.note(t.key, value{body: body, rev: written}) // as if it were heard
	case errors.Is(err, errConflict):
		_, v, reading := bucket.read(t.b.c.ctx, t.key)
		switch {
		case errors.Is(reading, errNone):
			t.mu.Lock()
			t.ended(v.rev)
			t.mu.Unlock()
		case reading != nil:
			return reading
		default:
			t.mu.Lock()
			if t.now.Parts == nil {
				t.rev = 0 // the revision in ended was a guess
			}
			t.mu.Unlock()
			t.hear(v)
		}
	}
	return err
}

// Add implements gate.Tally.
func (t *tally) Add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.age()
	t.use(n)
	t.took, t.lately = time.Now(), true
	t.queue()
}

// Give implements gate.Tally.
func (t *tally) Give(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = max(t.used-n, 0)
}

// Count implements gate.Tally.
func (t *tally) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.age()
	_, sum := t.others()
	return t.used + sum
}

// Begin implements gate.Tally.
func (t *tally) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begins++
	t.queue()
}

// queue has this process's part written in the background. If the queue is full, the next round does it.
func (t *tally) queue() {
	if t.queued {
		return
	}
	select {
	case t.b.work <- t:
		t.queued = true
	default:
	}
}

// due returns the entry that says what this process now uses and holds. due is false if the stored entry already says
// so. ends is true if nothing has to be known of the budget any more. A budget with turns is known until its turn is
// over, because otherwise another turn would begin.
func (t *tally) due(round bool) (next upcoming, rev uint64, due, ends bool) {
	t.age()
	mine := t.mine()
	next, sum, _ := t.next()
	lease := 0
	if t.how.Leases && t.lately && !t.anew() {
		if lease = mine.Held - t.used; lease <= reserve(mine.Held) {
			lease = max(lease, slice(t.limit-sum-t.used, t.b.c.replicas.recent()))
		}
		lease = max(min(lease, t.limit-sum-t.used), 0)
	}
	t.lately = t.lately && !round
	next.add(0, lease)
	said := next.Parts[next.name]
	if said.Held == 0 {
		delete(next.Parts, next.name)
	}
	asked := t.how.Idle > 0 && t.took.After(t.wrote) && time.Since(t.wrote) >= t.how.Idle/4
	ongoing := said.Used > 0 && time.Since(t.wrote) >= sayAgain
	over := t.over() && !t.anew()
	due = !over && (t.anew() || asked || ongoing || said != mine)
	return next, t.rev, due, !due && (over || t.how.Idle == 0 && said.Held == 0)
}

// catchUp writes this process's part if it differs from the stored one.
func (t *tally) catchUp(round bool) (ends bool) {
	t.writing.Lock()
	defer t.writing.Unlock()
	for t.b.c.ctx.Err() == nil {
		t.mu.Lock()
		t.queued = false
		next, rev, due, ends := t.due(round)
		t.mu.Unlock()
		if !due {
			return ends
		}
		if !errors.Is(t.write(next, rev), errConflict) {
			return false // the next round tries again
		}
	}
	return false
}

// run writes in the background: queued tallies at once, and all tallies once a round.
func (b *Budgets) run() {
	var writing sync.WaitGroup
	defer writing.Wait()
	for range budgeteers {
		writing.Go(func() {
			for {
				select {
				case t := <-b.work:
					t.catchUp(false)
				case <-b.c.ctx.Done():
					return
				}
			}
		})
	}
	for range periodic.Every(b.c.ctx, b.c.o.beat()) {
		if b.c.Fresh() == nil {
			b.round()
		}
	}
}

// round writes what has changed since the last round, and forgets what is over.
func (b *Budgets) round() {
	b.mu.Lock()
	all := maps.Clone(b.all)
	b.mu.Unlock()
	for key, t := range all {
		if !t.catchUp(true) {
			continue
		}
		b.mu.Lock()
		t.mu.Lock()
		if _, _, _, ends := t.due(false); ends && t.users == 0 { // nobody has used it meanwhile
			delete(b.all, key)
		}
		t.mu.Unlock()
		b.mu.Unlock()
	}
}

package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/periodic"
)

// Replica describes one callgate of the cluster, for people and for the other replicas.
type Replica struct {
	Name    string    `json:"name"`
	Epoch   string    `json:"epoch"` // of its process
	Worker  string    `json:"worker"`
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since"` // by its own clock, for people
	Rules   uint64    `json:"rules"` // revision of the rules that it uses
	Lives   bool      `json:"lives"`
	Self    bool      `json:"self,omitempty"`
}

// pulse is the content of a beat.
type pulse struct {
	Replica
	Chance string `json:"chance"`
}

// replicas holds the replicas that this one hears of. Whether one is alive depends on when its beats arrive here, so no
// two clocks are compared. That only tells which replicas are worth waiting for. Decisions depend on revisions alone.
type replicas struct {
	c     *Cluster
	ruled chan struct{} // gets a value when new rules have come: the next beat, which says so, is sent at once

	mu      sync.Mutex
	known   map[string]heard // by keyed name
	told    []func()
	rev     uint64 // revision of the own beat
	started time.Time
	leaving bool
	beaten  bool // this process has written a beat
	before  before
}

// before is the last process that sent beats under this replica's name before this one. It has ended, or still lives.
type before struct {
	epoch string
	rev   uint64
	beats int
	last  time.Time // when the newest was heard, by this replica's clock
}

// enoughBeats is how many beats prove that a process lives. A dead one's last beat may come again, and one on its way.
const enoughBeats = 3

// errNamed means that another replica has this one's name.
var errNamed = errors.New("another replica that lives has this one's cluster.name: give each its own")

// hear notes a beat of another process with this replica's name, before this one has sent any. The caller holds mu.
func (r *replicas) hear(epoch string, rev uint64) {
	if r.beaten || epoch == r.c.epoch {
		return
	}
	if r.before.epoch != epoch {
		r.before = before{epoch: epoch}
		r.c.bucket.named.Store(nil)
	}
	if rev > r.before.rev {
		r.before.rev, r.before.last = rev, time.Now()
		r.before.beats++
	}
	if r.before.beats >= enoughBeats {
		err := fmt.Errorf("%w: %s", errNamed, r.c.o.Name)
		r.c.bucket.named.Store(&err)
	}
}

// waitsForNamesake reports whether this replica still waits for beats of another process with its name: three intervals
// after the last beat. A process that was found alive counts as gone after a silent lease. The caller holds mu.
func (r *replicas) waitsForNamesake() bool {
	if r.beaten || r.before.epoch == "" {
		return false
	}
	silent := time.Since(r.before.last)
	if r.c.bucket.named.Load() == nil {
		return silent < 3*r.c.o.Lease/10
	}
	if silent < r.c.o.Lease {
		return true
	}
	r.c.bucket.named.Store(nil)
	return false
}

type heard struct {
	Replica
	at time.Time // by this replica's clock
}

// patience returns how long others count as alive after a beat: longer than they rely on it themselves.
func (r *replicas) patience() time.Duration { return r.c.o.Lease + r.c.o.Lease/2 }

// beat takes in a beat.
func (r *replicas) beat(key string, v value) {
	name := strings.TrimPrefix(key, "beat.")
	r.mu.Lock()
	if r.known == nil {
		r.known = map[string]heard{}
	}
	var p pulse
	if v.body == nil || json.Unmarshal(v.body, &p) != nil || p.Name != unkeyed(name) {
		delete(r.known, name)
		r.mu.Unlock()
		r.tell()
		return
	}
	before, known := r.known[name]
	r.known[name] = heard{p.Replica, time.Now()}
	if p.Name == r.c.o.Name {
		r.rev = v.rev
		r.hear(p.Epoch, v.rev)
	}
	r.mu.Unlock()
	if p.Name == r.c.o.Name && p.Epoch == r.c.epoch {
		r.c.bucket.noteOwnBeat(p.Chance)
	}
	if !known || before.Epoch != p.Epoch {
		r.tell()
	}
}

// noteOwnBeat notes that an own beat has come back, so everything before it has been heard. Beats come back one at a
// time.
func (b *bucket) noteOwnBeat(chance string) {
	b.mu.Lock()
	sent, ok := b.sent[chance]
	delete(b.sent, chance)
	for other, one := range b.sent {
		if time.Since(one.at) > b.c.o.Lease {
			delete(b.sent, other)
		}
	}
	b.mu.Unlock()
	if ok {
		if until := int64(sent.at.Add(b.c.o.Lease).Sub(b.began)); until > b.until.Load() {
			b.wall.Store(sent.wall.Add(b.c.o.Lease).UnixNano())
			b.until.Store(until)
		}
	}
}

// keyed returns a replica's name as a part of a key.
func keyed(name string) string   { return strings.ReplaceAll(name, ".", "=") }
func unkeyed(name string) string { return strings.ReplaceAll(name, "=", ".") }

// send sends a beat.
func (r *replicas) send() {
	r.mu.Lock()
	if r.leaving || r.waitsForNamesake() {
		r.mu.Unlock()
		return
	}
	if r.started.IsZero() {
		r.started = r.c.o.now().UTC()
	}
	p := pulse{Replica{Name: r.c.o.Name, Epoch: r.c.epoch, Worker: r.c.o.Worker, Version: r.c.o.Version, Since: r.started, Lives: true}, rand.Text()[:10]}
	rev, beaten := r.rev, r.beaten
	r.mu.Unlock()
	p.Rules = r.c.bucket.last("rules").rev
	body, err := json.Marshal(p)
	if err != nil {
		return
	}
	b := r.c.bucket
	b.mu.Lock()
	b.sent[p.Chance] = sending{time.Now(), b.c.o.now()}
	b.mu.Unlock()
	key := "beat." + keyed(r.c.o.Name)
	written, err := b.write(r.c.ctx, key, body, rev, 3*r.c.o.Lease)
	if errors.Is(err, errConflict) { // the beat of an earlier process, or an own one whose answer was lost
		if _, now, err := b.read(r.c.ctx, key); err == nil || errors.Is(err, errNone) {
			var other pulse
			if json.Unmarshal(now.body, &other) == nil && other.Epoch != r.c.epoch && beaten {
				r.c.log.Warn("cluster: another process uses this replica's name; give each replica its own cluster.name", "name", r.c.o.Name)
			}
			r.mu.Lock()
			r.rev = now.rev
			if other.Epoch != "" {
				r.hear(other.Epoch, now.rev)
			}
			r.mu.Unlock()
		}
		return
	}
	if err == nil {
		r.mu.Lock()
		r.rev, r.beaten = max(r.rev, written), true
		r.mu.Unlock()
	}
}

// leave tells the others that this replica ends, so that they need not wait out its lease.
func (r *replicas) leave() {
	r.mu.Lock()
	left := r.leaving || !r.beaten // without an own beat, the stored one is another process's
	r.leaving = true
	r.mu.Unlock()
	if left {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	if err := r.c.bucket.drop(ctx, "beat."+keyed(r.c.o.Name)); err != nil {
		r.c.log.Info("cluster: could not tell the other replicas that this one ends; they will notice", "error", err)
	}
}

// run notices replicas that fell silent, and tells the watchers.
func (r *replicas) run() {
	for range periodic.Every(r.c.ctx, r.c.o.beat()) {
		silent := false
		r.mu.Lock()
		for name, h := range r.known {
			if h.Lives && time.Since(h.at) > r.patience() {
				h.Lives = false
				r.known[name] = h
				silent = true
			}
		}
		r.mu.Unlock()
		if silent {
			r.tell()
		}
	}
}

// Changed calls f now and whenever a replica comes or goes. f MUST return soon.
func (c *Cluster) Changed(f func()) {
	c.replicas.mu.Lock()
	c.replicas.told = append(c.replicas.told, f)
	c.replicas.mu.Unlock()
	f()
}

func (r *replicas) tell() {
	r.mu.Lock()
	told := slices.Clone(r.told)
	r.mu.Unlock()
	for _, f := range told {
		f()
	}
}

// Replicas lists the replicas that this one has heard of, by name.
func (c *Cluster) Replicas() []Replica {
	r := &c.replicas
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Replica, 0, len(r.known))
	for _, h := range r.known {
		h.Self = h.Name == c.o.Name
		list = append(list, h.Replica)
	}
	slices.SortFunc(list, func(a, b Replica) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// lives reports whether that process of the replica is worth waiting for.
func (r *replicas) lives(name, epoch string) bool {
	if name == r.c.o.Name {
		return epoch == r.c.epoch
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.known[keyed(name)]
	return ok && h.Epoch == epoch && h.Lives
}

// recent counts the replicas that were heard of lately. A replica that was itself cut off still counts the others.
func (r *replicas) recent() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.known {
		if h.Lives || time.Since(h.at) < keepBudget {
			n++
		}
	}
	return n
}

// first reports whether this replica, among the living ones, looks after a thing without an owner.
func (r *replicas) first(id string) bool {
	weigh := func(name string) uint64 {
		h := fnv.New64a()
		h.Write([]byte(name + "\x00" + id))
		return h.Sum64()
	}
	own := weigh(r.c.o.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.known {
		if h.Lives && h.Name != r.c.o.Name && weigh(h.Name) > own {
			return false
		}
	}
	return true
}

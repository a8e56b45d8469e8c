package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"callgate/gate"
	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/unraced"
	"callgate/internal/testserver/waits"
)

// cable is a connection between two replicas that can be cut: then nothing passes, and nobody is told.
type cable struct {
	address string
	cut     atomic.Bool
}

// newCable listens for what goes to an address.
func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cable{address: l.Addr().String()}
	pass := func(from, into net.Conn) {
		defer from.Close()
		defer into.Close()
		piece := make([]byte, 32<<10)
		for {
			n, err := from.Read(piece)
			for c.cut.Load() {
				if t.Context().Err() != nil {
					return
				}
				time.Sleep(5 * time.Millisecond) // what is on its way stays there
			}
			if n > 0 {
				if _, err := into.Write(piece[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			other, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			go pass(conn, other)
			go pass(other, conn)
		}
	}()
	return c
}

// rig is three replicas that can be parted and killed.
type rig struct {
	t      *testing.T
	o      []Options
	cables [][]*cable // from, to

	mu  sync.Mutex
	all []*Cluster // nil while one is dead
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, all: make([]*Cluster, 3), o: make([]Options, 3), cables: make([][]*cable, 3)}
	free := addresses.Free(t, 3)
	for i := range 3 {
		r.o[i] = Options{
			URL: Embedded, Name: fmt.Sprintf("r%d", i), Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t), Listen: free[i],
			advertise: "127.0.0.1:9", // nobody goes around the cables
			now:       func() time.Time { return time.Now().Add(time.Duration(i-1) * 5 * time.Second) },
		}
		r.cables[i] = make([]*cable, 3)
		for j := range 3 {
			peer := free[j]
			if i != j {
				r.cables[i][j] = newCable(t, peer)
				peer = r.cables[i][j].address
			}
			r.o[i].Peers = append(r.o[i].Peers, peer)
		}
	}
	var starting sync.WaitGroup
	for i := range 3 {
		starting.Go(func() { r.start(i) })
	}
	starting.Wait()
	t.Cleanup(func() {
		for i := range 3 {
			if c := r.at(i); c != nil {
				c.Close()
			}
		}
	})
	r.whole()
	return r
}

func (r *rig) start(i int) {
	var c *Cluster
	waits.Until(r.t, "the replica starts", func() (ok bool) {
		var err error
		c, err = Open(r.o[i]) // the port may not be free yet
		return err == nil
	})
	c.Approvals().Serve(&gateOf{})
	r.mu.Lock()
	r.all[i] = c
	r.mu.Unlock()
}

func (r *rig) at(i int) *Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[i]
}

// whole waits until every replica hears from the cluster.
func (r *rig) whole() {
	r.t.Helper()
	for i := range 3 {
		waits.Until(r.t, "the replica hears from the cluster", func() bool { c := r.at(i); return c != nil && c.Fresh() == nil })
	}
}

// part cuts a replica off from the others, or connects it again.
func (r *rig) part(i int, cut bool) {
	for j := range 3 {
		if j != i {
			r.cables[i][j].cut.Store(cut)
			r.cables[j][i].cut.Store(cut)
		}
	}
}

// fault lets something go wrong, and makes it good again.
func (r *rig) fault(kind int, random *rand.Rand) string {
	i, pause := random.IntN(3), time.Duration(500+random.IntN(int(testLease/time.Millisecond)))*time.Millisecond
	switch kind % 3 {
	case 0:
		r.part(i, true)
		time.Sleep(pause)
		r.part(i, false)
		return fmt.Sprintf("replica %d was cut off for %s", i, pause)
	case 1:
		j := (i + 1) % 3
		r.cables[i][j].cut.Store(true)
		r.cables[j][i].cut.Store(true)
		time.Sleep(pause)
		r.cables[i][j].cut.Store(false)
		r.cables[j][i].cut.Store(false)
		return fmt.Sprintf("replicas %d and %d were parted for %s", i, j, pause)
	default:
		r.kill(i)
		r.start(i)
		return fmt.Sprintf("replica %d died and came back", i)
	}
}

// What is done to one approval, and what came of it.
type step struct {
	id   string
	what string // decide, take, claim
}

const (
	came    = "yes"     // it was done
	refused = "no"      // it was not
	unknown = "unknown" // nobody knows, or will
)

// approvalModel is DESIGN's state machine: decided once, taken once. A refusal says little: the approval may be another
// replica's. An outcome that nobody knows may be either.
var approvalModel = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(step).id
			by[id] = append(by[id], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{statePending} },
	Step: func(state, input, output any) []any {
		s, next := state.(string), ""
		switch what := input.(step).what; {
		case what == "decide" && s == statePending:
			next = stateDecided
		case what == "take" && s == statePending:
			next = stateClaimed
		case what == "claim" && s == stateDecided:
			next = stateClaimed
		}
		switch output.(string) {
		case came:
			if next == "" {
				return nil
			}
			return []any{next}
		case unknown:
			if next != "" {
				return []any{s, next}
			}
		}
		return []any{s}
	},
}).ToModel()

// history is what happened, as the callers saw it.
type history struct {
	began time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
	done  map[string]map[string]int // by id and step: how often it came, or may have
}

func (h *history) note(client int, in step, call int64, out string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ret := time.Since(h.began).Nanoseconds()
	if out == unknown {
		ret = int64(time.Hour) + int64(len(h.ops)) // it may take effect at any time
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: ret})
	if out != refused {
		if h.done[in.id] == nil {
			h.done[in.id] = map[string]int{}
		}
		h.done[in.id][in.what+" "+out]++
	}
}

func (h *history) has(id string, what ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range what {
		if h.done[id][w] > 0 {
			return true
		}
	}
	return false
}

// do tries one step at a replica.
func (h *history) do(c *Cluster, client int, in step) {
	call := time.Since(h.began).Nanoseconds()
	out := refused
	var err error
	switch in.what {
	case "decide", "take":
		if err = c.Approvals().Decide(in.id, []byte(`"yes"`), in.what == "take", time.Now().Add(time.Hour)); err == nil {
			out = came
		}
	case "claim":
		var decision []byte
		if decision, err = c.Approvals().Claim("k"+in.id, fmt.Sprintf("call%d", call)); decision != nil {
			out = came
		}
	}
	if err != nil && !errors.Is(err, gate.ErrNotPending) {
		out = unknown
	}
	h.note(client, in, call, out)
}

// TestHistory has replicas ask, decide and claim while some are parted, killed and started again, with clocks that are
// seconds apart. After each fault an independent checker looks for an order of all steps in which every approval is
// decided once and taken once, and none may be lost. CALLGATE_TEST_ROUNDS sets how many faults there are.
func TestHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for replicas to notice that others are gone")
	}
	t.Parallel()
	rounds := 3
	if text := os.Getenv("CALLGATE_TEST_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := newRig(t)
	for round := range rounds {
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		h := &history{began: time.Now(), done: map[string]map[string]int{}}
		ids := make([]string, 24)
		asked := make([]atomic.Bool, len(ids))
		for i := range ids {
			ids[i] = fmt.Sprintf("a%d_%d", round, i)
		}
		stop := make(chan struct{})
		var clients sync.WaitGroup
		for client := range 9 {
			own := rand.New(rand.NewPCG(seed+uint64(client)+1, uint64(round)))
			clients.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					c := r.at(client % 3)
					if c == nil {
						time.Sleep(5 * time.Millisecond)
						continue
					}
					i := own.IntN(len(ids))
					if asked[i].CompareAndSwap(false, true) {
						err := c.Approvals().Ask(gate.Kept{ID: ids[i], Key: "k" + ids[i], Waits: i%3 == 0, Expires: time.Now().Add(time.Hour), Question: fmt.Appendf(nil, "%q", ids[i])})
						if err != nil { // the call is denied, and comes again
							ids := ids[i]
							h.note(client, step{ids, "decide"}, time.Since(h.began).Nanoseconds(), unknown)
						}
						continue
					}
					what := []string{"decide", "claim", "claim"}[own.IntN(3)]
					if i%3 == 0 && own.IntN(2) == 0 {
						what = "take"
					}
					h.do(c, client, step{ids[i], what})
				}
			})
		}
		what := r.fault(round, random)
		close(stop)
		clients.Wait()
		r.whole()
		// Nothing is lost: whoever has an approval decides it, and its call finds the decision.
		for i, id := range ids {
			if !asked[i].Load() || h.has(id, "decide unknown", "take unknown", "claim unknown", "take yes", "claim yes") {
				continue
			}
			waits.Until(t, what+": "+id+" is decided and claimed", func() bool {
				for at := range 3 {
					if !h.has(id, "decide yes", "decide unknown") {
						h.do(r.at(at), 10+at, step{id, "decide"})
					}
					if h.has(id, "decide yes", "decide unknown") && !h.has(id, "claim yes", "claim unknown") {
						h.do(r.at(at), 10+at, step{id, "claim"})
					}
				}
				return h.has(id, "claim yes", "claim unknown", "decide unknown") || ended(r, id)
			})
		}
		if !porcupine.CheckOperations(approvalModel, h.ops) {
			for id, done := range h.done {
				if done["decide yes"]+done["take yes"] > 1 || done["claim yes"]+done["take yes"] > 1 {
					t.Errorf("%s: %v", id, done)
				}
			}
			t.Fatalf("round %d: %s: no order of the %d steps fits", round, what, len(h.ops))
		}
		t.Logf("round %d: %s; %d steps", round, what, len(h.ops))
	}
}

// ended reports whether a claim moved the approval to the call that claimed: it waits no more.
func ended(r *rig, id string) bool {
	_, v, err := r.at(0).bucket.read(r.t.Context(), entryKey("k"+id, id))
	return err == nil && (containsState(v.body, stateEnded) || containsState(v.body, stateDone))
}

func containsState(body []byte, state string) bool {
	return string(body) != "" && stateOf(body) == state
}

func stateOf(body []byte) string {
	var e entry
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.State
}

// kill ends a replica without a word.
func (r *rig) kill(i int) {
	r.mu.Lock()
	c := r.all[i]
	r.all[i] = nil
	r.mu.Unlock()
	c.die()
}

// TestThousand has a thousand approvals wait when one replica dies, then another, then a third is cut off, and at last all
// die at once. Every approval is decided once and taken once, whoever tries. On a busy machine the answer to a write may be
// lost: nobody knows then whether it happened, and the decision may be taken by nobody.
func TestThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for replicas to notice that others are gone")
	}
	t.Parallel()
	if unraced.Elsewhere(t) { // TestHistory takes the same steps with the race detector
		return
	}
	const approvals = 1000
	r := newRig(t)
	ids := make([]string, approvals)
	var asking sync.WaitGroup
	for at := range 3 {
		asking.Go(func() {
			for i := at; i < approvals; i += 3 {
				ids[i] = fmt.Sprintf("t%d", i)
				a := r.at(at).Approvals()
				kept := gate.Kept{ID: ids[i], Key: "k" + ids[i], Waits: true, Expires: time.Now().Add(time.Hour), Question: fmt.Appendf(nil, "%q", ids[i])}
				for a.Ask(kept) != nil && t.Context().Err() == nil {
					a.endLater(entryKey(kept.Key, kept.ID)) // what was noted all the same
				}
			}
		})
	}
	asking.Wait()
	r.kill(0)
	waits.Until(t, "the others take over what one left", func() bool { return owned(r.at(1))+owned(r.at(2)) == approvals })
	r.start(0)
	r.whole()
	r.kill(1)
	waits.Until(t, "the others take over again", func() bool { return owned(r.at(0))+owned(r.at(2)) == approvals })
	r.start(1)
	r.whole()
	r.part(2, true)
	waits.Until(t, "the one that is cut off notices", func() bool { return r.at(2).Fresh() != nil })
	r.part(2, false)
	for i := range 3 {
		r.kill(i)
	}
	var starting sync.WaitGroup
	for i := range 3 {
		starting.Go(func() { r.start(i) })
	}
	starting.Wait()
	r.whole()
	waits.Until(t, "all survive a restart of everything", func() bool { return owned(r.at(0))+owned(r.at(1))+owned(r.at(2)) == approvals })

	decided, taken, unsure := make([]atomic.Int32, approvals), make([]atomic.Int32, approvals), make([]atomic.Int32, approvals)
	var trying sync.WaitGroup
	for at := range 3 {
		for part := range 4 {
			trying.Go(func() {
				a := r.at(at).Approvals()
				for i := part; i < approvals; i += 4 {
					err := a.Decide(ids[i], []byte(`"yes"`), false, time.Now().Add(time.Hour))
					for err != nil && !errors.Is(err, gate.ErrNotPending) {
						unsure[i].Add(1)
						err = a.Decide(ids[i], []byte(`"yes"`), false, time.Now().Add(time.Hour))
					}
					if err == nil {
						decided[i].Add(1)
					}
				}
			})
		}
	}
	trying.Wait()
	for at := range 3 {
		for part := range 4 {
			trying.Go(func() {
				a := r.at(at).Approvals()
				for i := part; i < approvals; i += 4 {
					decision, err := a.Claim("k"+ids[i], fmt.Sprintf("call%d-%d-%d", i, at, part))
					for try := 0; err != nil; try++ {
						unsure[i].Add(1)
						decision, err = a.Claim("k"+ids[i], fmt.Sprintf("call%d-%d-%d-%d", i, at, part, try))
					}
					if decision != nil {
						taken[i].Add(1)
					}
				}
			})
		}
	}
	trying.Wait()
	for i := range ids {
		d, n := decided[i].Load(), taken[i].Load()
		if d > 1 || n > 1 || (d == 0 || n == 0) && unsure[i].Load() == 0 {
			t.Errorf("%s was decided %d times and taken %d times", ids[i], d, n)
		}
	}
}

// owned counts what waits at a replica.
func owned(c *Cluster) int {
	c.approvals.mu.Lock()
	defer c.approvals.mu.Unlock()
	return len(c.approvals.owned)
}

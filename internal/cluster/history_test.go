//go:build unix

package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"callgate/internal/testserver/unraced"
	"callgate/internal/testserver/waits"
)

// approvalModel is the state machine of DESIGN: an approval is decided once and claimed once. A refusal says little,
// because another replica may have the approval. An unknown outcome may be either.
var approvalModel = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(Step).ID
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
		switch what := input.(Step).What; {
		case what == "decide" && s == statePending:
			next = stateDecided
		case what == "decide at once" && s == statePending:
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

// budgetModel is a limit of which each step takes one. The steps together take no more than the limit and one slice,
// because each round has one fault. No step is refused while more is left than two other replicas can hold. A take
// whose caller heard nothing counts.
func budgetModel(limit, lost int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, _, output any) (bool, any) {
			n := state.(int)
			if output.(string) == came {
				return n < limit+slice(limit, 3), n + 1
			}
			return n+lost >= limit-2*slice(limit, 3), n
		},
	}
}

// history is what happened, as its callers saw it.
type history struct {
	began time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
	done  map[string]map[string]int // by id and step: how often it happened, or may have
}

func newHistory() *history {
	return &history{began: time.Now(), done: map[string]map[string]int{}}
}

func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

func (h *history) note(client int, in Step, call int64, out string) {
	if out == nothing {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ret := h.now()
	if out == unknown {
		ret = int64(time.Hour) + int64(len(h.ops)) // it may take effect at any time
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: ret})
	if out != refused {
		if h.done[in.ID] == nil {
			h.done[in.ID] = map[string]int{}
		}
		h.done[in.ID][in.What+" "+out]++
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

// do takes one step at a replica, and notes it.
func (h *history) do(r *rig, at, client int, in Step) {
	call := h.now()
	in.N = int(call)
	h.note(client, in, call, r.do(at, in).Out)
}

// TestHistory makes replicas ask, decide, claim, take from a limit and write a text. Meanwhile one of them is cut off,
// parted, killed or stopped, or has a slow or full disk; their clocks are seconds apart. After each fault an
// independent checker looks for an order of all steps in which every approval is decided once and claimed once, and for
// one in which the limit holds. Nothing may be lost, and every copy must come back. CALLGATE_TEST_ROUNDS sets the
// number of faults.
func TestHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for replicas to notice that others are gone")
	}
	t.Parallel()
	if inRoom(t) {
		return
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r, all := newRig(t), faults(t)
	for number := range rounds(t, len(all)) {
		random := rand.New(rand.NewPCG(seed, uint64(number)))
		round := &round{rig: r, number: number, stop: make(chan struct{})}
		parts := []interface {
			run(client int, random *rand.Rand)
			settle(what string)
			check(what string) string
		}{newAsking(round), newTaking(round), &writing{round: round}}
		for client := range 9 {
			for i, part := range parts {
				if clients := []int{9, 6, 1}[i]; client < clients {
					own := rand.New(rand.NewPCG(seed+uint64(client)+1, uint64(number*len(parts)+i)))
					round.clients.Go(func() { part.run(client, own) })
				}
			}
		}
		what := fmt.Sprintf("round %d: %s", number, r.fault(all, number, random))
		close(round.stop)
		round.clients.Wait()
		r.whole()
		said := ""
		for _, part := range parts {
			part.settle(what)
			said += "; " + part.check(what)
		}
		r.until(what+": every copy is there again", number%3, Step{What: "well"})
		t.Log(what + said)
		if t.Failed() {
			return
		}
	}
}

// round is the time of one fault.
type round struct {
	*rig
	number  int
	stop    chan struct{}
	clients sync.WaitGroup
}

// goes waits for a while, and reports whether the round goes on.
func (r *round) goes(random *rand.Rand, most time.Duration) bool {
	select {
	case <-r.stop:
		return false
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
		return true
	}
}

// asking exercises approvals in a round.
type asking struct {
	*round
	h     *history
	ids   []string
	asked []atomic.Bool
}

func newAsking(r *round) *asking {
	a := &asking{round: r, h: newHistory(), ids: make([]string, 24), asked: make([]atomic.Bool, 24)}
	for i := range a.ids {
		a.ids[i] = fmt.Sprintf("a%d_%d", r.number, i)
	}
	return a
}

func (a *asking) run(client int, random *rand.Rand) {
	for a.goes(random, 40*time.Millisecond) {
		i := random.IntN(len(a.ids))
		if a.asked[i].CompareAndSwap(false, true) {
			if a.do(client%3, Step{ID: a.ids[i], What: "ask", Waits: i%3 == 0}).Out != came { // the call is denied, and comes again
				a.h.note(client, Step{ID: a.ids[i], What: "decide"}, a.h.now(), unknown)
			}
			continue
		}
		what := []string{"decide", "claim", "claim"}[random.IntN(3)]
		if i%3 == 0 && random.IntN(2) == 0 {
			what = "decide at once"
		}
		a.h.do(a.rig, client%3, client, Step{ID: a.ids[i], What: what})
	}
}

// settle has each approval decided by the replica that has it, and claimed by its call, so nothing is lost.
func (a *asking) settle(what string) {
	for i, id := range a.ids {
		if !a.asked[i].Load() || a.h.has(id, "decide unknown", "decide at once unknown", "claim unknown", "decide at once yes", "claim yes") {
			continue
		}
		waits.Until(a.t, what+": "+id+" is decided and claimed", func() bool {
			for at := range a.all {
				if !a.h.has(id, "decide yes", "decide unknown") {
					a.h.do(a.rig, at, 10+at, Step{ID: id, What: "decide"})
				}
				if a.h.has(id, "decide yes", "decide unknown") && !a.h.has(id, "claim yes", "claim unknown") {
					a.h.do(a.rig, at, 10+at, Step{ID: id, What: "claim"})
				}
			}
			state := a.do(0, Step{ID: id, What: "state"}).Out // a claim may have moved it to the call that claimed: it no longer waits
			return a.h.has(id, "claim yes", "claim unknown", "decide unknown") || state == stateEnded || state == stateDone
		})
	}
}

func (a *asking) check(what string) string {
	if !porcupine.CheckOperations(approvalModel, a.h.ops) {
		for id, done := range a.h.done {
			if done["decide yes"]+done["decide at once yes"] > 1 || done["claim yes"]+done["decide at once yes"] > 1 {
				a.t.Errorf("%s: %v", id, done)
			}
		}
		for _, part := range approvalModel.Partition(a.h.ops) {
			if !porcupine.CheckOperations(approvalModel, part) {
				a.t.Errorf("%s: no order of these steps fits: %v", what, part)
			}
		}
	}
	return fmt.Sprintf("%d steps of approvals", len(a.h.ops))
}

// taking exercises a limit in a round.
type taking struct {
	*round
	h     *history
	limit int
	taken atomic.Int32
	cut   atomic.Int32 // takes that were cut off when their replica died; they count
	turn  atomic.Int32 // 1 if the answer to the take that began the turn may be lost, which counts; others are taken back
}

func (l *taking) lost() int { return int(l.cut.Load() + l.turn.Load()) }

func newTaking(r *round) *taking { return &taking{round: r, h: newHistory(), limit: 60} }

func (l *taking) take(client, at int) (may bool) {
	call := l.h.now()
	in := Step{ID: fmt.Sprintf("turn.%d", l.number), What: "take", N: l.limit}
	out := l.do(at, in)
	switch {
	case out.Out == came:
		l.taken.Add(1)
	case out.Cut:
		l.cut.Add(1)
		return false
	case out.Out == unknown:
		l.turn.Store(1)
		return false
	}
	l.h.note(client, in, call, out.Out)
	return out.Out == came
}

func (l *taking) run(client int, random *rand.Rand) {
	for l.goes(random, 200*time.Millisecond) {
		l.take(client, client%3)
	}
}

func (l *taking) settle(what string) {
	waits.Until(l.t, what+": all that is left is taken", func() bool {
		for at := range l.all {
			for l.take(10+at, at) {
			}
		}
		return int(l.taken.Load())+l.lost() >= l.limit
	})
}

func (l *taking) check(what string) string {
	if !porcupine.CheckOperations(budgetModel(l.limit, l.lost()), l.h.ops) {
		l.t.Errorf("%s: no order of the %d takes fits: %d of %d were taken, %d may have been", what, len(l.h.ops), l.taken.Load(), l.limit, l.lost())
	}
	return fmt.Sprintf("%d takes, %d of %d taken", len(l.h.ops), l.taken.Load(), l.limit)
}

// writing exercises a text in a round. Each write makes it longer.
type writing struct {
	*round
	least, most int // bounds on what it can be by now
	agreed      int // what it is for all replicas
}

const written = "rules"

func (w *writing) run(_ int, random *rand.Rand) {
	for at := 0; w.goes(random, 300*time.Millisecond); at++ {
		switch out := w.do(at%3, Step{ID: written, What: "write"}); out.Out {
		case came:
			w.least, w.most = out.N, max(w.most, out.N)
		case unknown:
			w.most = max(w.most, out.N)
		}
	}
}

// settle waits until all replicas have the same text, and checks that it was written.
func (w *writing) settle(what string) {
	waits.Until(w.t, what+": all replicas go by the newest text", func() bool {
		first := w.do(0, Step{ID: written, What: "text"})
		for at := range w.all {
			if now := w.do(at, Step{ID: written, What: "text"}); now.Out != came || now.N != first.N {
				return false
			}
		}
		w.agreed = first.N
		return first.N >= w.least
	})
}

func (w *writing) check(what string) string {
	if w.most > 0 && (w.agreed < w.least || w.agreed > w.most) {
		w.t.Errorf("%s: the text is number %d, and %d to %d were written", what, w.agreed, w.least, w.most)
	}
	return fmt.Sprintf("text %d", w.least)
}

// TestThousand has a thousand approvals wait while one replica dies, then another, then a third is cut off, and finally
// all die at once. Every approval is decided once and claimed once, whoever tries. On a busy machine the answer to a
// write may be lost. Then its outcome is unknown, and the decision may go unclaimed.
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
	// each takes a step about every approval at every replica, with several clients at a time.
	each := func(clients int, f func(at, client, i int)) {
		var running sync.WaitGroup
		for at := range r.all {
			for client := range clients {
				running.Go(func() {
					for i := client; i < approvals; i += clients {
						f(at, client, i)
					}
				})
			}
		}
		running.Wait()
	}
	id := func(i int) string { return fmt.Sprintf("t%d", i) }
	each(1, func(at, _, i int) {
		for i%3 == at && r.do(at, Step{ID: id(i), What: "ask", Waits: true}).Out != came && t.Context().Err() == nil {
		}
	})
	r.kill(0)
	waits.Until(t, "the others take over what one left", func() bool { return r.owned(1, 2) == approvals })
	r.start(0)
	r.whole()
	r.kill(1)
	waits.Until(t, "the others take over again", func() bool { return r.owned(0, 2) == approvals })
	r.start(1)
	r.whole()
	r.cutOff(2, true)
	waits.Until(t, "the one that is cut off notices", func() bool { return r.do(2, Step{What: "fresh"}).Out != came })
	r.cutOff(2, false)
	for i := range r.all {
		r.kill(i)
	}
	r.startAll()
	waits.Until(t, "all survive a restart of everything", func() bool { return r.owned(0, 1, 2) == approvals })

	decided, taken, unsure := make([]atomic.Int32, approvals), make([]atomic.Int32, approvals), make([]atomic.Int32, approvals)
	try := func(at, i int, in Step, done []atomic.Int32) {
		in.ID = id(i)
		out := r.do(at, in).Out
		for ; out == unknown; out = r.do(at, in).Out {
			unsure[i].Add(1)
			in.N += 1000 * approvals
		}
		if out == came {
			done[i].Add(1)
		}
	}
	each(4, func(at, _, i int) { try(at, i, Step{What: "decide"}, decided) })
	each(4, func(at, client, i int) { try(at, i, Step{What: "claim", N: i + approvals*(at*4+client)}, taken) })
	for i := range approvals {
		d, n := decided[i].Load(), taken[i].Load()
		if d > 1 || n > 1 || (d == 0 || n == 0) && unsure[i].Load() == 0 {
			t.Errorf("%s was decided %d times and taken %d times", id(i), d, n)
		}
	}
}

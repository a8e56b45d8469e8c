//go:build unix

package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/waits"
)

// cable is a connection between two replicas that can be cut. Then nothing passes, and nobody is told.
type cable struct {
	address string
	cut     atomic.Bool
}

// newCable makes a cable to an address.
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

// rig is three replicas, each a process, that can be parted, stopped and killed. Their clocks are five seconds apart.
type rig struct {
	t      *testing.T
	o      []remoteOptions
	cables [][]*cable // from, to
	logs   []*os.File

	mu  sync.Mutex
	all []*process // nil while a replica is dead
}

// process is a replica as its rig sees it.
type process struct {
	cmd    *exec.Cmd
	client *rpc.Client
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, all: make([]*process, 3), o: make([]remoteOptions, 3), cables: make([][]*cable, 3), logs: make([]*os.File, 3)}
	free := addresses.Free(t, 3)
	for i := range r.o {
		r.o[i] = remoteOptions{Name: fmt.Sprintf("r%d", i), DataDir: t.TempDir(), Listen: free[i], Skew: time.Duration(i-1) * 5 * time.Second}
		r.cables[i] = make([]*cable, 3)
		for j := range r.o {
			peer := free[j]
			if i != j {
				r.cables[i][j] = newCable(t, peer)
				peer = r.cables[i][j].address
			}
			r.o[i].Peers = append(r.o[i].Peers, peer)
		}
		smallDisk(t, r.o[i].DataDir)
		log, err := os.Create(filepath.Join(t.TempDir(), r.o[i].Name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		r.logs[i] = log
	}
	t.Cleanup(func() {
		for i := range r.all {
			if t.Failed() {
				r.report(i)
			}
			r.kill(i)
		}
	})
	r.startAll()
	return r
}

// startAll starts every replica, and waits until all hear from the cluster.
func (r *rig) startAll() {
	var starting sync.WaitGroup
	for i := range r.all {
		starting.Go(func() { r.start(i) })
	}
	starting.Wait()
	r.whole()
}

func (r *rig) start(i int) {
	program, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := json.Marshal(r.o[i])
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env, cmd.Stderr = append(os.Environ(), remoteEnv+"="+string(text)), r.logs[i]
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	p := &process{cmd, rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})}
	r.mu.Lock()
	r.all[i] = p
	r.mu.Unlock()
	if a := r.do(i, Step{What: "owned"}); a.Out != came {
		r.t.Errorf("replica %d does not start: %s", i, a.Why)
	}
}

// do makes a replica take a step.
func (r *rig) do(i int, in Step) (out Answer) {
	r.mu.Lock()
	p := r.all[i]
	r.mu.Unlock()
	if p == nil {
		return Answer{Out: nothing, Why: "it is dead"}
	}
	if err := p.client.Call("Remote.Do", in, &out); err != nil {
		return Answer{Out: unknown, Why: err.Error(), Cut: true}
	}
	return out
}

// report logs what a replica knows, and what it logged last.
func (r *rig) report(i int) {
	r.mu.Lock()
	p := r.all[i]
	r.mu.Unlock()
	state := Answer{Out: "it is dead"}
	if p != nil {
		call := p.client.Go("Remote.Do", Step{What: "report"}, &state, make(chan *rpc.Call, 1))
		select {
		case <-call.Done:
		case <-time.After(time.Minute): // the test has failed, and waits no longer
			state = Answer{Out: "it does not answer"}
		}
	}
	text, err := os.ReadFile(r.logs[i].Name())
	if end := len(text) - 64<<10; end > 0 {
		text = text[end:]
	}
	r.t.Logf("replica %d: %s\n%v\nits log ends with:\n%s", i, state.Out, err, text)
}

// until waits until a replica answers yes.
func (r *rig) until(what string, i int, in Step) {
	r.t.Helper()
	waits.Until(r.t, fmt.Sprintf("replica %d: %s", i, what), func() bool { return r.do(i, in).Out == came })
}

// whole waits until every replica hears from the cluster.
func (r *rig) whole() {
	r.t.Helper()
	for i := range r.all {
		r.until("it hears from the cluster", i, Step{What: "fresh"})
	}
}

// owned counts the approvals that wait at some replicas.
func (r *rig) owned(which ...int) (n int) {
	for _, i := range which {
		n += r.do(i, Step{What: "owned"}).N
	}
	return n
}

// part cuts a replica off from another, or connects them again.
func (r *rig) part(i, j int, cut bool) {
	r.cables[i][j].cut.Store(cut)
	r.cables[j][i].cut.Store(cut)
}

// cutOff cuts a replica off from both others, or connects it again.
func (r *rig) cutOff(i int, cut bool) {
	r.part(i, (i+1)%3, cut)
	r.part(i, (i+2)%3, cut)
}

// kill ends a replica without a goodbye.
func (r *rig) kill(i int) {
	r.mu.Lock()
	p := r.all[i]
	r.all[i] = nil
	r.mu.Unlock()
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
	p.client.Close()
}

func (r *rig) signal(i int, s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.all[i].cmd.Process.Signal(s); err != nil {
		r.t.Error(err)
	}
}

// fault makes something go wrong at a replica for a while, and then repairs it.
type fault struct {
	what string
	does func(r *rig, i int, pause time.Duration)
}

// faults returns the faults that this machine can have.
func faults(t *testing.T) []fault {
	return append([]fault{
		{"was cut off", func(r *rig, i int, pause time.Duration) {
			r.cutOff(i, true)
			time.Sleep(pause)
			r.cutOff(i, false)
		}},
		{"was parted from the next", func(r *rig, i int, pause time.Duration) {
			r.part(i, (i+1)%3, true)
			time.Sleep(pause)
			r.part(i, (i+1)%3, false)
		}},
		{"died and came back", func(r *rig, i int, _ time.Duration) {
			r.kill(i)
			r.start(i)
		}},
		{"stood still", func(r *rig, i int, pause time.Duration) {
			r.signal(i, syscall.SIGSTOP)
			time.Sleep(2 * pause) // longer than its lease, too
			r.signal(i, syscall.SIGCONT)
		}},
	}, diskFaults(t)...)
}

// fault makes the fault of a round happen, and describes it.
func (r *rig) fault(all []fault, round int, random *rand.Rand) string {
	i, pause := random.IntN(3), time.Duration(500+random.IntN(int(testLease/time.Millisecond)))*time.Millisecond
	one := all[round%len(all)]
	one.does(r, i, pause)
	return fmt.Sprintf("replica %d %s for %s", i, one.what, pause)
}

// rounds returns how many faults there are.
func rounds(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("CALLGATE_TEST_ROUNDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ballast returns the file that fills a replica's disk.
func (r *rig) ballast(i int) string { return filepath.Join(r.o[i].DataDir, "ballast") }

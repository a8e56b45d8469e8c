//go:build unix

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"callgate/gate"
)

// remoteEnv makes this program a replica, and holds its options.
const remoteEnv = "CALLGATE_TEST_REPLICA"

func TestMain(m *testing.M) {
	if text := os.Getenv(remoteEnv); text != "" {
		if err := serveRemote(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// remoteOptions are the options in which a replica differs from the others.
type remoteOptions struct {
	Name, DataDir, Listen string
	Peers                 []string
	Skew                  time.Duration // of its clock
}

// Remote is a replica that the test which started it controls.
type Remote struct {
	c    *Cluster
	slow func(time.Duration)
}

// serveRemote runs a replica until the test ends.
func serveRemote(text string) error {
	var o remoteOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	slow, err := slowDisk()
	if err != nil {
		return err
	}
	c, err := Open(Options{
		URL: Embedded, Name: o.Name, Worker: "default", DataDir: o.DataDir, Key: testKey, Lease: testLease, Logger: toStderr(o.Name), Listen: o.Listen, Peers: o.Peers,
		advertise: "127.0.0.1:9", // nobody may bypass the cables
		now:       func() time.Time { return time.Now().Add(o.Skew) },
	})
	if err != nil {
		return err
	}
	c.Approvals().Serve(&gateOf{})
	server := rpc.NewServer()
	if err := server.Register(&Remote{c, slow}); err != nil {
		return err
	}
	server.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	return nil
}

// Step is what a replica is told to do: with one approval, the limit or the text that the id names.
type Step struct {
	ID, What string
	Waits    bool // ask: a call waits
	N        int  // claim: which call; take: the limit
}

// Answer is the outcome of a step.
type Answer struct {
	Out string // came, refused, unknown or nothing; for a state, the state
	N   int
	Why string
	Cut bool // the replica died before it answered
}

const (
	came    = "yes"     // it was done
	refused = "no"      // it was not
	unknown = "unknown" // nobody knows, or ever will
	nothing = "nothing" // it was not tried
)

// Do takes one step.
func (r *Remote) Do(in Step, out *Answer) error {
	err := r.do(in, out)
	switch {
	case out.Out != "":
	case err == nil:
		out.Out = came
	case errors.Is(err, gate.ErrNotPending), errors.Is(err, errRefused), errors.Is(err, ErrChanged):
		out.Out = refused
	default:
		out.Out = unknown
	}
	if err != nil {
		out.Why = err.Error()
	}
	return nil
}

var errRefused = errors.New("it is refused")

func (r *Remote) do(in Step, out *Answer) error {
	a := r.c.Approvals()
	switch in.What {
	case "ask":
		kept := gate.Kept{ID: in.ID, Key: "k" + in.ID, Waits: in.Waits, Expires: time.Now().Add(time.Hour), Question: fmt.Appendf(nil, "%q", in.ID)}
		err := a.Ask(kept)
		if err != nil {
			a.endLater(entryKey(kept.Key, kept.ID)) // it may have been noted all the same
		}
		return err
	case "decide", "decide at once":
		return a.Decide(in.ID, []byte(`"yes"`), in.What != "decide", time.Now().Add(time.Hour))
	case "claim":
		decision, err := a.Claim("k"+in.ID, fmt.Sprintf("call%d", in.N))
		if err == nil && decision == nil {
			err = errRefused
		}
		return err
	case "state":
		_, v, err := r.c.bucket.read(r.c.ctx, entryKey("k"+in.ID, in.ID))
		out.Out = stateOf(v.body)
		return err
	case "owned":
		a.mu.Lock()
		defer a.mu.Unlock()
		out.N = len(a.owned)
		return nil
	case "take":
		if err := r.c.Fresh(); err != nil {
			out.Out = nothing
			return err
		}
		tally := r.c.Budgets().Tally(gate.Counted{Name: in.ID, Idle: time.Hour, Leases: true})
		defer tally.Close()
		may, err := tally.Take(1, in.N)
		if err == nil && !may {
			err = errRefused
		}
		return err
	case "write": // the next number, whatever is there
		d := r.c.Document(in.ID)
		now, err := d.Read(r.c.ctx)
		if err == nil {
			out.N = len(now.Text) + 1
			_, err = d.Replace(r.c.ctx, now.Revision, []byte(strings.Repeat("x", out.N)), "x")
		}
		return err
	case "text":
		v, err := r.c.Document(in.ID).Now()
		out.N = len(v.Text)
		return err
	case "fresh":
		return r.c.Fresh()
	case "well": // every copy of the shared data is there again
		s, err := r.c.Status(r.c.ctx)
		if err == nil && !s.Well() {
			err = fmt.Errorf("%d of %d copies are current; %v", s.Current, s.Copies, s.Replicas)
		}
		return err
	case "report":
		out.Out = r.report()
		return nil
	case "slow":
		r.slow(time.Duration(in.N) * time.Millisecond)
		return nil
	}
	return fmt.Errorf("%s is no step", in.What)
}

// report describes what the replica and its NATS know now.
func (r *Remote) report() string {
	var text strings.Builder
	b := r.c.bucket
	fmt.Fprintf(&text, "fresh: %v\nheard: %v\nheard for the last time: %s ago\n", b.fresh(), b.followError(), time.Since(b.began.Add(time.Duration(b.until.Load())-testLease)))
	if trouble := b.trouble.Load(); trouble != nil {
		fmt.Fprintf(&text, "trouble: %v\n", *trouble)
	}
	for _, one := range r.c.Replicas() {
		fmt.Fprintf(&text, "%+v\n", one)
	}
	for key, v := range b.valuesUnder("ask.") {
		_, owned := r.c.approvals.of(idOf(key))
		fmt.Fprintf(&text, "%s: %s, change %d, owned here: %t\n", key, stateOf(v.body), v.rev, owned)
	}
	if s, ok := any(r.c.server).(interface{ report(io.Writer) }); ok {
		s.report(&text)
	}
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		fmt.Fprintln(&text, err)
	}
	return text.String()
}

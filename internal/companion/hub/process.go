package hub

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"callgate/internal/outbound"
	"callgate/internal/spawn"
)

// Process is a process that joined this one, the hub.
type Process struct {
	PID     int
	Worker  string
	Version string
	Replica string // name of the replica or tenant; "" for a process of this data directory
	HTTP    *http.Client
	open    func() (net.Conn, error) // opens a stream to it
	ended   <-chan struct{}          // closed when the process or its connection has ended
	end     func()                   // ends the connection

	mu  sync.Mutex
	has map[string]map[string]bool // ids that it has shown, by the path that lists them; only for the paths in bound
}

// bound holds the paths of lists whose items belong to one process. The hub remembers which process showed an item.
var bound = []string{"/api/sessions", "/api/approvals"}

// setListed records the process's whole list of things, if it is in bound.
func (p *Process) setListed(things string, items []json.RawMessage) {
	if !slices.Contains(bound, things) {
		return
	}
	ids := make(map[string]bool, len(items))
	for _, item := range items {
		if id := idOf(item); id != "" && len(ids) < maxOwned {
			ids[id] = true
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has == nil {
		p.has = map[string]map[string]bool{}
	}
	p.has[things] = ids
}

// setShown records that the process has one thing more, or one less.
func (p *Process) setShown(things, id string, has bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ids := p.has[things]; {
	case !has:
		delete(ids, id)
	case ids == nil:
		if p.has == nil {
			p.has = map[string]map[string]bool{}
		}
		p.has[things] = map[string]bool{id: true}
	case len(ids) < maxOwned:
		ids[id] = true
	}
}

// hasShown reports whether the process has shown the thing. If the thing is over by now, the process will say so.
func (p *Process) hasShown(things, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has[things][id]
}

func newProcess(peer Introduction, session *yamux.Session) *Process {
	p := &Process{PID: peer.PID, Worker: peer.Worker, Version: peer.Version, open: session.Open, ended: session.CloseChan(), end: func() { session.Close() }}
	return p.withClient()
}

// withClient sets the HTTP client for the process and returns the process.
func (p *Process) withClient() *Process {
	p.HTTP = &http.Client{
		Transport: &http.Transport{
			DialContext:         p.dial,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: outbound.NoRedirects,
	}
	return p
}

// dial opens a stream to the process. It ignores the address.
func (p *Process) dial(context.Context, string, string) (net.Conn, error) { return p.open() }

// Gone returns a channel that is closed when the process or its connection has ended.
func (p *Process) Gone() <-chan struct{} { return p.ended }

// End ends the connection. A running process joins again.
func (p *Process) End() { p.end() }

// fleet holds the processes that joined, and the relays that follow them. Its zero value is ready to use.
type fleet struct {
	mu        sync.Mutex
	processes []*Process // in the order of joining
	relays    map[*Relay]struct{}
	left      map[int]time.Time // when processes left that were still running, by process id
}

// backWithin is how long a running process that left may take to come back. All leave if the hub was stopped.
const backWithin = 3 * time.Second

// recentlyLeft returns the processes that left, are still running, and may be on their way back.
func (f *fleet) recentlyLeft() (pids []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for pid, at := range f.left {
		if time.Since(at) > backWithin || !spawn.Exists(pid) {
			delete(f.left, pid)
			continue
		}
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// maxProcesses bounds the processes that may join, maxPeers the replicas and tenants.
const (
	maxProcesses = 256
	maxPeers     = 10_000
)

func (f *fleet) add(p *Process) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	joined, most := 0, maxProcesses
	if p.Replica != "" {
		most = maxPeers
	}
	for _, other := range f.processes {
		if (other.Replica == "") == (p.Replica == "") {
			joined++
		}
	}
	if joined >= most {
		return false
	}
	f.processes = append(f.processes, p)
	delete(f.left, p.PID)
	for r := range f.relays {
		r.follow(p)
	}
	return true
}

func (f *fleet) remove(p *Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.processes = slices.DeleteFunc(f.processes, func(o *Process) bool { return o == p })
	if p.Replica == "" && p.PID != os.Getpid() && spawn.Exists(p.PID) {
		if f.left == nil {
			f.left = map[int]time.Time{}
		}
		f.left[p.PID] = time.Now()
	}
	p.HTTP.CloseIdleConnections()
}

// all returns the processes that are here now.
func (f *fleet) all() []*Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.processes)
}

// dismiss ends the connections of all processes.
func (f *fleet) dismiss() {
	for _, p := range f.all() {
		p.end()
	}
}

// watch has r follow every process, now and later, until unwatch.
func (f *fleet) watch(r *Relay) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.relays == nil {
		f.relays = make(map[*Relay]struct{})
	}
	f.relays[r] = struct{}{}
	for _, p := range f.processes {
		r.follow(p)
	}
}

func (f *fleet) unwatch(r *Relay) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.relays, r)
}

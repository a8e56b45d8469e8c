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

// Process is a callgate that joined this one, the hub.
type Process struct {
	PID     int
	Worker  string
	Version string
	Replica string // of the cluster that it is; "" for a process of this data directory
	HTTP    *http.Client
	open    func() (net.Conn, error) // a stream to it
	ended   <-chan struct{}          // closed when it, or the connection to it, has ended
	end     func()                   // cuts it off

	mu  sync.Mutex
	has map[string]map[string]bool // the ids that it has shown, by the path that lists them; those of bound alone
}

// bound are the lists of what one process alone has and keeps: the hub remembers who showed it.
var bound = []string{"/api/sessions", "/api/approvals"}

// lists notes all that the process has of such things.
func (p *Process) lists(things string, items []json.RawMessage) {
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

// shows notes that the process has, or no longer has, one thing more.
func (p *Process) shows(things, id string, has bool) {
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

// showed reports whether the process has shown the thing. It may be over by now, which the process then says.
func (p *Process) showed(things, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has[things][id]
}

func newProcess(peer Introduction, session *yamux.Session) *Process {
	p := &Process{PID: peer.PID, Worker: peer.Worker, Version: peer.Version, open: session.Open, ended: session.CloseChan(), end: func() { session.Close() }}
	return p.reached()
}

// reached gives the process its client.
func (p *Process) reached() *Process {
	p.HTTP = &http.Client{
		Transport: &http.Transport{
			DialContext:           p.dial,
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       30 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second,
			DisableCompression:    true,
		},
		CheckRedirect: outbound.NoRedirects,
	}
	return p
}

// dial opens a stream to the process, whatever the address.
func (p *Process) dial(context.Context, string, string) (net.Conn, error) { return p.open() }

// Gone is closed when the process, or the connection to it, has ended.
func (p *Process) Gone() <-chan struct{} { return p.ended }

// End cuts the process off. One that lives comes again.
func (p *Process) End() { p.end() }

// fleet is the processes that joined, and the clients that follow what they do. Its zero value is ready.
type fleet struct {
	mu        sync.Mutex
	processes []*Process // in the order of joining
	relays    map[*Relay]struct{}
	left      map[int]time.Time // when processes left that had not ended then, by process id
}

// backWithin is how long a running process that left may take to come back. All leave if this process was stopped.
const backWithin = 3 * time.Second

// away lists the processes that left, have not ended, and are on their way back.
func (f *fleet) away() (pids []int) {
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

// maxProcesses bounds the processes that may join, and maxPeers the replicas and tenants that are met.
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

// all lists who is there now.
func (f *fleet) all() []*Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.processes)
}

// dismiss ends every process's connection.
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

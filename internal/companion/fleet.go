package companion

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// process is a callgate that joined this one, the hub.
type process struct {
	pid     int
	worker  string
	version string
	session *yamux.Session
	http    *http.Client
}

func newProcess(peer introduction, session *yamux.Session) *process {
	p := &process{pid: peer.PID, worker: peer.Worker, version: peer.Version, session: session}
	p.http = &http.Client{
		Transport: &http.Transport{
			DialContext:           p.dial,
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       30 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second,
			DisableCompression:    true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// dial opens a stream to the process, whatever the address.
func (p *process) dial(context.Context, string, string) (net.Conn, error) { return p.session.Open() }

// gone is closed when the process, or the connection to it, has ended.
func (p *process) gone() <-chan struct{} { return p.session.CloseChan() }

// fleet is the processes that joined, and the clients that follow what they do. Its zero value is ready.
type fleet struct {
	mu        sync.Mutex
	processes []*process // in the order of joining
	relays    map[*relay]struct{}
}

// maxProcesses bounds the processes that may join.
const maxProcesses = 256

func (f *fleet) add(p *process) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.processes) == maxProcesses {
		return false
	}
	f.processes = append(f.processes, p)
	for r := range f.relays {
		r.follow(p)
	}
	return true
}

func (f *fleet) remove(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.processes = slices.DeleteFunc(f.processes, func(o *process) bool { return o == p })
	p.http.CloseIdleConnections()
}

// all lists who is there now.
func (f *fleet) all() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.processes)
}

// dismiss ends every process's connection.
func (f *fleet) dismiss() {
	for _, p := range f.all() {
		p.session.Close()
	}
}

// watch has r follow every process, now and later, until unwatch.
func (f *fleet) watch(r *relay) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.relays == nil {
		f.relays = make(map[*relay]struct{})
	}
	f.relays[r] = struct{}{}
	for _, p := range f.processes {
		r.follow(p)
	}
}

func (f *fleet) unwatch(r *relay) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.relays, r)
}

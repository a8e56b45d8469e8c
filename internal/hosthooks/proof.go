package hosthooks

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
)

// State holds what a host's hooks have proven.
type State struct {
	Version   string               `json:"version,omitempty"` // the host's, or ""
	Seen      time.Time            `json:"seen,omitzero"`
	Events    map[string]time.Time `json:"events,omitempty"`    // the last time of each event, to the minute
	Obeyed    time.Time            `json:"obeyed,omitzero"`     // with this version, a denied call did not run
	Asked     time.Time            `json:"asked,omitzero"`      // with this version, callgate asked for the canary
	Disobeyed *Lapse               `json:"disobeyed,omitempty"` // a denied call ran
	Uncovered *Lapse               `json:"uncovered,omitempty"` // a call ran without a hook
}

// Lapse is a call that should not have run.
type Lapse struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Proof records what hosts have proven, for all processes of a data directory: that they ask, and that they obey.
type Proof struct {
	path string
	log  *slog.Logger
	word string // marks the canary; secret until a host gets it

	mu    sync.Mutex
	known map[string]State // as last written
}

const (
	proofFile = "hosts.json" // in the data directory
	maxProof  = 16 << 20     // bytes
)

// OpenProof returns the proof in a data directory.
func OpenProof(dataDir string, log *slog.Logger) (*Proof, error) {
	known, err := ReadProof(dataDir)
	if err != nil {
		return nil, err
	}
	word := "callgate-canary-" + strings.ToLower(rand.Text()[:12])
	return &Proof{path: filepath.Join(dataDir, proofFile), log: log, word: word, known: known}, nil
}

// ReadProof returns the states by host id.
func ReadProof(dataDir string) (map[string]State, error) {
	known := map[string]State{}
	path := filepath.Join(dataDir, proofFile)
	if err := durable.LoadJSON(path, maxProof, &known); err != nil {
		return nil, fmt.Errorf("cannot read what hosts have proven; remove %s to start over: %w", path, err)
	}
	return known, nil
}

// Seen records that a host asked.
func (p *Proof) Seen(host, version, event string) {
	now := time.Now().UTC()
	p.mu.Lock()
	s := p.known[host]
	fresh := now.Sub(s.Events[event]) < time.Minute && (version == "" || version == s.Version)
	p.mu.Unlock()
	if !fresh {
		p.change(host, version, func(s *State) {
			s.Seen = now
			if event == "" {
				return
			}
			if s.Events == nil {
				s.Events = map[string]time.Time{}
			}
			s.Events[event] = now.Truncate(time.Minute)
		})
	}
}

// Obeyed records that a denied call did not run.
func (p *Proof) Obeyed(host, version string) {
	p.change(host, version, func(s *State) { s.Obeyed = time.Now().UTC() })
}

// Disobeyed records that a denied call ran.
func (p *Proof) Disobeyed(host, version, what string) {
	p.change(host, version, func(s *State) { s.Disobeyed = &Lapse{time.Now().UTC(), what} })
}

// Uncovered records that a call ran without a hook.
func (p *Proof) Uncovered(host, version, what string) {
	p.change(host, version, func(s *State) { s.Uncovered = &Lapse{time.Now().UTC(), what} })
}

// Canary returns the word that marks a canary. wanted tells the caller to ask for one: once for each version of a host
// that has not yet shown whether it obeys.
func (p *Proof) Canary(host, version string) (word string, wanted bool) {
	p.change(host, version, func(s *State) {
		if wanted = s.Obeyed.IsZero() && s.Asked.IsZero(); wanted {
			s.Asked = time.Now().UTC()
		}
	})
	return p.word, wanted
}

func (p *Proof) isCanary(arguments []byte) bool { return bytes.Contains(arguments, []byte(p.word)) }

// change changes a host's state, under a lock that all processes share. A new version has proven nothing yet.
func (p *Proof) change(host, version string, how func(*State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := durable.Locked(p.path+".lock", func() error {
		known, err := ReadProof(filepath.Dir(p.path))
		if err != nil {
			return err
		}
		s := known[host]
		if version != "" && version != s.Version {
			s = State{Version: version, Events: s.Events}
		}
		how(&s)
		known[host] = s
		p.known = known
		return durable.SaveJSON(p.path, known)
	})
	if err != nil {
		p.log.Error("cannot save what a host has proven", "host", host, "error", err)
	}
}

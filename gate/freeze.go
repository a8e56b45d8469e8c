package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/durable"
	"callgate/permissions"
	"callgate/permissions/store"
)

// Freeze stops everything that writes, sends or runs.
type Freeze struct {
	SessionID string    `json:"sessionId,omitempty"` // "" for all sessions of all processes
	Until     time.Time `json:"until,omitzero"`      // zero until somebody ends it
	Reason    string    `json:"reason,omitempty"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

// ByFreeze is what decides about a call that a freeze stops.
const ByFreeze = "freeze"

// maxFreezeText bounds, in bytes, the reason that a person gives.
const maxFreezeText = 1000

// Freezer keeps freezes in one file, which all processes of a data directory read before every call. If the file cannot
// be read, everything is frozen. A nil Freezer freezes nothing.
type Freezer struct {
	path  string
	above *Freezer // what it has frozen as a whole is frozen here too; nil for none

	changing sync.Mutex // one change at a time; taken before mu

	mu   sync.Mutex
	last durable.Stamp // as the file was when it was read; none before
	held map[string]Freeze

	shared   store.Shared // freezes that hold for other machines too; nil for none
	revision uint64       // of them, as they were read last
	all      map[string]Freeze
}

// OpenFreezer returns the freezer whose state is in the file at path, which need not exist.
func OpenFreezer(path string) *Freezer { return &Freezer{path: path} }

// Share makes freezes hold on all machines that share the text. Freezes in the file hold on this machine too.
func (f *Freezer) Share(text store.Shared) *Freezer {
	f.shared = text
	return f
}

// Below makes all be frozen that above has frozen as a whole.
func (f *Freezer) Below(above *Freezer) *Freezer {
	f.above = above
	return f
}

// read returns what holds now, by session. The caller holds mu and MUST NOT change the map.
func (f *Freezer) read() (map[string]Freeze, error) {
	own, err := f.readFile()
	if f.shared == nil || err != nil {
		return own, err
	}
	all, _, err := f.readShared()
	if err != nil || len(own) == 0 {
		return all, err
	}
	all = maps.Clone(all)
	for id, one := range own {
		if now := time.Now(); one.Until.IsZero() || now.Before(one.Until) {
			all[id] = one
		}
	}
	return all, nil
}

// readShared returns what holds on all machines. The caller holds mu and MUST NOT change the map.
func (f *Freezer) readShared() (held map[string]Freeze, revision uint64, err error) {
	text, revision, err := f.shared.Text()
	if err != nil {
		return nil, 0, err
	}
	if f.all == nil || revision != f.revision {
		if held, err = decodeFreezes(text); err != nil {
			return nil, 0, err
		}
		f.all, f.revision = held, revision
	}
	return f.all, revision, nil
}

func decodeFreezes(text []byte) (map[string]Freeze, error) {
	held := map[string]Freeze{}
	if len(text) == 0 {
		return held, nil
	}
	var list []Freeze
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, one := range list {
		held[one.SessionID] = one
	}
	return held, nil
}

// readFile returns what the file says now, by session. The caller holds mu and MUST NOT change the map.
func (f *Freezer) readFile() (map[string]Freeze, error) {
	now, err := durable.LookThrough(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.last, f.held = durable.Stamp{}, nil
		return nil, nil
	case err != nil:
		return nil, err
	case now.Same(f.last):
		return f.held, nil
	}
	f.last = durable.Stamp{}
	text, err := durable.ReadFile(f.path, 1<<20)
	if err != nil {
		return nil, err
	}
	held, err := decodeFreezes(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	f.held, f.last = held, now
	return f.held, nil
}

// List returns what is frozen at a time; a freeze of all sessions comes first.
func (f *Freezer) List(now time.Time) (list []Freeze, err error) {
	if f == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	held, err := f.read()
	for _, id := range slices.Sorted(maps.Keys(held)) {
		if one := held[id]; one.Until.IsZero() || now.Before(one.Until) {
			list = append(list, one)
		}
	}
	return list, err
}

// Of returns the freeze that holds a session's calls at a time, or nil.
func (f *Freezer) Of(sessionID string, now time.Time) (*Freeze, error) {
	if f == nil {
		return nil, nil
	}
	if one, err := f.above.Of("", now); one != nil || err != nil {
		return one, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	held, err := f.read()
	if err != nil {
		return nil, err
	}
	for _, id := range []string{"", sessionID} {
		if one, ok := held[id]; ok && (one.Until.IsZero() || now.Before(one.Until)) {
			return &one, nil
		}
	}
	return nil, nil
}

// Freeze stops a session, or all sessions, from the next call of every process on. It does so even if record fails, and
// returns the error of record.
func (f *Freezer) Freeze(one Freeze, record func(summary string) error) error {
	if !one.Until.IsZero() && !one.Until.After(one.At) {
		return Invalid(fmt.Errorf("%s is in the past: choose a later end of the freeze", one.Until.Format(time.RFC3339)))
	}
	if one.SessionID != "" && !isSessionID(one.SessionID) {
		return Invalid(fmt.Errorf("%q is no session's id, such as %s: nothing is frozen", one.SessionID, "s-ABCDEFGHIJKL"))
	}
	if len(one.Reason) > maxFreezeText {
		return Invalid(fmt.Errorf("the reason has %d bytes: shorten it to %d", len(one.Reason), maxFreezeText))
	}
	if err := f.change(func(held map[string]Freeze) { held[one.SessionID] = one }); err != nil {
		return err
	}
	return record("Frozen: " + one.String())
}

// Unfreeze ends the freeze of a session, or of all. It is on record before anything runs again.
func (f *Freezer) Unfreeze(sessionID string, record func(summary string) error) error {
	list, err := f.List(time.Now())
	if err == nil && !slices.ContainsFunc(list, func(one Freeze) bool { return one.SessionID == sessionID }) {
		err := fmt.Errorf("there is no freeze of %s", frozenWhat(sessionID))
		for _, one := range list {
			err = fmt.Errorf("%w; frozen: %s", err, frozenWhat(one.SessionID))
		}
		return Invalid(err)
	}
	if err := record("Ended the freeze of " + frozenWhat(sessionID) + "."); err != nil {
		return err
	}
	return f.change(func(held map[string]Freeze) { delete(held, sessionID) })
}

func frozenWhat(sessionID string) string {
	if sessionID == "" {
		return "all sessions"
	}
	return "session " + sessionID
}

// change rewrites the file, under a lock that all processes take. It replaces a file that cannot be read.
func (f *Freezer) change(edit func(map[string]Freeze)) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	var shared error
	if f.shared != nil { // other machines are waited for, and no call is
		shared = f.changeShared(edit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(shared, durable.Locked(f.path+".lock", func() error {
		held, _ := f.readFile()
		if f.shared != nil && shared == nil && len(held) == 0 {
			return nil // it is in force on all machines, this one too
		}
		text, err := editFreezes(held, edit)
		if err != nil {
			return err
		}
		f.last = durable.Stamp{}
		return durable.Replace(f.path, text, 0o600)
	}))
}

// changeShared changes what holds on all machines.
func (f *Freezer) changeShared(edit func(map[string]Freeze)) error {
	return store.WhileStale(func() error {
		f.mu.Lock()
		held, revision, err := f.readShared()
		f.mu.Unlock()
		if err != nil {
			return err
		}
		text, err := editFreezes(held, edit)
		if err != nil {
			return err
		}
		return f.shared.Replace(revision, text)
	})
}

// editFreezes leaves out those that are over.
func editFreezes(held map[string]Freeze, edit func(map[string]Freeze)) ([]byte, error) {
	next := map[string]Freeze{}
	for id, one := range held {
		if one.Until.IsZero() || time.Now().Before(one.Until) {
			next[id] = one
		}
	}
	edit(next)
	list := make([]Freeze, 0, len(next))
	for _, id := range slices.Sorted(maps.Keys(next)) {
		list = append(list, next[id])
	}
	text, err := json.MarshalIndent(list, "", "  ")
	return append(text, '\n'), err
}

// String says what is frozen, for people and for models.
func (f Freeze) String() string {
	s := frozenWhat(f.SessionID) + ", by " + f.By
	if !f.Until.IsZero() {
		s += ", until " + f.Until.Local().Format("2006-01-02 15:04 MST")
	}
	if f.Reason != "" {
		s += ": " + strings.TrimRight(f.Reason, ".")
	}
	return s + "."
}

// thenTell is what the model has to do about a freeze.
const thenTell = " Tell the user, and do not try another way."

// frozen says why a freeze stops the call; "" if it does not. Calls that only read, on this machine or in the server's
// own data, always run.
func (j *Judge) frozen(call Call, a *tools.Analysis) string {
	if j.Freezer == nil {
		return ""
	}
	f, err := j.Freezer.Of(call.SessionID, j.Now)
	switch {
	case err != nil && !onlyReads(a):
		return fmt.Sprintf("Whether calls are frozen cannot be read, so only reading goes through: %v.", err) + thenTell
	case f != nil && !onlyReads(a):
		return "Frozen: " + tools.Visible(f.String()) + " Nothing that writes, sends or runs goes through; reading does." + thenTell
	}
	return ""
}

// onlyReads reports whether a call reads and does nothing else.
func onlyReads(a *tools.Analysis) bool {
	if a.Risk != permissions.ReadOnly || len(a.Writes) > 0 || a.Category == tools.CategoryNetwork || a.Category == tools.CategoryAudioOutput {
		return false
	}
	return !slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool {
		return len(s.Effects) > 0 || s.Kind == tools.KindFetch || s.Kind == tools.KindSampling || s.Kind == tools.KindProcessInput
	})
}

// Freeze holds back a session of this worker, or with "" all sessions of all processes.
func (c Controls) Freeze(one Freeze, who audit.Author) error {
	g := c.gate
	one.By, one.At = who.By, time.Now().UTC()
	return g.journal.o.Freezer.Freeze(one, func(summary string) error { return g.Controls.noteFreeze(one.SessionID, who, summary) })
}

// Unfreeze ends what Freeze began.
func (c Controls) Unfreeze(sessionID string, who audit.Author) error {
	g := c.gate
	return g.journal.o.Freezer.Unfreeze(sessionID, func(summary string) error { return g.Controls.noteFreeze(sessionID, who, summary) })
}

func (c Controls) noteFreeze(sessionID string, who audit.Author, summary string) error {
	g := c.gate
	err := g.Controls.Note(sessionID, who, summary)
	for _, info := range g.Sessions() { // whoever watches sees it at once
		g.journal.events.publish(SessionOpened{info})
	}
	return err
}

// Frozen returns what is frozen now.
func (c Controls) Frozen() ([]Freeze, error) { return c.gate.journal.o.Freezer.List(time.Now()) }

// frozenNow says, for people who watch, what freezes a session now; "" if nothing does.
func (j *journal) frozenNow(sessionID string) string {
	f, err := j.o.Freezer.Of(sessionID, time.Now())
	switch {
	case err != nil:
		return "whether calls are frozen cannot be read"
	case f != nil:
		return f.String()
	}
	return ""
}

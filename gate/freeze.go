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

	Here  bool `json:"here,omitzero"`  // it holds on this machine alone, until the others can be told
	Above bool `json:"above,omitzero"` // it covers all tenants, and only their operator can end it
}

// ByFreeze is the By of a verdict on a call that a freeze stops.
const ByFreeze = "freeze"

// maxFreezeText bounds, in bytes, the reason that a person gives.
const maxFreezeText = 1000

// Freezing tells what is frozen. On an error, only reading goes through.
type Freezing interface {
	Of(sessionID string, now time.Time) (*Freeze, error)
}

// Freezer keeps freezes in one file, which all processes of a data directory read before every call. If the file cannot
// be read, everything is frozen. A nil Freezer freezes nothing.
type Freezer struct {
	path  string
	above *Freezer // its freezes of all sessions apply here too; nil for none

	changing sync.Mutex // one change at a time; taken before mu

	mu   sync.Mutex
	last durable.Stamp // the file when it was last read
	held map[string]Freeze

	shared    store.Shared // freezes that hold for other machines too; nil for none
	revision  uint64       // of the shared text when it was last read
	all       map[string]Freeze
	published map[string]Freeze // freezes that the other machines know and that may still be in the file
}

// OpenFreezer returns the freezer whose state is in the file at path, which need not exist.
func OpenFreezer(path string) *Freezer { return &Freezer{path: path} }

// Share makes freezes hold on all machines that share the text, and returns f. Until Push, those in the file stay
// local.
func (f *Freezer) Share(text store.Shared) *Freezer {
	f.shared = text
	return f
}

// Below applies here what above has frozen as a whole, and returns f.
func (f *Freezer) Below(above *Freezer) *Freezer {
	f.above = above
	return f
}

// read returns what holds now, by session. With an error, more may hold than what it returns. The caller holds mu and
// MUST NOT change the map.
func (f *Freezer) read() (map[string]Freeze, error) {
	own, err := f.readFile()
	if f.shared == nil || err != nil {
		return own, err
	}
	own = f.withoutPublished(own)
	all, _, err := f.readShared()
	if len(own) == 0 {
		return all, err
	}
	held := maps.Clone(own)
	for id, one := range held {
		one.Here = true
		held[id] = one
	}
	for id, one := range all {
		if here, ok := held[id]; !ok || !here.outlasts(one) {
			held[id] = one
		}
	}
	return held, err
}

// withoutPublished returns own without the freezes that the other machines know: the shared text says whether those
// still hold. The caller holds mu.
func (f *Freezer) withoutPublished(own map[string]Freeze) map[string]Freeze {
	if len(f.published) == 0 {
		return own
	}
	left := map[string]Freeze{}
	for id, one := range own {
		if told, ok := f.published[id]; !ok || !told.same(one) {
			left[id] = one
		}
	}
	return left
}

// markPublished notes that the other machines know the freezes, and removes these from the file. The caller holds
// changing.
func (f *Freezer) markPublished(told map[string]Freeze) error {
	f.mu.Lock()
	if f.published == nil {
		f.published = map[string]Freeze{}
	}
	maps.Copy(f.published, told)
	f.mu.Unlock()
	err := f.changeFile(func(held map[string]Freeze) {
		for id, one := range f.published {
			if one.same(held[id]) { // else another process has frozen it anew
				delete(held, id)
			}
		}
	})
	if err == nil {
		f.mu.Lock()
		clear(f.published)
		f.mu.Unlock()
	}
	return err
}

// same reports whether the other is the same freeze, as a file keeps it.
func (f Freeze) same(other Freeze) bool {
	return f.SessionID == other.SessionID && f.Reason == other.Reason && f.By == other.By && f.At.Equal(other.At) && f.Until.Equal(other.Until)
}

// holds reports whether the freeze is not over.
func (f Freeze) holds(now time.Time) bool { return f.Until.IsZero() || now.Before(f.Until) }

// outlasts reports whether a freeze ends after the other.
func (f Freeze) outlasts(other Freeze) bool {
	return !other.Until.IsZero() && (f.Until.IsZero() || f.Until.After(other.Until))
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

// List returns what is frozen at a time; freezes of all sessions come first. On an error more may be frozen, and only
// reading goes through.
func (f *Freezer) List(now time.Time) (list []Freeze, err error) {
	if f == nil {
		return nil, nil
	}
	above, err := f.above.Of("", now)
	if above != nil {
		above.Above = true
		list = append(list, *above)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	held, failed := f.read()
	for _, id := range slices.Sorted(maps.Keys(held)) {
		if one := held[id]; one.holds(now) {
			list = append(list, one)
		}
	}
	return list, errors.Join(err, failed)
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
	for _, id := range []string{"", sessionID} {
		if one, ok := held[id]; ok && one.holds(now) {
			return &one, nil
		}
	}
	return nil, err
}

// Freeze freezes a session, or all sessions, from the next call of every process on. It does so even if record fails,
// and returns the error of record. If other machines cannot be told, it freezes this machine alone, and List says so.
func (f *Freezer) Freeze(one Freeze, record func(summary string) error) error {
	if !one.Until.IsZero() && !one.Until.After(one.At) {
		return Invalid(fmt.Errorf("%s is in the past: choose a later end of the freeze", one.Until.Format(time.RFC3339)))
	}
	if one.SessionID != "" && !isSessionID(one.SessionID) {
		return Invalid(fmt.Errorf("%q is not a session id, such as %s: nothing was frozen", one.SessionID, "s-ABCDEFGHIJKL"))
	}
	if len(one.Reason) > maxFreezeText {
		return Invalid(fmt.Errorf("the reason has %d bytes: shorten it to %d", len(one.Reason), maxFreezeText))
	}
	one.Here, one.Above = false, false
	f.changing.Lock()
	defer f.changing.Unlock()
	freeze := func(held map[string]Freeze) { held[one.SessionID] = one }
	here := f.changeFile(freeze)
	if f.shared == nil {
		if here != nil {
			return here
		}
		return record("Frozen: " + one.String())
	}
	switch away := f.changeShared(freeze); {
	case away == nil: // it holds here too; Push removes what tell leaves in the file
		_ = f.markPublished(map[string]Freeze{one.SessionID: one})
		return record("Frozen: " + one.String())
	case here != nil:
		return errors.Join(away, here)
	default:
		return record(fmt.Sprintf("Frozen on this machine alone, until the others can be told (%v): %s", away, one.String()))
	}
}

// Push shares the freezes that hold on this machine alone, and calls record for each. Without sharing it does nothing.
func (f *Freezer) Push(record func(one Freeze, summary string) error) error {
	if f == nil || f.shared == nil {
		return nil
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	f.mu.Lock()
	own, err := f.readFile()
	left := f.withoutPublished(own)
	f.mu.Unlock()
	if err != nil || len(own) == 0 {
		return err
	}
	if len(left) == 0 { // the file could not be changed before
		return f.markPublished(nil)
	}
	now := time.Now()
	if err := f.changeShared(func(held map[string]Freeze) {
		for id, one := range left {
			if other, ok := held[id]; one.holds(now) && (!ok || one.outlasts(other)) {
				held[id] = one
			}
		}
	}); err != nil {
		return err
	}
	for _, one := range left {
		if one.holds(now) {
			err = errors.Join(err, record(one, "All machines were told of the freeze: "+one.String()))
		}
	}
	return errors.Join(err, f.markPublished(left))
}

// Unfreeze ends the freeze of a session, or of all. It is on record before anything runs again. A freeze that could not
// be ended holds, and is never on record as ended.
func (f *Freezer) Unfreeze(sessionID string, record func(summary string) error) error {
	if err := f.endable(sessionID); err != nil {
		return err
	}
	what := frozenWhat(sessionID)
	f.changing.Lock()
	defer f.changing.Unlock()
	end := func(held map[string]Freeze) { delete(held, sessionID) }
	if f.shared == nil {
		if err := record("Ended the freeze of " + what + "."); err != nil {
			return err
		}
		if err := f.changeFile(end); err != nil {
			return errors.Join(err, record(fmt.Sprintf("That failed, and the freeze of %s is still in force: %v.", what, err)))
		}
		return nil
	}
	if err := record("Asked to end the freeze of " + what + "."); err != nil {
		return err
	}
	err := f.changeShared(end)
	if err == nil {
		err = f.changeFile(end)
	}
	if err != nil {
		err = fmt.Errorf("%w: the freeze of %s is not known to have ended: %w", ErrUnavailable, what, err)
		return errors.Join(err, record(fmt.Sprintf("The freeze of %s is not known to have ended: %v.", what, err)))
	}
	return record("Ended the freeze of " + what + ".")
}

// endable returns why a freeze of a session, or with "" of all sessions, cannot be ended here; nil if it can.
func (f *Freezer) endable(sessionID string) error {
	list, err := f.List(time.Now())
	if err != nil && f.shared != nil {
		return fmt.Errorf("%w: no freeze can be ended until the other machines can be told: %w", ErrUnavailable, err)
	}
	own := slices.ContainsFunc(list, func(one Freeze) bool { return one.SessionID == sessionID && !one.Above })
	if _, failed := f.above.Of("", time.Now()); failed != nil && !own {
		return fmt.Errorf("%w: whether the operator of all tenants has frozen them cannot be read: %w", ErrUnavailable, failed)
	}
	if err != nil || own {
		return nil // a file that cannot be read is replaced
	}
	err = fmt.Errorf("there is no freeze of %s", frozenWhat(sessionID))
	for _, one := range list {
		err = fmt.Errorf("%w; frozen: %s", err, frozenWhat(one.SessionID))
		if one.Above {
			err = fmt.Errorf("%w of all tenants, which only their operator ends", err)
		}
	}
	return Invalid(err)
}

func frozenWhat(sessionID string) string {
	if sessionID == "" {
		return "all sessions"
	}
	return "session " + sessionID
}

// changeFile rewrites the file, under a lock that all processes take, unless it stays empty. It replaces a file that
// cannot be read, and keeps everything frozen then. The caller holds changing.
func (f *Freezer) changeFile(edit func(map[string]Freeze)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return durable.Locked(f.path+".lock", func() error {
		held, err := f.readFile()
		if err != nil {
			held = map[string]Freeze{"": {By: "callgate", At: time.Now().UTC(), Reason: "what was frozen could not be read"}}
		}
		next := editFreezes(held, edit)
		if err == nil && len(held) == 0 && len(next) == 0 {
			return nil
		}
		text, err := encodeFreezes(next)
		if err != nil {
			return err
		}
		f.last = durable.Stamp{}
		return durable.Replace(f.path, text, 0o600)
	})
}

// changeShared changes what holds on all machines. It waits for them, but no call has to. The caller holds changing.
func (f *Freezer) changeShared(edit func(map[string]Freeze)) error {
	return store.WhileStale(func() error {
		f.mu.Lock()
		held, revision, err := f.readShared()
		f.mu.Unlock()
		if err != nil {
			return err
		}
		next := editFreezes(held, edit)
		if maps.Equal(held, next) {
			return nil
		}
		text, err := encodeFreezes(next)
		if err != nil {
			return err
		}
		return f.shared.Replace(revision, text)
	})
}

// editFreezes returns an edited copy without the freezes that are over.
func editFreezes(held map[string]Freeze, edit func(map[string]Freeze)) map[string]Freeze {
	next, now := map[string]Freeze{}, time.Now()
	for id, one := range held {
		if one.holds(now) {
			next[id] = one
		}
	}
	edit(next)
	return next
}

func encodeFreezes(held map[string]Freeze) ([]byte, error) {
	list := make([]Freeze, 0, len(held))
	for _, id := range slices.Sorted(maps.Keys(held)) {
		list = append(list, held[id])
	}
	text, err := json.MarshalIndent(list, "", "  ")
	return append(text, '\n'), err
}

// String describes the freeze, for people and for models.
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

// thenTell tells the model what to do about a freeze.
const thenTell = " Tell the user, and do not try another way."

// Told is String for people, who also need to know where the freeze holds and who can end it.
func (f Freeze) Told() string {
	switch {
	case f.Here:
		return f.String() + " It applies at this replica alone, until the others can be told."
	case f.Above:
		return f.String() + " It applies to all tenants, and only their operator can end it."
	}
	return f.String()
}

// frozen returns why a freeze stops the call, or "" if none does. No freeze stops calls that only read, on this machine
// or in the server's own data.
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

// Freeze freezes a session of this worker, or with "" all sessions of all processes.
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

// PushFreezes tells the other machines of freezes that hold on this one alone.
func (c Controls) PushFreezes() error {
	return c.gate.journal.o.Freezer.Push(func(one Freeze, summary string) error {
		return c.noteFreeze(one.SessionID, audit.Author{By: one.By}, summary)
	})
}

func (c Controls) noteFreeze(sessionID string, who audit.Author, summary string) error {
	g := c.gate
	err := g.Controls.Note(sessionID, who, summary)
	for _, info := range g.Sessions() { // so that people who watch see it at once
		g.journal.events.publish(SessionOpened{info})
	}
	return err
}

// Frozen returns what is frozen now.
func (c Controls) Frozen() ([]Freeze, error) { return c.gate.journal.o.Freezer.List(time.Now()) }

// frozenNow returns, for people who watch, what freezes a session now, or "" if nothing does.
func (j *journal) frozenNow(sessionID string) string {
	f, err := j.o.Freezer.Of(sessionID, time.Now())
	switch {
	case err != nil:
		return "whether calls are frozen cannot be read"
	case f != nil:
		return f.Told()
	}
	return ""
}

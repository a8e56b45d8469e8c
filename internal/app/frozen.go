package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/cluster"
	"callgate/internal/companion"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/permissions/store"
)

// Freezes holds what was frozen at one moment. If Unknown is an error, more may be frozen.
type Freezes struct {
	List    []gate.Freeze
	Unknown error
}

// Of returns the freeze that holds a session's calls, for gate.Judge.
func (f Freezes) Of(sessionID string, _ time.Time) (*gate.Freeze, error) {
	for i := range f.List {
		if one := &f.List[i]; one.SessionID == "" || one.SessionID == sessionID {
			return one, nil
		}
	}
	return nil, f.Unknown
}

// Frozen returns what is frozen for the worker: as the running callgate says, otherwise from the files and the cluster.
func Frozen(ctx context.Context, c *config.Config) Freezes {
	list, asked, err := frozenIn(ctx, c, c.Files())
	if asked || c.ServedFrom() == c.DataDir {
		return Freezes{list, err}
	}
	front := c.Files() // the tenant is not open, and its operator may have frozen it
	front.DataDir, front.Worker = c.ServedFrom(), config.DefaultWorker
	above, _, failed := frozenIn(ctx, c, front)
	for _, one := range above {
		if one.SessionID == "" {
			one.Above = true
			list = append([]gate.Freeze{one}, list...)
		}
	}
	return Freezes{list, errors.Join(err, failed)}
}

// askedWithin bounds how long a command asks a callgate that may be stopped, and a cluster that may be away.
const askedWithin = 5 * time.Second

// frozenIn asks the callgate of a data directory. If that does not answer, it reads the file, and in a cluster also
// what the replicas share.
func frozenIn(ctx context.Context, c *config.Config, of config.Files) (list []gate.Freeze, asked bool, err error) {
	asking, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	var said companion.Frozen
	silent := companionclient.Target{DataDir: of.DataDir, Credential: credentials.View}.Ask(asking, http.MethodGet, "/api/freeze", nil, &said)
	if silent == nil {
		return said.Frozen, true, said.Err()
	}
	if errors.Is(silent, wire.ErrNotRunning) {
		silent = nil
	}
	file := OpenFreezer(of.DataDir)
	switch {
	case c.Cluster.On():
		shared, done := freezesFromAfar(ctx, c, of)
		defer done()
		list, err = file.Share(shared).List(time.Now())
	default:
		list, err = file.List(time.Now())
		err = errors.Join(err, notAReplica(c))
	}
	if err != nil {
		err = errors.Join(err, silent)
	}
	return list, false, err
}

// freezesFromAfar returns the freezes that a worker's replicas share. If the cluster cannot be asked, reading them
// fails. The caller MUST call done, after reading.
func freezesFromAfar(ctx context.Context, c *config.Config, of config.Files) (shared store.Shared, done func()) {
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	one, err := lookAs(ctx, c, of, false)
	if err != nil {
		return unknownText{fmt.Errorf("the cluster's freezes apply, but cannot be read: %w: %w", gate.ErrUnavailable, err)}, cancel
	}
	return readText{ctx, sharedText{document: one.Document(documentFreeze)}}, func() { one.Close(); cancel() }
}

// unknownText is a shared text that cannot be read.
type unknownText struct{ err error }

func (u unknownText) Text() ([]byte, uint64, error) { return nil, 0, u.err }

func (u unknownText) Replace(uint64, []byte) error { return u.err }

// ToldLater reports whether the other replicas learn of a freeze only once a replica runs in this data directory.
func ToldLater(c *config.Config) bool { return c.Cluster.On() && !cluster.Runs(c.ServedFrom()) }

// DirFreezer freezes the calls of a data directory in which no gate runs, for a command or a hub without servers.
type DirFreezer struct{ DataDir string }

// Freeze puts a freeze in force and records it.
func (f DirFreezer) Freeze(one gate.Freeze, who audit.Author) error {
	one.By, one.At = who.By, time.Now().UTC()
	return OpenFreezer(f.DataDir).Freeze(one, f.record(one.SessionID, who))
}

// Unfreeze ends the freeze of a session, or the one of all sessions for "", and records that.
func (f DirFreezer) Unfreeze(sessionID string, who audit.Author) error {
	return OpenFreezer(f.DataDir).Unfreeze(sessionID, f.record(sessionID, who))
}

// record returns a function that writes to the audit trail, which all processes share.
func (f DirFreezer) record(sessionID string, who audit.Author) func(string) error {
	return func(summary string) (err error) {
		trail, err := audit.Open(audit.Dir(f.DataDir), audit.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, trail.Close()) }()
		_, err = trail.Append(audit.Record{Event: audit.Control, SessionID: sessionID, By: who.By, From: who.From, Summary: summary})
		return err
	}
}

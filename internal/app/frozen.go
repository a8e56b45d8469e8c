package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/cluster"
	"callgate/internal/companion"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
)

// Freezes are those that were found at one moment. If Unknown is an error, more may be frozen.
type Freezes struct {
	List    []gate.Freeze
	Unknown error
}

// Of is that of gate.Judge: the freeze that holds a session's calls.
func (f Freezes) Of(sessionID string, _ time.Time) (*gate.Freeze, error) {
	for i := range f.List {
		if one := &f.List[i]; one.SessionID == "" || one.SessionID == sessionID {
			return one, nil
		}
	}
	return nil, f.Unknown
}

// Frozen returns what is frozen for the worker: as the running callgate says, or the files when none runs.
func Frozen(ctx context.Context, c *config.Config) Freezes {
	list, asked, err := frozenIn(ctx, c.DataDir)
	if asked || c.ServedFrom() == c.DataDir {
		return Freezes{list, err}
	}
	above, _, failed := frozenIn(ctx, c.ServedFrom()) // the tenant is not open, and its operator may have frozen it
	for _, one := range above {
		if one.SessionID == "" {
			one.Above = true
			list = append([]gate.Freeze{one}, list...)
		}
	}
	return Freezes{list, errors.Join(err, failed)}
}

// askedWithin bounds asking a callgate that may be stopped.
const askedWithin = 5 * time.Second

// frozenIn asks the callgate of a data directory, or reads the file when there is none.
func frozenIn(ctx context.Context, dataDir string) (list []gate.Freeze, asked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	var said companion.Frozen
	err = companionclient.Target{DataDir: dataDir, Credential: credentials.View}.Ask(ctx, http.MethodGet, "/api/freeze", nil, &said)
	if err == nil {
		return said.Frozen, true, said.Err()
	}
	list, err = OpenFreezer(dataDir).List(time.Now())
	return list, false, err
}

// ToldLater reports whether nobody tells the other replicas of a freeze before a replica runs in this data directory.
func ToldLater(c *config.Config) bool { return c.Cluster.On() && !cluster.Runs(c.ServedFrom()) }

// DirFreezer freezes the calls of a data directory where no gate runs: by a command, or by a hub without servers.
type DirFreezer struct{ DataDir string }

// Freeze puts a freeze in force, and on record.
func (f DirFreezer) Freeze(one gate.Freeze, who audit.Author) error {
	one.By, one.At = who.By, time.Now().UTC()
	return OpenFreezer(f.DataDir).Freeze(one, f.record(one.SessionID, who))
}

// Unfreeze ends the freeze of a session, or that of all for "", on record.
func (f DirFreezer) Unfreeze(sessionID string, who audit.Author) error {
	return OpenFreezer(f.DataDir).Unfreeze(sessionID, f.record(sessionID, who))
}

// record writes to the audit trail that all processes share.
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

package app

import (
	"errors"
	"time"

	"callgate/audit"
	"callgate/gate"
)

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

package app

import (
	"errors"
	"fmt"
	"os"
	"os/user"

	"callgate/audit"
	"callgate/internal/config"
)

// Change makes and records a change from the command line. It does not call apply if the trail cannot be opened. If
// apply returns no summary, nothing is recorded.
func Change(c *config.Config, apply func() (summary string, err error)) (err error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("dataDir: %w", err)
	}
	log, err := audit.Open(audit.Dir(c.DataDir), audit.Options{})
	if err != nil {
		return fmt.Errorf("the change could not be recorded, so nothing was changed: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	summary, err := apply()
	if summary == "" {
		return err
	}
	_, recordErr := log.Append(audit.Record{Event: audit.Control, Worker: c.Worker, By: "cli:" + UserName(), Summary: summary})
	if recordErr != nil {
		recordErr = fmt.Errorf("the change was made, but could not be recorded: %w", recordErr)
	}
	return errors.Join(err, recordErr)
}

// UserName returns the name by which the audit trail knows the person at this terminal.
func UserName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "terminal"
}

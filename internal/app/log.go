package app

import (
	"fmt"
	"log/slog"
	"os"
)

// openLog sends the log to standard error, because standard output belongs to MCP, and to the log file. From then on, a
// reader of standard error can neither end nor block the process.
func (s *Sidecar) openLog() error {
	if s.front != nil {
		s.current.Store(s.config)
		s.log = s.front.log.With("tenant", s.config.Worker)
		return nil
	}
	OutlivePipes()
	s.level.Set(s.config.Level)
	s.current.Store(s.config)
	stderr := newSpool(os.Stderr)
	s.closers = append(s.closers, stderr.close)
	out := everyWriter{stderr}
	if s.config.LogFile != "" {
		file, err := os.OpenFile(s.config.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("logFile: %w", err)
		}
		s.closers = append(s.closers, file.Close)
		out = append(out, file)
	}
	s.log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: &s.level}))
	for _, slip := range s.config.MisspelledVariables(os.Environ()) {
		s.log.Warn(slip)
	}
	return nil
}

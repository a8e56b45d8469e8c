package app

import (
	"fmt"

	"callgate/audit"
	"callgate/internal/companion"
	"callgate/internal/hooks"
)

var _ companion.Hooks = backend{}

func (b backend) Hooks() []hooks.Status {
	known, err := b.s.config.KnownNames()
	if err != nil {
		b.s.log.Warn("which tools hooks can be for is not known", "error", err)
	}
	return b.s.config.HookRunner.List(known)
}

func (b backend) SetHook(name string, enabled bool, who audit.Author) error {
	if !b.s.config.HookRunner.Has(name) {
		return fmt.Errorf("%w: %q", hooks.ErrUnknown, name)
	}
	return b.change("", who, Switched(name, enabled), func() error { return b.s.config.HookRunner.SetEnabled(name, enabled) })
}

// Switched is what the audit trail says of a hook that somebody switched.
func Switched(name string, enabled bool) string {
	if enabled {
		return fmt.Sprintf("Switched the hook %s on.", name)
	}
	return fmt.Sprintf("Switched the hook %s off.", name)
}

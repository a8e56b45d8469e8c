package backend

import (
	"fmt"

	"callgate/audit"
	"callgate/internal/companion"
	"callgate/internal/config"
	"callgate/internal/hooks"
)

var _ companion.Hooks = (*Backend)(nil)

func (b *Backend) Hooks() []hooks.Status {
	known, err := config.KnownNames(b.Config)
	if err != nil {
		b.Log.Warn("which tools hooks can be for is not known", "error", err)
	}
	return b.Config.HookRunner.List(known)
}

func (b *Backend) SetHook(name string, enabled bool, who audit.Author) error {
	if !b.Config.HookRunner.Has(name) {
		return fmt.Errorf("%w: %q", hooks.ErrUnknown, name)
	}
	return b.change("", who, Switched(name, enabled), func() error { return b.Config.HookRunner.SetEnabled(name, enabled) })
}

// Switched is what the audit trail says of a hook that somebody switched.
func Switched(name string, enabled bool) string {
	if enabled {
		return fmt.Sprintf("Switched the hook %s on.", name)
	}
	return fmt.Sprintf("Switched the hook %s off.", name)
}

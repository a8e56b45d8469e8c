package backend

import (
	"fmt"

	"callgate/audit"
	"callgate/internal/config"
	"callgate/internal/hooks"
)

// hooksPart serves the worker's hooks.
type hooksPart struct{ b *Backend }

func (p hooksPart) Hooks() []hooks.Status {
	known, err := config.KnownNames(p.b.Config)
	if err != nil {
		p.b.Log.Warn("which tools hooks can be for is not known", "error", err)
	}
	return p.b.Config.HookRunner.List(known)
}

func (p hooksPart) SetHook(name string, enabled bool, who audit.Author) error {
	if !p.b.Config.HookRunner.Has(name) {
		return fmt.Errorf("%w: %q", hooks.ErrUnknown, name)
	}
	return p.b.change("", who, Switched(name, enabled), func() error { return p.b.Config.HookRunner.SetEnabled(name, enabled) })
}

// Switched returns the summary with which the audit trail records that somebody switched a hook on or off.
func Switched(name string, enabled bool) string {
	if enabled {
		return fmt.Sprintf("Switched the hook %s on.", name)
	}
	return fmt.Sprintf("Switched the hook %s off.", name)
}

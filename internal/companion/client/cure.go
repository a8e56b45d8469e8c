package client

import (
	"errors"
	"fmt"

	"callgate/internal/companion/wire"
)

// Cure adds what can be done about it.
func Cure(err error) error {
	switch {
	case errors.Is(err, wire.ErrNotRunning):
		return fmt.Errorf("%w\nStart a host: it starts callgate with its MCP servers. Or run \"callgate hub\" to look at the record and the rules without one.", err)
	case errors.Is(err, wire.ErrUnreachable):
		return fmt.Errorf("%w\nIt may have ended without cleaning up; start the host again, or name the right --address.", err)
	case errors.Is(err, wire.ErrImpostor):
		return fmt.Errorf("%w\nThe credential was not sent.", err)
	case errors.Is(err, wire.ErrNameTaken):
		return fmt.Errorf("%w\nShow it with --as.", err)
	case errors.Is(err, wire.ErrNoCredential):
		return fmt.Errorf("%w\nMake it with \"callgate credentials add\".", err)
	case errors.Is(err, wire.ErrVersion):
		return fmt.Errorf("%w\nUse the same version of callgate on both sides.", err)
	}
	return err
}

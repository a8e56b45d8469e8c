package client

import (
	"errors"
	"fmt"

	"callgate/internal/companion/wire"
)

// Cure adds advice to an error. Commands in it begin with program: "callgate", perhaps with a data directory.
func Cure(err error, program string) error {
	switch {
	case errors.Is(err, wire.ErrNotRunning):
		return fmt.Errorf("%w\nStart a host, which starts callgate. To look at records and rules without a host, run \"%s hub\".", err, program)
	case errors.Is(err, wire.ErrUnreachable):
		return fmt.Errorf("%w\nStart the host again, or name the right --address.", err)
	case errors.Is(err, wire.ErrImpostor):
		return fmt.Errorf("%w\nThe credential was not sent.", err)
	case errors.Is(err, wire.ErrNameTaken):
		return fmt.Errorf("%w\nShow it with --as.", err)
	case errors.Is(err, wire.ErrNoCredential):
		return fmt.Errorf("%w\nMake it with \"%s credentials add\" and that name.", err, program)
	case errors.Is(err, wire.ErrVersion):
		return fmt.Errorf("%w\nUse the same version of callgate on both sides.", err)
	}
	return err
}

// Package tui is the terminal approver, a client of the companion.
//
// It decides nothing, and nothing defaults to yes: Enter always takes the choice that lets nothing run. Keys count only
// after the keyboard has rested since a question appeared (quiet.go). An approval is taken only for arguments that were
// on the screen to their end (approval.go). Every string of a frame may come from the model or a server, and reaches
// the screen through shown alone (text.go).
package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"callgate/internal/companion/wire"
)

// Client is what the screen needs of a connection: *client.Client is one.
type Client interface {
	approver
	Events() <-chan wire.Event
}

// Ask makes one REST request of the companion at address: body is sent as JSON unless it is nil, and the answer read
// into answer unless that is nil. What the companion refuses is a *wire.RequestError.
type Ask func(ctx context.Context, address, method, path string, body, answer any) error

// Options say what Run shows, and how.
type Options struct {
	Client  Client
	Ask     Ask      // for what is asked by REST
	Watches []string // the sessions that the client follows; nil means all
	Once    bool     // end when the first approval that was shown is over
	Bell    bool     // ring the terminal's bell for each approval that comes in
	NoColor bool     // words and attributes alone; NO_COLOR in the environment does the same

	Input  io.Reader // nil means standard input
	Output io.Writer // nil means standard output
}

// Run shows the approver until the person leaves, ctx ends, the connection is gone for good, or, with Once,
// the first approval that was shown is over, whoever ended it. The caller closes the client afterwards.
func Run(ctx context.Context, o Options) (wire.Outcome, error) {
	within, cancel := context.WithCancel(ctx) // what was asked for by REST ends with the screen
	defer cancel()
	m := newModel(o.Client, o.Once, o.Bell)
	m.events = o.Client.Events()
	m.rest = &rest{ask: o.Ask, sessions: o.Watches}
	m.ctx = within
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()} // signals end ctx
	if o.Input != nil {
		options = append(options, tea.WithInput(o.Input))
	}
	if o.Output != nil {
		options = append(options, tea.WithOutput(o.Output))
	}
	if o.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	if _, err := tea.NewProgram(m, options...).Run(); err != nil && !(errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil) {
		return wire.Ended, err
	}
	return m.outcome, m.err
}

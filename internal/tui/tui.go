// Package tui is the terminal approver, a client of the companion.
//
// It decides nothing, and nothing defaults to yes: by default Enter denies or goes back. After a question appears, keys
// count only once the keyboard has rested (keys.go). A person can approve only after they have seen all arguments
// (decide.go). Every string in a frame may come from the model or a server, so it reaches the screen only through shown
// (text.go).
package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"callgate/internal/companion/wire"
)

// Client is a connection to the companion, such as *client.Client.
type Client interface {
	approver
	Events() <-chan wire.Event
}

// Ask sends one REST request to the companion at address. It sends body as JSON unless body is nil, and decodes the
// response into answer unless answer is nil. If the companion refuses, the error is a *wire.RequestError.
type Ask func(ctx context.Context, address, method, path string, body, answer any) error

// Options says what Run shows, and how.
type Options struct {
	Client  Client
	Ask     Ask      // sends REST requests
	Watches []string // the sessions that the client follows; nil means all
	Once    bool     // end after the first approval
	Bell    bool     // ring the terminal's bell for each new approval
	NoColor bool     // no colours, like NO_COLOR in the environment

	Input  io.Reader // nil means standard input
	Output io.Writer // nil means standard output
}

// Run shows the approver until the person leaves, ctx ends, or the connection is lost for good. With Once it also ends
// after the first approval that is over, no matter who answered. The caller closes the client afterwards.
func Run(ctx context.Context, o Options) (wire.Outcome, error) {
	within, cancel := context.WithCancel(ctx) // for REST requests, which end with the screen
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

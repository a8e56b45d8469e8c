package proxy

import "callgate/internal/rpc"

// Line carries messages to one host. Each transport has its own. All methods may be called by many goroutines at once;
// they may wait for a host that reads slowly, and MUST NOT wait for a host that is gone.
//
// Messages about a request of the host travel with that request: about is its id, as spelled, or nil for no request.
// Notify and Ask about a request come before its Respond, never after it.
type Line interface {
	// Respond sends the response to the request with that id; an id of nil stands for what could not be read.
	// A nil response says that there will be none, because the host took the request back.
	Respond(id, response []byte) error

	// Notify sends a notification.
	Notify(about, message []byte) error

	// Ask sends a request that compose makes for the id it is given. Label is a name for it where questions have
	// names, and may be "". The caller MUST Wait or Forget.
	Ask(about []byte, label string, compose func(id []byte) []byte) (*rpc.Pending, error)

	// Waits says that the request waits for a person: a host that could lose its connection meanwhile hears at once that
	// the request is being looked at.
	Waits(about []byte)

	// Hurry is called when the session ends: what is written from now on may take a moment and no longer.
	Hurry()
}

// View is the part of callgate that a host is shown. The zero value is everything.
type View struct {
	Server string // the alias of the one server that is shown, with its own names; "" shows all, with qualified ones
	Agent  string // profile that the session runs under; "" is the configured one
}

// shows reports whether the view has the server.
func (v View) shows(alias string) bool { return v.Server == "" || v.Server == alias }

// untouched reports whether names are shown as the server has them. Rules see qualified names all the same.
func (v View) untouched() bool { return v.Server != "" }

// server returns the host's server with that alias, nil when its view has none.
func (h *host) server(alias string) *server {
	for _, s := range h.servers {
		if s.alias == alias {
			return s
		}
	}
	return nil
}

package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/remote"
	"callgate/internal/rpc"
)

// Era is one of the two ways in which MCP is spoken. It is found out for each server, whatever its hosts speak.
type Era uint8

const (
	AnyEra Era = iota // not known: the server is asked
	Legacy            // a handshake begins a session; the revisions up to 2025-11-25
	Modern            // every request says all that the server needs to know; 2026-07-28
)

func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	}
	return ""
}

// ParseEra is the opposite of String; "auto" is AnyEra too.
func ParseEra(text string) (Era, error) {
	switch text {
	case "", "auto":
		return AnyEra, nil
	case "legacy":
		return Legacy, nil
	case "modern":
		return Modern, nil
	}
	return AnyEra, fmt.Errorf("era %q: use auto, legacy or modern", text)
}

const modernVersion = "2026-07-28"

const (
	// A server that does not answer what it does not know is offered the handshake after this.
	probePatience = 2 * time.Second

	// Servers learn to speak anew: what is known of one counts for so long.
	eraKept = 24 * time.Hour
)

// errDiedOfProbe says that the server ended when it was asked for its era: some take nothing before the handshake.
var errDiedOfProbe = errors.New("it ended when it was asked for its era")

// errOtherEra says that the server refuses the era that it was addressed in.
var errOtherEra = errors.New("it speaks another era of MCP")

// greet makes the server's acquaintance in the era that is expected of it.
func (in *incarnation) greet(ctx context.Context, hello Hello, era Era) (err error) {
	switch {
	case in.u.cfg.URL != "" && in.u.cfg.Transport == remote.SSE: // it is older than the other era
		err = in.initialize(ctx, hello)
	case era == Legacy:
		if err = in.initialize(ctx, hello); errors.Is(err, errOtherEra) && in.u.cfg.Era == AnyEra {
			err = in.discover(ctx, hello)
		}
	case in.u.cfg.Era == Modern:
		err = in.discover(ctx, hello)
	default:
		err = in.probe(ctx, hello)
	}
	if err == nil {
		in.greeted.Store(true)
	}
	return err
}

// greeting is the server's answer to one way of being greeted.
type greeting struct {
	era    Era
	answer rpc.Message
	err    error
}

// probe asks the server for its era, and offers it the handshake when it does not know the question, or does
// not answer it: servers that start slowly, and those that ignore what they do not know, look the same.
func (in *incarnation) probe(ctx context.Context, hello Hello) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	greetings := make(chan greeting, 2) // has room for both
	ask := func(era Era, method string, params []byte) {
		in.workers.Go(func() {
			answer, err := in.conn.Request(ctx, method, params)
			greetings <- greeting{era, answer, err}
		})
	}
	in.link.speak(modernVersion)
	ask(Modern, "server/discover", discoverParams(hello))
	offered := false
	offer := func() {
		if !offered {
			offered = true
			in.link.speak("")
			ask(Legacy, "initialize", initializeParams(hello))
		}
	}
	patience := time.NewTimer(probePatience)
	defer patience.Stop()
	for {
		select {
		case g := <-greetings:
			switch {
			case g.err != nil && ctx.Err() != nil:
				return context.Cause(ctx)
			case g.err != nil && in.isOver(g.err):
				if err := in.link.epitaph(noReason(g.err)); in.u.cfg.URL != "" {
					return err
				} else {
					return fmt.Errorf("%w: %w", errDiedOfProbe, err)
				}
			case g.era == Legacy:
				return in.accept(g.answer, g.err)
			}
			if err := in.acceptModern(g.answer, g.err, hello); err == nil {
				return nil
			}
			offer()
		case <-patience.C:
			offer()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isOver reports whether err ended the conversation, and not only the request.
func (in *incarnation) isOver(err error) bool {
	if errors.Is(err, rpc.ErrClosed) {
		return true
	}
	select {
	case <-in.read:
		return true
	default:
		return in.u.cfg.URL == "" && !isUnreadable(err)
	}
}

func isUnreadable(err error) bool {
	var unreadable *rpc.UnreadableError
	return errors.As(err, &unreadable)
}

// noReason returns nil for an error that says no more than that the conversation is over.
func noReason(err error) error {
	if errors.Is(err, rpc.ErrClosed) {
		return nil
	}
	return err
}

// discover greets a server that is known to be modern.
func (in *incarnation) discover(ctx context.Context, hello Hello) error {
	in.link.speak(modernVersion)
	m, err := in.converse(ctx, "server/discover", discoverParams(hello))
	if err != nil {
		return err
	}
	return in.acceptModern(m, nil, hello)
}

// acceptModern takes the answer to server/discover.
func (in *incarnation) acceptModern(m rpc.Message, err error, hello Hello) error {
	switch {
	case err != nil:
		return err
	case m.Error != nil:
		return fmt.Errorf("it refuses server/discover: %s", excerpt(m.Error))
	}
	info, err := readInfo(m.Result)
	if err != nil {
		return fmt.Errorf("its answer to server/discover is malformed: %w", err)
	}
	if info.ProtocolVersion != modernVersion {
		return fmt.Errorf("it does not speak MCP %s: %w", modernVersion, errOtherEra)
	}
	in.info, in.modern = info, newModern(hello)
	return nil
}

// discoverParams are what every modern request says of the host, and nothing else.
func discoverParams(hello Hello) []byte { return newModern(hello).describe(nil) }

// refusesAnyHandshake reports whether a server behind a URL turned the handshake away before it read it, as some do
// that speak the other era alone, and others that are no MCP server.
func refusesAnyHandshake(err error) bool {
	var status *remote.StatusError
	return errors.As(err, &status) && status.Code/100 == 4
}

// refusesLegacy reports whether the error to initialize is one of a server that has no handshake.
func refusesLegacy(fault []byte) bool {
	var code [1]jsonx.Member
	if jsonx.Members(fault, []string{"code"}, code[:]) != nil {
		return false
	}
	return slices.Contains([]string{"-32601", "-32022", "-32602", "-32020"}, string(code[0].Value))
}

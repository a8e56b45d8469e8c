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

// Era is one of the two ways to speak MCP. callgate detects it for each server, independently of the hosts.
type Era uint8

const (
	AnyEra Era = iota // unknown: callgate asks the server
	Legacy            // a handshake begins a session; the revisions up to 2025-11-25
	Modern            // every request carries all that the server needs to know; 2026-07-28
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

// ParseEra is the inverse of String; "auto" is AnyEra too.
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
	// callgate offers the handshake after this time, because some servers do not answer unknown methods.
	probePatience = 2 * time.Second

	// A server gets longer if it answered the last time, or if it has an address and so can refuse an unknown method.
	knownPatience = 20 * time.Second

	// A server that answered the question after the handshake was offered has this long to answer the offer.
	offerPatience = 10 * time.Second

	// callgate waits at most this long for an answer that came before but is heard later.
	lateness = 100 * time.Millisecond

	// Servers change, so callgate remembers an era for this long.
	eraKept = 24 * time.Hour
)

// errDiedOfProbe is returned if the server ended when it was asked for its era. Some accept nothing before the
// handshake.
var errDiedOfProbe = errors.New("it ended when it was asked for its era")

// errDiedOfHandshake is returned if the server told its era, but then ended when it was offered the handshake.
var errDiedOfHandshake = errors.New("it ended at the handshake of another era")

// errOtherEra is returned if the server refuses the era that it was addressed in.
var errOtherEra = errors.New("it speaks another era of MCP")

// greeter finds out the era of a server and greets it.
type greeter struct {
	in    *incarnation
	hello Hello

	// Used while the server's era is unknown:
	greetings chan greeting
	open      int       // answers that are still to come
	again     bool      // the question was asked a second time
	offered   bool      // the handshake was offered
	told      *greeting // the answer to the question, if it came after the offer
}

// greet greets the server in its expected era.
func (g *greeter) greet(ctx context.Context, era Era) (err error) {
	switch {
	case g.in.u.cfg.URL != "" && g.in.u.cfg.terms.Transport == remote.SSE: // this transport is older than modern servers
		err = g.initialize(ctx)
	case era == Legacy:
		if err = g.initialize(ctx); errors.Is(err, errOtherEra) && g.in.u.cfg.terms.Era == AnyEra {
			err = g.discover(ctx)
		}
	case g.in.u.cfg.terms.Era == Modern:
		err = g.discover(ctx)
	default:
		patient := probePatience
		if era == Modern || g.in.u.cfg.URL != "" {
			patient = knownPatience
		}
		err = g.probe(ctx, patient)
	}
	if err == nil {
		g.in.greeted.Store(true)
	}
	return err
}

// greeting is the server's answer to one greeting.
type greeting struct {
	era    Era
	answer rpc.Message
	err    error
}

// probe asks the server for its era. It offers the handshake if the server does not know the question, or does not
// answer it within patient: slow servers, and those that ignore unknown methods, look the same. A server that answers
// both is taken to be legacy, because some keep to what they were told last.
func (g *greeter) probe(ctx context.Context, patient time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.greetings = make(chan greeting, 3) // buffered for all
	g.in.link.speak(modernVersion)
	g.ask(ctx, Modern, "server/discover", discoverParams(g.hello))
	patience := time.NewTimer(patient)
	defer patience.Stop()
	for {
		select {
		case heard := <-g.greetings:
			g.open--
			switch {
			case heard.err != nil && ctx.Err() != nil:
				return context.Cause(ctx)
			case heard.err != nil && g.isOver(heard.err):
				g.hearLate()
				return g.died(heard.err, g.told != nil)
			case heard.era == Modern && g.offered:
				g.told = &heard
				patience.Reset(offerPatience)
			case heard.era == Modern:
				if g.modern(ctx, heard) {
					return nil
				}
			default:
				err := g.accept(heard.answer, heard.err)
				if err != nil {
					g.hearLate()
					if g.toldModern() {
						return nil
					}
				}
				return err
			}
		case <-patience.C:
			if g.toldModern() {
				return nil // the server ignores the handshake
			}
			if !g.offered {
				g.offer(ctx)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hearLate waits for an answer to the question for the era that came before the handshake failed. Each answer has its
// own goroutine, so the later one may be heard first.
func (g *greeter) hearLate() {
	late := time.NewTimer(lateness)
	defer late.Stop()
	for g.told == nil && g.open > 0 {
		select {
		case heard := <-g.greetings:
			g.open--
			if heard.err == nil && heard.era == Modern {
				g.told = &heard
			}
		case <-late.C:
			return
		}
	}
}

func (g *greeter) ask(ctx context.Context, era Era, method string, params []byte) {
	g.open++
	g.in.workers.Go(func() {
		answer, err := g.in.conn.Request(ctx, method, params)
		g.greetings <- greeting{era, answer, err}
	})
}

func (g *greeter) offer(ctx context.Context) {
	g.offered = true
	g.in.link.speak("")
	g.ask(ctx, Legacy, "initialize", initializeParams(g.hello))
}

// modern reports whether the answer to the question settles the era. Otherwise it asks once more, or offers the
// handshake.
func (g *greeter) modern(ctx context.Context, heard greeting) bool {
	if g.acceptModern(heard.answer, heard.err) == nil {
		return true
	}
	if heard.err == nil && !g.again && wantsModern(heard.answer.Error) {
		g.again = true
		g.ask(ctx, Modern, "server/discover", discoverParams(g.hello))
		return false
	}
	g.offer(ctx)
	return false
}

// toldModern reports whether an answer that came after the offer settles the era.
func (g *greeter) toldModern() bool {
	return g.told != nil && g.acceptModern(g.told.answer, g.told.err) == nil
}

// died returns the error for a conversation that ended before the server was greeted. told says that the server had
// answered the question for its era. The next start can then skip the step that ended it.
func (g *greeter) died(cause error, told bool) error {
	err := g.in.link.epitaph(noReason(cause))
	switch {
	case g.in.u.cfg.URL != "":
		return err
	case told:
		return fmt.Errorf("%w: %w", errDiedOfHandshake, err)
	}
	return fmt.Errorf("%w: %w", errDiedOfProbe, err)
}

// isOver reports whether err ended the whole conversation, not only the request.
func (g *greeter) isOver(err error) bool {
	if errors.Is(err, rpc.ErrClosed) {
		return true
	}
	select {
	case <-g.in.read:
		return true
	default:
		return g.in.u.cfg.URL == "" && !isUnreadable(err)
	}
}

func isUnreadable(err error) bool {
	_, ok := errors.AsType[*rpc.UnreadableError](err)
	return ok
}

// noReason returns nil for an error that only says that the conversation is over.
func noReason(err error) error {
	if errors.Is(err, rpc.ErrClosed) {
		return nil
	}
	return err
}

// discover greets a server that is known to be modern.
func (g *greeter) discover(ctx context.Context) error {
	g.in.link.speak(modernVersion)
	m, err := g.converse(ctx, "server/discover", discoverParams(g.hello))
	if err == nil && wantsModern(m.Error) {
		m, err = g.converse(ctx, "server/discover", discoverParams(g.hello))
	}
	if err != nil {
		return err
	}
	return g.acceptModern(m, nil)
}

// acceptModern handles the answer to server/discover.
func (g *greeter) acceptModern(m rpc.Message, err error) error {
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
	g.in.link.speak(modernVersion)
	g.in.info, g.in.modern = info, newModern(g.hello)
	return nil
}

// discoverParams returns the part that every modern request says about the host, and nothing else.
func discoverParams(hello Hello) []byte { return newModern(hello).describe(nil) }

// wantsModern reports whether a server refused the revision of a request but lists that same revision as supported. A
// server that is changing over may do so, and wants to be asked again.
func wantsModern(fault []byte) bool {
	var m, data [2]jsonx.Member
	if fault == nil || jsonx.Members(fault, []string{"code", "data"}, m[:]) != nil || string(m[0].Value) != "-32022" || m[1].Value == nil ||
		jsonx.Members(m[1].Value, []string{"supported"}, data[:1]) != nil {
		return false
	}
	version, ok := speaks(data[0].Value)
	return ok && version == modernVersion
}

// refusesAnyHandshake reports whether a server behind a URL refused the handshake before reading it. Servers that speak
// only the modern era may do so, as do addresses that are no MCP server.
func refusesAnyHandshake(err error) bool {
	status, ok := errors.AsType[*remote.StatusError](err)
	return ok && status.Code/100 == 4
}

// refusesLegacy reports whether the error to initialize shows that the server has no handshake.
func refusesLegacy(fault []byte) bool {
	return slices.Contains([]string{"-32601", "-32022", "-32602", "-32020"}, string(jsonx.At(fault, "code")))
}

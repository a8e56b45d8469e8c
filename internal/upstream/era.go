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

// Era is one of the two ways to speak MCP. callgate finds it out for each server, whatever the hosts speak.
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
	// callgate offers the handshake after this time, because some servers do not answer what they do not know.
	probePatience = 2 * time.Second

	// A server gets longer if it answered the last time, or if it has an address and so can say that it does not know.
	knownPatience = 20 * time.Second

	// A server that answered the question after the offer of the handshake has this long to answer the offer.
	offerPatience = 10 * time.Second

	// An answer that came first is heard so much later at most.
	lateness = 100 * time.Millisecond

	// Servers change, so callgate remembers an era for this long.
	eraKept = 24 * time.Hour
)

// errDiedOfProbe says that the server ended when it was asked for its era: some take nothing before the handshake.
var errDiedOfProbe = errors.New("it ended when it was asked for its era")

// errDiedOfHandshake says that the server ended when it was offered the handshake, after it had told its era.
var errDiedOfHandshake = errors.New("it ended at the handshake of another era")

// errOtherEra says that the server refuses the era that it was addressed in.
var errOtherEra = errors.New("it speaks another era of MCP")

// greeter makes the acquaintance of a server.
type greeter struct {
	in    *incarnation
	hello Hello

	// While it is not known which era the server speaks:
	greetings chan greeting
	open      int       // greetings that are to come
	again     bool      // the question was put a second time
	offered   bool      // the handshake was
	told      *greeting // the answer to the question, when it came after the offer
}

// greet greets the server in the era that callgate expects of it.
func (g *greeter) greet(ctx context.Context, era Era) (err error) {
	switch {
	case g.in.u.cfg.URL != "" && g.in.u.cfg.terms.Transport == remote.SSE: // it is older than the other era
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

// greeting is the server's answer to one way of being greeted.
type greeting struct {
	era    Era
	answer rpc.Message
	err    error
}

// probe asks the server for its era, and offers it the handshake when it does not know the question, or does not answer
// it for so long: servers that start slowly, and those that ignore what they do not know, look the same. One that
// answers both is met in the legacy era then, because some keep to what they were told last.
func (g *greeter) probe(ctx context.Context, patient time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.greetings = make(chan greeting, 3) // has room for all
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
				return nil // it ignores the handshake
			}
			if !g.offered {
				g.offer(ctx)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hearLate hears the answer to the question for the era that came before the handshake failed: each answer has a
// goroutine of its own, so the later one may be heard first.
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

// modern reports whether the answer to the question settles the era. Else the question is put once more, or the
// handshake offered.
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
// answered the question for its era, so that the next start can skip the step that ended it.
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

// isOver reports whether err ended the conversation, and not only the request.
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

// noReason returns nil for an error that says no more than that the conversation is over.
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

// acceptModern takes the answer to server/discover.
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

// discoverParams are what every modern request says of the host, and nothing else.
func discoverParams(hello Hello) []byte { return newModern(hello).describe(nil) }

// wantsModern reports whether a server refused the revision that it was asked in, and says that it is one that it
// speaks: servers that change may, and mean that they are to be asked again.
func wantsModern(fault []byte) bool {
	var m, data [2]jsonx.Member
	if fault == nil || jsonx.Members(fault, []string{"code", "data"}, m[:]) != nil || string(m[0].Value) != "-32022" || m[1].Value == nil ||
		jsonx.Members(m[1].Value, []string{"supported"}, data[:1]) != nil {
		return false
	}
	version, ok := speaks(data[0].Value)
	return ok && version == modernVersion
}

// refusesAnyHandshake reports whether a server behind a URL turned the handshake away before it read it, as some do
// that speak the other era alone, and others that are no MCP server.
func refusesAnyHandshake(err error) bool {
	status, ok := errors.AsType[*remote.StatusError](err)
	return ok && status.Code/100 == 4
}

// refusesLegacy reports whether the error to initialize is one of a server that has no handshake.
func refusesLegacy(fault []byte) bool {
	return slices.Contains([]string{"-32601", "-32022", "-32602", "-32020"}, string(jsonx.At(fault, "code")))
}

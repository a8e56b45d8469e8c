package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"callgate/internal/interned"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Versions lists the revisions of MCP that begin with a handshake, oldest first.
var Versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// Info is what a server says about itself when it is greeted. The slices are parts of Raw; nobody may change them.
type Info struct {
	ProtocolVersion string
	Capabilities    []byte // an object
	ServerInfo      []byte // nil if absent, like Instructions
	Instructions    []byte // a JSON string
	Raw             []byte // the whole result of initialize or server/discover

	declares [len(Kinds)]bool
}

// Declares reports whether the server has lists of the kind.
func (i *Info) Declares(k Kind) bool { return i.declares[k] }

// infos holds what all servers say about themselves. Equal texts are kept once.
var infos interned.Map[[sha256.Size]byte, Info]

// readInfo reads the result of initialize or of server/discover.
func readInfo(result []byte) (*Info, error) {
	result = bytes.Clone(result) // the message that it is part of may be longer
	info, err := parseInfo(result)
	if err != nil {
		return nil, err
	}
	return infos.Get(sha256.Sum256(result), func() *Info { return info }), nil
}

func parseInfo(result []byte) (*Info, error) {
	var m [6]jsonx.Member
	if err := jsonx.Members(result, []string{"protocolVersion", "capabilities", "serverInfo", "instructions", "supportedVersions", "_meta"}, m[:]); err != nil {
		return nil, err
	}
	version, ok := jsonx.String(m[0].Value)
	if !ok {
		if version, ok = speaks(m[4].Value); !ok {
			return nil, errors.New("it names no protocol version")
		}
	}
	info := &Info{ProtocolVersion: version, Capabilities: m[1].Value, ServerInfo: m[2].Value, Raw: result}
	if info.ServerInfo == nil {
		info.ServerInfo = jsonx.At(m[5].Value, "io.modelcontextprotocol/serverInfo")
	}
	if _, ok := jsonx.String(m[3].Value); ok {
		info.Instructions = m[3].Value
	}
	names := make([]string, len(Kinds))
	for _, k := range Kinds {
		names[k] = k.capability()
	}
	var declared [len(Kinds)]jsonx.Member
	if err := jsonx.Members(info.Capabilities, names, declared[:]); err != nil {
		return nil, fmt.Errorf("its capabilities are malformed: %w", err)
	}
	for _, k := range Kinds {
		i := slices.Index(names, names[k]) // two kinds share one capability; the first index has it
		info.declares[k] = bytes.HasPrefix(declared[i].Value, []byte("{"))
	}
	return info, nil
}

// speaks returns from a list of revisions the one that callgate speaks without a handshake, or else the first.
func speaks(versions []byte) (version string, ok bool) {
	var all []string
	if json.Unmarshal(versions, &all) != nil || len(all) == 0 {
		return "", false
	}
	if slices.Contains(all, modernVersion) {
		return modernVersion, true
	}
	return all[0], true
}

// initialize makes the handshake.
func (g *greeter) initialize(ctx context.Context) error {
	g.in.link.speak("")
	m, err := g.converse(ctx, "initialize", initializeParams(g.hello))
	if err != nil {
		return err
	}
	if m.Error == nil && g.reconsider(ctx) {
		return nil
	}
	return g.accept(m, nil)
}

// accept handles the answer to initialize and completes the handshake.
func (g *greeter) accept(m rpc.Message, err error) error {
	switch {
	case err != nil:
		return g.in.link.epitaph(err)
	case m.Error != nil && refusesLegacy(m.Error):
		return fmt.Errorf("it refuses the handshake: %s (%w)", excerpt(m.Error), errOtherEra)
	case m.Error != nil:
		return fmt.Errorf("it refuses the handshake: %s", excerpt(m.Error))
	}
	info, err := readInfo(m.Result)
	if err != nil {
		return fmt.Errorf("its answer to the handshake is malformed: %w", err)
	}
	if !slices.Contains(Versions, info.ProtocolVersion) {
		return fmt.Errorf("it speaks MCP %.20q, which callgate does not", info.ProtocolVersion)
	}
	g.in.link.speak(info.ProtocolVersion)
	if err := g.in.conn.Write(rpc.Request(nil, "notifications/initialized", nil)); err != nil {
		return g.in.link.epitaph(err)
	}
	g.in.info = info
	return nil
}

// converse sends a request of the handshake, which must not be cancelled, and waits for the response.
func (g *greeter) converse(ctx context.Context, method string, params []byte) (rpc.Message, error) {
	m, err := g.in.conn.Request(ctx, method, params)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return rpc.Message{}, context.Cause(ctx)
	case errors.Is(err, rpc.ErrClosed):
		err = nil
	}
	return rpc.Message{}, g.in.link.epitaph(err)
}

// lines returns the host's capabilities and its description, each on one line.
func (h *Hello) lines() (capabilities, client []byte) {
	if capabilities = oneLine(h.Capabilities); capabilities == nil {
		capabilities = []byte("{}")
	}
	if client = oneLine(h.ClientInfo); client == nil {
		client = []byte(`{"name":"callgate","version":"0"}`)
	}
	return capabilities, client
}

func initializeParams(hello Hello) []byte {
	capabilities, client := hello.lines()
	b := append([]byte(`{"protocolVersion":`), jsonx.Quote(hello.ProtocolVersion)...)
	b = append(append(b, `,"capabilities":`...), capabilities...)
	b = append(append(b, `,"clientInfo":`...), client...)
	return append(b, '}')
}

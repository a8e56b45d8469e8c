package proxy

import (
	"bytes"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// StatelessVersion is the first revision of MCP that has neither a handshake nor sessions.
const StatelessVersion = "2026-07-28"

// metaVersion is the member of _meta that makes a message one of the stateless revisions.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// IsStateless reports whether the message is one of a stateless revision. It is decided for each message anew.
func IsStateless(m rpc.Message) bool {
	if !bytes.Contains(m.Params, []byte("protocolVersion")) && bytes.IndexByte(m.Params, '\\') < 0 {
		return false // nor is it there in other letters: names can be spelled with escapes
	}
	var meta, version [1]jsonx.Member
	return m.Method != "initialize" && jsonx.Members(m.Params, []string{"_meta"}, meta[:]) == nil && meta[0].Value != nil &&
		jsonx.Members(meta[0].Value, []string{metaVersion}, version[:]) == nil && version[0].Value != nil
}

// Package docs carries those pages of the documentation that callgate serves itself.
package docs

import _ "embed"

// ProtocolSchema is the JSON Schema (draft 2020-12) of the side protocol: every frame, and every body of its REST.
//
//go:embed protocol.schema.json
var ProtocolSchema []byte

// Package docs embeds the schema of the side protocol.
package docs

import _ "embed"

// ProtocolSchema is the JSON Schema (draft 2020-12) of the side protocol: every frame, and every body of its REST API.
//
//go:embed protocol.schema.json
var ProtocolSchema []byte

// Package jsoniter provides the part of github.com/json-iterator/go that bleve's geographic shapes need. It uses
// encoding/json, whose results the original promises to have in this configuration. The original holds types by
// reflection from its start, which keeps every method of every type in the binary: six megabytes for shapes that
// callgate never reads.
package jsoniter

import "encoding/json"

// ConfigCompatibleWithStandardLibrary encodes and decodes as encoding/json does.
var ConfigCompatibleWithStandardLibrary api

type api struct{}

// Marshal calls json.Marshal.
func (api) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal calls json.Unmarshal.
func (api) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

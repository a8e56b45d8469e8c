// Package jsoniter is as much of github.com/json-iterator/go as bleve's geographic shapes need, on encoding/json, whose
// results it promises to have in this configuration. The original holds types by reflection from its start on, which
// keeps every method of every type in the binary: six megabytes for shapes that callgate never reads.
package jsoniter

import "encoding/json"

// ConfigCompatibleWithStandardLibrary encodes and decodes as encoding/json does.
var ConfigCompatibleWithStandardLibrary api

type api struct{}

// Marshal is json.Marshal.
func (api) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal is json.Unmarshal.
func (api) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

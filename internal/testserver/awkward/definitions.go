package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// toolList returns the result of tools/list. After a call of change_definition, echo has another description.
func (s *server) toolList() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := originalList
	if s.changed {
		list = changedList
	}
	if s.tasks {
		list = bytes.Replace(list, []byte(`"tools":[`), []byte(`"tools":[`+taskTools), 1)
	}
	for _, name := range s.more {
		tool := fmt.Appendf(nil, `"tools":[{"name":%s,"inputSchema":{"type":"object"}},`, quote(name))
		list = bytes.Replace(list, []byte(`"tools":[`), tool, 1)
	}
	return list
}

var (
	originalList = compact(toolsJSON)
	changedList  = bytes.Replace(originalList, []byte(`"Answers its own params`), []byte(`"CHANGED. Answers its own params`), 1)
)

const toolsJSON = `{
	"tools": [
		{
			"name": "echo",
			"title": "\u0045cho",
			"description": "Answers its own params, as the bytes that arrived, in structuredContent",
			"inputSchema": {"type": "object"},
			"annotations": {"readOnlyHint": true, "x-unknown": "kept"},
			"execution": {"taskSupport": "forbidden", "x-unknown": 1.0},
			"icons": [{"src": "data:,", "mimeType": "text\/plain", "sizes": [], "theme": "dark", "x-unknown": {}}],
			"_meta": {"vendor.example/order": {"z": 1, "a": 2, "m": 3}, "n": 9007199254740993},
			"x-unknown": {"deep": {"deeper": [1.0, -0, 1e400, 0.1e1]}}
		},
		{
			"name": "every_keyword",
			"description": "A schema with every keyword of JSON Schema 2020-12, and older ones",
			"inputSchema": {
				"$schema": "https:\/\/json-schema.org\/draft\/2020-12\/schema",
				"$id": "awkward:schema",
				"$vocabulary": {"https://example.invalid/vocabulary": false},
				"$anchor": "top",
				"$dynamicAnchor": "node",
				"$comment": "\u0063omment",
				"$defs": {"positive": {"type": "number", "exclusiveMinimum": 0.0}, "\/slash": true},
				"definitions": {"old": {"type": ["string", "null"]}},
				"type": "object",
				"title": "T", "description": "D", "default": {}, "examples": [{"a": 1.0}],
				"deprecated": false, "readOnly": false, "writeOnly": false,
				"properties": {
					"zulu": {"$ref": "#/$defs/positive"},
					"alpha": {"$dynamicRef": "#node"},
					"old": {"$ref": "#/definitions/old"},
					"text": {"type": "string", "minLength": 0, "maxLength": 9007199254740993, "pattern": "^\\p{L}+$", "format": "uuid", "contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": {"type": "object"}},
					"number": {"type": "integer", "multipleOf": 1.0, "minimum": -0, "maximum": 1e400, "exclusiveMaximum": 12345678901234567890},
					"list": {"type": "array", "prefixItems": [true], "items": false, "contains": {"const": null}, "minContains": 0, "maxContains": 1, "minItems": 0, "maxItems": 2, "uniqueItems": true, "unevaluatedItems": false},
					"choice": {"enum": ["a", null, 1.0, {"k": []}]},
					"yes": true,
					"": {"x-unknown-keyword": {"z": 1, "a": 2}}
				},
				"patternProperties": {"^x-": {}},
				"propertyNames": {"maxLength": 64},
				"additionalProperties": {"not": {"type": "null"}},
				"unevaluatedProperties": false,
				"required": [],
				"minProperties": 0, "maxProperties": 100,
				"dependentRequired": {"zulu": ["alpha"]},
				"dependentSchemas": {"alpha": {"required": ["zulu"]}},
				"dependencies": {"zulu": ["alpha"]},
				"allOf": [{}], "anyOf": [true, {}], "oneOf": [{}],
				"not": {"required": ["never"]},
				"if": {"required": ["zulu"]}, "then": true, "else": {}
			},
			"outputSchema": {"items": {"type": "integer"}, "minItems": 1, "x-unknown": 1}
		},
		{"name": "unknown_content", "description": "Content types, fields and a result type that nobody knows yet", "inputSchema": {"type": "object"}},
		{"name": "numbers", "description": "Numbers that no float64 holds, and spellings that no encoder writes", "inputSchema": {"type": "object"}},
		{"name": "escapes", "description": "Escapes of every kind", "inputSchema": {"type": "object"}},
		{"name": "is_error", "description": "A result that says isError:true", "inputSchema": {"type": "object"}},
		{"name": "is_no_error", "description": "A result that says isError:false", "inputSchema": {"type": "object"}},
		{"name": "bare", "description": "A result without content", "inputSchema": {"type": "object"}},
		{"name": "ask_in_result", "description": "A result that asks, as those of the next era do", "inputSchema": {"type": "object"}},
		{"name": "fail", "description": "A JSON-RPC error with a code of its own and data whose order matters", "inputSchema": {"type": "object"}},
		{"name": "envelope", "description": "A response with unknown members beside the result", "inputSchema": {"type": "object"}},
		{"name": "crash", "description": "Ends the server in the middle of the call, half an answer written", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}},
		{"name": "big", "description": "Answers 1 MiB of text", "inputSchema": {"type": "object"}},
		{"name": "slow", "description": "Takes ms milliseconds and sends progress in steps; the client may cancel it", "inputSchema": {"type": "object", "properties": {"ms": {"type": "integer"}, "steps": {"type": "integer"}}}},
		{"name": "cancelled", "description": "Answers the params of every notifications/cancelled that came so far", "inputSchema": {"type": "object"}},
		{"name": "ask_sampling", "description": "Asks the client for a completion and answers with what came back", "inputSchema": {"type": "object"}},
		{"name": "ask_elicitation", "description": "Asks the person and answers with what came back", "inputSchema": {"type": "object"}},
		{"name": "ask_roots", "description": "Asks the client for its roots and answers with what came back", "inputSchema": {"type": "object"}},
		{"name": "echo_env", "description": "Answers the sorted names of its environment variables", "inputSchema": {"type": "object"}},
		{"name": "change_definition", "description": "Changes the description of echo and says so by list_changed", "inputSchema": {"type": "object"}}
	],
	"ttlMs": 0,
	"cacheScope": "private",
	"x-unknown": {"z": 1, "a": 2},
	"_meta": {"vendor.example/list": 1.0}
}`

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// compact removes the white space from text and changes nothing else. It panics if text is not JSON, which only the
// constants of this package can cause.
func compact(text string) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		panic(fmt.Sprintf("awkward: %v in %s", err, text))
	}
	return b.Bytes()
}

// fixedAnswers holds the results of all methods but initialize, tools/list and tools/call.
var fixedAnswers = map[string]json.RawMessage{
	"ping":                     compact(`{}`),
	"logging/setLevel":         compact(`{"x-unknown": 1.0}`),
	"resources/subscribe":      compact(`{"_meta": {}}`),
	"resources/unsubscribe":    compact(`{}`),
	"completion/complete":      compact(completion),
	"prompts/list":             compact(prompts),
	"prompts/get":              compact(prompt),
	"resources/list":           compact(resources),
	"resources/read":           compact(resource),
	"resources/templates/list": compact(templates),
}

// fixed returns the result of a method that is not a tool call; ok is false for an unknown method.
func (s *server) fixed(m message) (json.RawMessage, bool) {
	switch m.Method {
	case "initialize":
		if s.tasks {
			return withTasks(initialized(m.Params)), true
		}
		return initialized(m.Params), true
	case "tools/list":
		return s.toolList(), true
	}
	result, ok := fixedAnswers[m.Method]
	return result, ok
}

// initialized answers the handshake in the revision that the client asks for, or in the oldest if it names none.
func initialized(params json.RawMessage) json.RawMessage {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(params, &p) != nil || p.Version == "" {
		p.Version = "2024-11-05"
	}
	return compact(fmt.Sprintf(initialize, p.Version))
}

const initialize = `{
	"protocolVersion": %q,
	"capabilities": {
		"tools": {"listChanged": true, "x-unknown": [1e400, -0]},
		"prompts": {"listChanged": false},
		"resources": {"subscribe": true, "listChanged": true},
		"completions": {},
		"logging": {},
		"experimental": {"vendor.example/of-tomorrow": {"depth": 9007199254740993}},
		"x-unknown-capability": {}
	},
	"serverInfo": {
		"name": "awkward",
		"version": "1.0",
		"title": "\u0041wkward \/ \ud83d\ude80",
		"icons": [{"src": "data:image\/png;base64,AA==", "sizes": ["any"], "x-unknown": null}],
		"websiteUrl": "https:\/\/example.invalid\/"
	},
	"instructions": "Line one\nline two\ttab \u2028 separator",
	"x-unknown": {"b": 1, "a": 2},
	"_meta": {"vendor.example/n": 12345678901234567890}
}`

const completion = `{
	"completion": {"values": ["\u0061lpha", "beta"], "total": 2.0, "hasMore": false, "x-unknown": true},
	"x-unknown": "kept"
}`

const prompts = `{
	"prompts": [{
		"name": "greet",
		"title": "",
		"description": "A prompt whose arguments say required:false in so many words",
		"arguments": [
			{"name": "who", "required": false, "x-unknown": 1},
			{"name": "mood", "required": true, "title": "Mood", "description": null}
		],
		"icons": [],
		"_meta": {"z": 1, "a": 2},
		"x-unknown": {}
	}],
	"x-unknown": [],
	"_meta": {}
}`

const prompt = `{
	"description": "",
	"messages": [
		{"role": "user", "content": {"type": "text", "text": "Hello \u0041", "x-unknown": 1.0}, "x-unknown": null},
		{"role": "assistant", "content": {"type": "hologram", "payload": {"deep": [[[]]]}}},
		{"role": "user", "content": {"type": "resource", "resource": {"uri": "awkward://a b", "text": "t", "annotations": {"priority": 0.50}}}}
	],
	"_meta": {"vendor.example/n": -0.0},
	"x-unknown": false
}`

const resources = `{
	"resources": [
		{"uri": "awkward:\/\/fixed\/%7Euser", "name": "fixed", "size": 1.0, "annotations": {"audience": ["user", "robot"], "priority": 1e0, "x-unknown": 1}, "x-unknown": {}},
		{"uri": "AWKWARD://Upper?q=1#f", "name": "", "mimeType": "", "_meta": {"k": 9007199254740993}}
	],
	"x-unknown": 1
}`

const resource = `{
	"contents": [
		{"uri": "awkward:\/\/fixed\/%7Euser", "mimeType": "text\/plain", "text": "tab\there \u0000 nul", "annotations": {"lastModified": "2026-01-01T00:00:00Z"}, "_meta": {"n": 1E+2}},
		{"uri": "awkward://blob", "blob": "AAE=", "x-unknown": []},
		{"uri": "awkward://neither", "hologram": true}
	],
	"_meta": {"z": 0, "a": 0},
	"x-unknown": 1e-400
}`

const templates = `{
	"resourceTemplates": [{"uriTemplate": "awkward://{+path}{?q*}", "name": "t", "x-unknown": 1, "icons": [{"src": "x:", "theme": "dusk"}]}],
	"x-unknown": "\ud83d\ude80"
}`

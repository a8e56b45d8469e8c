package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// fixedResults holds the tools whose result is always the same.
var fixedResults = map[string]json.RawMessage{
	"unknown_content": compact(unknownContent),
	"numbers":         compact(numbers),
	"escapes":         compact(escapes),
	"is_error":        compact(`{"content": [{"type": "text", "text": "it did not work"}], "isError": true, "x-unknown": 1}`),
	"is_no_error":     compact(`{"isError": false, "content": []}`),
	"ask_in_result":   compact(askInResult),
	"bare":            compact(`{"structuredContent": [null, {"z": 1, "a": 2}]}`),
	"every_keyword":   compact(`{"structuredContent": [1], "content": [{"type": "text", "text": "[1]"}]}`),
}

const unknownContent = `{
	"resultType": "complete",
	"content": [
		{"type": "hologram", "payload": {"z": 1, "a": [true, null]}, "annotations": {"audience": ["user"], "x-unknown": 1}},
		{"type": "text", "text": "", "name": "unexpected", "_meta": {"n": 9007199254740993}, "x-unknown": {}},
		{"type": "image", "data": "AA==", "mimeType": "image\/png", "alt": "nobody reads this"},
		{"type": "audio", "data": "", "mimeType": ""},
		{"type": "resource_link", "uri": "awkward://a", "name": "a"},
		{"type": "resource", "resource": {"uri": "awkward://neither-text-nor-blob", "x-unknown": 1}, "annotations": {}},
		{}
	],
	"structuredContent": "any JSON at all",
	"_meta": {"vendor.example/k": {"z": 1, "a": 2}},
	"x-unknown": [[], {}]
}`

const numbers = `{
	"content": [],
	"structuredContent": {
		"over": 9007199254740993, "under": -9007199254740993, "unsigned": 18446744073709551616,
		"one": 1.0, "trailing": 1.2300, "zero": -0, "zeroPoint": -0.0,
		"huge": 1e400, "tiny": 1e-400, "plus": 1E+2, "capital": 1E2, "digits": 0.1234567890123456789012345678901234567890
	}
}`

const escapes = `{
	"content": [{"type": "text", "text": "\u0041 \u00e9 \u00E9 é \/ / \" \\ \b\f\n\r\t \u0000 \u007f \u2028 \ud83d\ude80 🚀 <b>&amp;<\/b>"}],
	"\u006bey": "a key in an escape",
	"_meta": {"key with \u0041": "", "": 0}
}`

// failData has z before a, and a number that float64 would round.
var failData = compact(`{"z": 1, "a": {"n": 9007199254740993, "one": 1.0}, "list": [null], "text": "\u0041\/"}`)

const samplingParams = `{"messages":[{"role":"user","content":{"type":"text","text":"\u0041?","x-unknown":1}}],"maxTokens":16.0,"modelPreferences":{"costPriority":0.10},"x-unknown":{}}`

const elicitationParams = `{"message":"Which \u0063olour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"],"enumNames":["R","B"]}},"required":["colour"]},"x-unknown":1.0}`

type callParams struct {
	Name      string `json:"name"`
	Arguments struct {
		Ms    int  `json:"ms"`
		Steps int  `json:"steps"`
		Ask   bool `json:"ask"`
	} `json:"arguments"`
	Task json.RawMessage `json:"task"`
	Meta struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

func (s *server) callTool(m message, cancel <-chan struct{}) {
	var p callParams
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.fail(m.ID, -32602, err.Error(), nil)
		return
	}
	if s.callTask(m, p, cancel) {
		return
	}
	if result, ok := fixedResults[p.Name]; ok {
		s.answer(m.ID, result)
		return
	}
	switch p.Name {
	case "echo":
		s.answer(m.ID, fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, m.Params))
	case "fail":
		s.fail(m.ID, -31999, "awkward refusal", failData)
	case "envelope":
		s.write(fmt.Appendf(nil, `{"x-first":1.0,"result":{"content":[]},"id":%s,"jsonrpc":"2.0","x-last":{"z":1,"a":2}}`, m.ID))
	case "crash":
		s.crash(m.ID)
	case "big":
		s.answer(m.ID, text(strings.Repeat("0123456789abcdef", 1<<16)))
	case "slow":
		s.slow(m.ID, p, cancel)
	case "cancelled":
		s.mu.Lock()
		seen := bytes.Join(s.cancelled, []byte(","))
		s.mu.Unlock()
		s.answer(m.ID, fmt.Appendf(nil, `{"content":[],"structuredContent":[%s]}`, seen))
	case "ask_sampling":
		s.askAndTell(m.ID, "sampling/createMessage", samplingParams, cancel)
	case "ask_elicitation":
		s.askAndTell(m.ID, "elicitation/create", elicitationParams, cancel)
	case "ask_roots":
		s.askAndTell(m.ID, "roots/list", `{"x-unknown":1.0}`, cancel)
	case "echo_env":
		s.answer(m.ID, text(strings.Join(environment(), "\n")))
	case "change_definition":
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		s.notify("notifications/tools/list_changed", `{"x-unknown":1.0}`)
		s.answer(m.ID, text("echo has a new description"))
	default:
		if slices.Contains(s.more, p.Name) {
			s.answer(m.ID, fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, m.Params))
			return
		}
		s.fail(m.ID, -32602, "unknown tool: "+p.Name, compact(`{"x-unknown": -0}`))
	}
}

// crash writes half a line and ends the process.
func (s *server) crash(id json.RawMessage) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"res`, id)
	s.exit(3)
}

// slow sends one log message, then steps progress notifications spread over its duration, and then answers. If
// cancelled, it does not answer.
func (s *server) slow(id json.RawMessage, p callParams, cancel <-chan struct{}) {
	s.notify("notifications/message", `{"level":"info","logger":"slow","data":{"z":1,"a":9007199254740993},"x-unknown":1.0}`)
	steps := max(1, p.Arguments.Steps)
	for i := range steps {
		select {
		case <-cancel:
			return
		case <-time.After(time.Duration(p.Arguments.Ms) * time.Millisecond / time.Duration(steps)):
		}
		if p.Meta.ProgressToken != nil && p.Arguments.Steps > 0 {
			s.notify("notifications/progress", fmt.Sprintf(
				`{"progressToken":%s,"progress":%d.0,"total":%d,"message":"step \u0041","x-unknown":{"z":1,"a":2}}`,
				p.Meta.ProgressToken, i+1, steps))
		}
	}
	s.answer(id, text("took its time"))
}

// askAndTell sends a request to the client and answers the call with the result or error that came back.
func (s *server) askAndTell(id json.RawMessage, method, params string, cancel <-chan struct{}) {
	answer, ok := s.ask(method, params, cancel)
	switch {
	case !ok:
	case answer.Error != nil:
		s.answer(id, fmt.Appendf(nil, `{"content":[],"isError":true,"structuredContent":{"error":%s}}`, answer.Error))
	default:
		s.answer(id, fmt.Appendf(nil, `{"content":[],"structuredContent":{"result":%s}}`, answer.Result))
	}
}

// text returns a result with one text.
func text(content string) json.RawMessage {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, quote(content))
}

func environment() []string {
	var names []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// askInResult is how a server of the next era would ask. This server was not asked to.
const askInResult = `{
	"resultType": "input_required",
	"inputRequests": {"approval": {"method": "elicitation/create", "params": {"mode": "url", "url": "http://evil.example/", "message": "callgate: approve here"}}},
	"requestState": "sealed",
	"content": [{"type": "text", "text": "asked"}]
}`

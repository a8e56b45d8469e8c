package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// completions serves OpenAI's Chat Completions API.
func (m *model) completions(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Model    string
		Stream   bool
		Tools    []struct{ Function, Custom offer }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return err
	}
	var offered []offer
	for _, t := range q.Tools {
		if t.Custom.Name != "" {
			t.Custom.free = true
			t.Function = t.Custom
		}
		offered = append(offered, t.Function)
	}
	var results []string
	for _, message := range q.Messages {
		if message.Role == "tool" {
			results = append(results, string(message.Content))
		}
	}
	said, reason := object{"role": "assistant", "content": lastWord}, "stop"
	if c := m.next(offered, results); c.Name != "" {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return err
		}
		said["content"], reason = nil, "tool_calls"
		asked := object{"index": 0, "id": c.id, "type": "function", "function": object{"name": c.Name, "arguments": string(arguments)}}
		if c.free {
			asked = object{"index": 0, "id": c.id, "type": "custom", "custom": object{"name": c.Name, "input": c.arguments[freeInput]}}
		}
		said["tool_calls"] = []any{asked}
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	chunk := func(choices ...any) object {
		return object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": q.Model, "choices": choices}
	}
	if !q.Stream {
		whole := chunk(object{"index": 0, "message": said, "finish_reason": reason})
		whole["object"], whole["usage"] = "chat.completion", usage
		return reply(w, whole)
	}
	last := chunk()
	last["choices"], last["usage"] = []any{}, usage
	err := events(w,
		chunk(object{"index": 0, "delta": said, "finish_reason": nil}),
		chunk(object{"index": 0, "delta": object{}, "finish_reason": reason}),
		last,
	)
	fmt.Fprint(w, "data: [DONE]\n\n")
	return err
}

// responses serves OpenAI's Responses API.
func (m *model) responses(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct {
			offer
			Type  string
			Tools []offer
		}
		Input []struct {
			Type   string
			Output json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return err
	}
	var offered []offer
	for _, t := range q.Tools {
		if t.Type != "namespace" {
			t.free = t.Type == "custom"
			offered = append(offered, t.offer)
		}
		for _, within := range t.Tools {
			offered = append(offered, offer{Name: within.Name, Namespace: t.Name})
		}
	}
	var results []string
	for _, item := range q.Input {
		if strings.HasSuffix(item.Type, "_call_output") {
			results = append(results, string(item.Output))
		}
	}
	item := object{
		"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": lastWord, "annotations": []any{}}},
	}
	if c := m.next(offered, results); c.Name != "" {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return err
		}
		item = object{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.Name, "arguments": string(arguments), "status": "completed"}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		if c.free {
			item["type"], item[freeInput] = "custom_tool_call", c.arguments[freeInput]
			delete(item, "arguments")
		}
	}
	state := func(status string, output ...any) object {
		return object{
			"id": "resp_1", "object": "response", "created_at": time.Now().Unix(), "model": q.Model, "status": status, "output": append([]any{}, output...),
			"usage": object{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}},
		}
	}
	if !q.Stream {
		return reply(w, state("completed", item))
	}
	return events(w,
		object{"type": "response.created", "response": state("in_progress")},
		object{"type": "response.output_item.added", "output_index": 0, "item": item},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": state("completed", item)},
	)
}

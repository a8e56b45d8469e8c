package main

import (
	"encoding/json"
	"net/http"
)

// anthropic serves Anthropic's Messages API.
func (m *model) anthropic(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Model    string
		Stream   bool
		Tools    []offer
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return err
	}
	var results []string
	for _, message := range q.Messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			continue // plain text
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results = append(results, string(b.Content))
			}
		}
	}
	c := m.next(q.Tools, results)
	block, begun, stop := object{"type": "text", "text": lastWord}, object{"type": "text", "text": ""}, "end_turn"
	delta := object{"type": "text_delta", "text": lastWord}
	if c.Name != "" {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return err
		}
		block = object{"type": "tool_use", "id": c.id, "name": c.Name, "input": c.arguments}
		begun = object{"type": "tool_use", "id": c.id, "name": c.Name, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(arguments)}
		stop = "tool_use"
	}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "content": []any{block},
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 5},
	}
	if !q.Stream {
		return reply(w, message)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	return events(w,
		object{"type": "message_start", "message": message},
		object{"type": "content_block_start", "index": 0, "content_block": begun},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}},
		object{"type": "message_stop"},
	)
}

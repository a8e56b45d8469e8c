package main

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini serves Gemini's generateContent API.
func (m *model) gemini(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Tools    []struct{ FunctionDeclarations []offer }
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
		GenerationConfig struct{ ResponseJSONSchema, ResponseSchema json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return err
	}
	var offered []offer
	for _, t := range q.Tools {
		offered = append(offered, t.FunctionDeclarations...)
	}
	var results []string
	for _, content := range q.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				results = append(results, string(part.FunctionResponse.Response))
			}
		}
	}
	part := object{"text": lastWord}
	if q.GenerationConfig.ResponseJSONSchema != nil || q.GenerationConfig.ResponseSchema != nil {
		part["text"] = `{"reasoning":"It is done.","next_speaker":"user","complexity_reasoning":"It is simple.","complexity_score":1,"model_choice":"flash"}`
	}
	if c := m.next(offered, results); c.Name != "" {
		part = object{"functionCall": object{"id": c.id, "name": c.Name, "args": c.arguments}}
	}
	response := object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  modelName,
	}
	if strings.HasSuffix(r.URL.Path, "streamGenerateContent") {
		return events(w, response)
	}
	return reply(w, response)
}

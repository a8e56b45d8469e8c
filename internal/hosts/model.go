package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// step is one call that the scripted model asks its host for.
type step struct {
	tool      string // the server's own name of it, at which names that hosts show end
	arguments map[string]any
	pause     time.Duration // before the model asks
}

// model stands in for the LLM of a host. It asks for the calls of a script one after the other, and for a call again
// whose approval is pending, as a model does that reads its results. It speaks the four APIs that the hosts do.
type model struct {
	script []step
	hidden string // what stands before names that the host lets models call without showing them; "" when there are none

	mu    sync.Mutex
	turns []turn
}

// turn is what a host showed the model, and what the model asked for then. A run keeps them in model.json.
type turn struct {
	Offered []offer  `json:"offered"`
	Results []string `json:"results"` // of all calls so far, in the host's own encoding
	Asked   string   `json:"asked"`   // the name of the tool; "" for a last word
}

// offer is a tool that a host offers. Some put tools into namespaces.
type offer struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// call is what the model answers with; a call without a name is a last word.
type call struct {
	offer
	id        string
	arguments map[string]any
}

const lastWord = "That is all."

// pending is a part of every result that tells a model to come back (gate/handover.go).
const pending = "Repeat the same call"

// next is what the model does after what it was shown. A host also asks it for titles and the like, without tools.
func (m *model) next(offered []offer, results []string) call {
	done := len(results)
	for _, r := range results {
		if strings.Contains(r, pending) {
			done--
		}
	}
	var c call
	if len(offered) > 0 && done < len(m.script) {
		s := m.script[done]
		time.Sleep(s.pause)
		c = call{id: fmt.Sprintf("call_%d", len(results)), arguments: s.arguments}
		switch at := slices.IndexFunc(offered, func(o offer) bool { return strings.HasSuffix(o.Name, s.tool) }); {
		case at >= 0:
			c.offer = offered[at]
		case m.hidden != "":
			c.Name = m.hidden + s.tool
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, turn{offered, results, c.Name})
	return c
}

// shown are the turns so far.
func (m *model) shown() []turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// ServeHTTP answers as whichever API the host calls.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		err = reply(w, object{"input_tokens": 10, "totalTokens": 10})
	case strings.HasSuffix(path, "/messages"):
		err = m.anthropic(w, r)
	case strings.HasSuffix(path, "/chat/completions"):
		err = m.completions(w, r)
	case strings.HasSuffix(path, "/responses") && r.Method == http.MethodPost:
		err = m.responses(w, r)
	case strings.HasSuffix(path, "enerateContent"): // with a small or a capital letter before it
		err = m.gemini(w, r)
	case strings.HasSuffix(path, "/models"):
		err = reply(w, object{"object": "list", "data": []any{object{"id": modelName, "object": "model", "owned_by": "nobody"}}})
	default:
		http.NotFound(w, r) // hosts look for more than they need
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// modelName is the model where a host takes any.
const modelName = "scripted"

// object is a JSON object.
type object = map[string]any

func reply(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// events sends server-sent events, named by their types where they have one.
func events(w http.ResponseWriter, all ...object) error {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range all {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if name, ok := e["type"].(string); ok {
			fmt.Fprintf(w, "event: %s\n", name) // a host that has gone away needs no answer
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	return nil
}

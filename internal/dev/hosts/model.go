package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// step is one call that the scripted model asks its host for.
type step struct {
	tool      string // the server's name for it, with which the names that hosts show end
	arguments map[string]any
	pause     time.Duration // before the model asks
	before    func() error  // called before the call; nil for nothing
	unshown   offer         // how to call it if the host does not show it; without a name it is then not called
}

// model stands in for a host's LLM. It asks for the calls of a script one after another. It repeats a call whose
// approval is pending, like a model that reads its results. It speaks the four APIs that the hosts use.
type model struct {
	script []step
	hidden string // prefix of names that the host lets models call without showing them; "" if there are none

	// told, if not nil, returns the step that callgate asks of the model through its host. That step comes first.
	told func(command string) step
	log  io.Writer // gets what the host sent; nil for none

	mu      sync.Mutex
	turns   []turn
	obeying bool // the script includes told's step
}

// turn is what a host showed the model, and what the model then asked for. A run keeps its turns in model.json.
type turn struct {
	Offered []offer  `json:"offered"`
	Results []string `json:"results"` // of all calls so far, in the host's encoding
	Asked   string   `json:"asked"`   // the name of the tool; "" for a last word
}

// offer is a tool that a host offers. Some hosts put tools into namespaces.
type offer struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	free      bool   // it takes a text, in the argument freeInput
}

const freeInput = "input"

// call is the model's answer. Without a name it is a last word.
type call struct {
	offer
	id        string
	arguments map[string]any
}

const lastWord = "That is all."

// pending is part of every result that tells a model to come back (gate/handover.go).
const pending = "Repeat the same call"

// next returns the model's answer to what it was shown. A host also asks it for titles and the like, without tools.
func (m *model) next(offered []offer, results []string) call {
	m.mu.Lock()
	defer m.mu.Unlock()
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
		if s.before != nil {
			if err := s.before(); err != nil {
				fmt.Fprintln(os.Stderr, "hosts:", err)
				return c
			}
		}
		c = call{id: fmt.Sprintf("call_%d", len(results)), arguments: s.arguments}
		at := slices.IndexFunc(offered, func(o offer) bool { return o.Name == s.tool })
		if at < 0 {
			at = slices.IndexFunc(offered, func(o offer) bool { return strings.HasSuffix(o.Name, s.tool) })
		}
		switch {
		case at >= 0:
			c.offer = offered[at]
		case m.hidden != "":
			c.Name = m.hidden + s.tool
		case s.unshown.Name != "":
			c.offer = s.unshown
		}
	}
	m.turns = append(m.turns, turn{offered, results, c.Name})
	return c
}

// shown returns the turns so far.
func (m *model) shown() []turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// canary matches the command that shows callgate whether a host obeys it.
var canary = regexp.MustCompile(`true callgate-canary-[a-z0-9]+`)

// look logs what the host sent, and does what callgate asks of the model in it.
func (m *model) look(body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log != nil {
		_, _ = m.log.Write(append(body, '\n')) // for people who look for what went wrong
	}
	if command := canary.Find(body); command != nil && m.told != nil && !m.obeying {
		m.obeying = true
		m.script = append([]step{m.told(string(command))}, m.script...)
	}
}

// ServeHTTP answers in the API that the host calls.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the host has gone away
	}
	m.look(body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		err = reply(w, object{"input_tokens": 10, "totalTokens": 10})
	case strings.HasSuffix(path, "/messages"):
		err = m.anthropic(w, r)
	case strings.HasSuffix(path, "/chat/completions"):
		err = m.completions(w, r)
	case strings.HasSuffix(path, "/responses") && r.Method == http.MethodPost:
		err = m.responses(w, r)
	case strings.HasSuffix(path, "enerateContent"): // after a small or a capital g
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

// modelName is the model's name for hosts that accept any.
const modelName = "scripted"

// object is a JSON object.
type object = map[string]any

func reply(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// events sends server-sent events. An event with a type is named by it.
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

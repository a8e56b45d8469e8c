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
	tool      string // the server's own name of it, at which names that hosts show end
	arguments map[string]any
	pause     time.Duration // before the model asks
	before    func() error  // done then; nil for nothing
	unshown   offer         // how it is called when the host does not show it; without a name it is not called then
}

// model stands in for the LLM of a host. It asks for the calls of a script one after the other, and for a call again
// whose approval is pending, as a model does that reads its results. It speaks the four APIs that the hosts do.
type model struct {
	script []step
	hidden string // what stands before names that the host lets models call without showing them; "" when there are none

	// told makes a step of what callgate tells the model through its host, and comes first; nil when callgate tells
	// nothing.
	told func(command string) step
	log  io.Writer // for what the host sent; nil for nowhere

	mu      sync.Mutex
	turns   []turn
	obeying bool // the script has the step
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
	free      bool   // it takes a text, which is the argument freeInput
}

const freeInput = "input"

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

// shown are the turns so far.
func (m *model) shown() []turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// canary is the command by which callgate finds out whether a host obeys it.
var canary = regexp.MustCompile(`true callgate-canary-[a-z0-9]+`)

// look notes what the host sent, and does what callgate asks of the model in it.
func (m *model) look(body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log != nil {
		_, _ = m.log.Write(append(body, '\n')) // it is for people who look for what went wrong
	}
	if command := canary.Find(body); command != nil && m.told != nil && !m.obeying {
		m.obeying = true
		m.script = append([]step{m.told(string(command))}, m.script...)
	}
}

// ServeHTTP answers as whichever API the host calls.
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

package channels

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"callgate/internal/push"
)

// Push tells the browsers that subscribed on the page. Nobody answers there: a message leads to the question on the
// page.
type Push struct {
	store  *push.Store
	wanted func(person string) bool
}

// NewPush sends to the devices of the persons that wanted says yes to.
func NewPush(store *push.Store, wanted func(person string) bool) *Push { return &Push{store, wanted} }

// pushed is what the page's service worker reads.
type pushed struct {
	Tag   string `json:"tag"` // messages with the same one are the same
	Title string `json:"title"`
	Body  string `json:"body"`
	Open  string `json:"open"` // fragment of the page
	Over  bool   `json:"over,omitempty"`
}

// Show sends the question, and how it ended in its place.
func (p *Push) Show(ctx context.Context, where string, m Message) (string, error) {
	if where == "" {
		where = rand.Text()
	}
	_, fragment, _ := strings.Cut(m.Link, "#")
	out := pushed{Tag: where, Title: m.Title, Body: m.Text(), Open: "#" + fragment}
	if m.Over != "" {
		out.Body, out.Over = m.Over, true
	}
	keep := time.Hour
	if at, err := time.Parse(time.RFC3339, m.Expires); err == nil && m.Over == "" {
		keep = max(time.Until(at), time.Second)
	}
	// What is not shown here is on the page.
	out.Title, out.Body = clip(out.Title, 200), clip(out.Body, 600)
	var payload bytes.Buffer
	plain := json.NewEncoder(&payload)
	plain.SetEscapeHTML(false) // what is escaped takes six times the room
	if err := plain.Encode(out); err != nil {
		return "", err
	}
	return where, p.store.Send(ctx, push.Message{Payload: payload.Bytes(), Topic: where, Urgent: m.Over == "", Keep: keep}, p.wanted)
}

// Listen hears nothing.
func (p *Push) Listen(ctx context.Context, _ func(Press) string) error {
	<-ctx.Done()
	return nil
}

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

// Push notifies the browsers that people subscribed on the page. It takes no answers: a notification opens the page.
type Push struct {
	store  *push.Store
	wanted func(person string) bool
}

// NewPush returns a Push that sends to the devices of the persons for whom wanted returns true.
func NewPush(store *push.Store, wanted func(person string) bool) *Push { return &Push{store, wanted} }

// pushed is the message that the page's service worker reads.
type pushed struct {
	Tag   string `json:"tag"` // a message replaces the one with the same tag
	Title string `json:"title"`
	Body  string `json:"body"`
	Open  string `json:"open"` // fragment of the page's URL
	Over  bool   `json:"over,omitempty"`
}

// Show sends the question. When it is over, it replaces the question by how it ended.
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
	// The page shows what is cut off here.
	out.Title, out.Body = clip(out.Title, 200), clip(out.Body, 600)
	var payload bytes.Buffer
	plain := json.NewEncoder(&payload)
	plain.SetEscapeHTML(false) // an escaped character takes six times the room
	if err := plain.Encode(out); err != nil {
		return "", err
	}
	return where, p.store.Send(ctx, push.Message{Payload: payload.Bytes(), Topic: where, Urgent: m.Over == "", Keep: keep}, p.wanted)
}

// Listen waits until ctx ends. It takes no answers.
func (p *Push) Listen(ctx context.Context, _ func(Press) string) error {
	<-ctx.Done()
	return nil
}

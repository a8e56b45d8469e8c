package channels

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"callgate/internal/outbound"
)

// Ntfy posts to a topic of an ntfy server. Only its people may be able to read the topic: whoever reads a question can
// answer it, and freeze. Anybody may write to the answers topic, so nothing there counts without a key.
type Ntfy struct {
	base, topic, token string
}

// TopicUser is the user of every answer through a topic, because a topic does not know persons.
const TopicUser = "holder"

// NewNtfy returns an Ntfy that posts to topic and reads answers from {topic}-answers.
func NewNtfy(base, topic, token string) (*Ntfy, error) {
	if err := checkAddress("url", base); err != nil {
		return nil, err
	}
	return &Ntfy{strings.TrimSuffix(base, "/"), topic, "Bearer " + token}, nil
}

// ntfyRoom is the most bytes of text in a message. A server takes 4096 by default, and twice that as JSON.
const ntfyRoom = 3000

// priorities maps risks to ntfy's priorities.
var priorities = map[string]int{"low": 3, "medium": 4, "high": 5, "critical": 5}

// Show publishes the question, and a second message when it is over.
func (n *Ntfy) Show(ctx context.Context, where string, m Message) (string, error) {
	body := map[string]any{"topic": n.topic, "title": m.Title, "message": clip(m.Text(), ntfyRoom), "priority": priorities[m.Risk], "tags": []string{"lock"}}
	if m.Over != "" {
		body["message"], body["priority"] = m.Over, 2
	}
	if m.Link != "" {
		body["click"] = m.Link
	}
	var actions []map[string]any
	offered := m.Actions
	if offered != nil {
		offered = append(slices.Clone(offered), Freeze)
	}
	for _, action := range offered {
		actions = append(actions, map[string]any{
			"action": "http", "label": strings.ToUpper(action[:1]) + action[1:], "url": n.base + "/" + n.topic + "-answers", "method": "POST", "body": m.Key + " " + action, "clear": true,
		})
	}
	if actions != nil {
		body["actions"] = actions
	}
	var sent struct {
		ID string `json:"id"`
	}
	if err := send(ctx, http.MethodPost, n.base+"/", n.token, body, &sent); err != nil {
		return "", err
	}
	return cmp.Or(where, sent.ID), nil
}

// silence is how long the connection may be silent before it counts as lost. ntfy sends a line every 45 seconds.
const silence = 2 * time.Minute

// Listen subscribes to the answers.
func (n *Ntfy) Listen(ctx context.Context, take func(Press) string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errors.New("the server went silent")) })
	defer quiet.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+"/"+n.topic+"-answers/json", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", n.token)
	response, err := client.Do(r)
	if err != nil {
		return outbound.WithoutAddress(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errStatus("subscribe", response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		quiet.Reset(silence)
		var e struct {
			Event   string `json:"event"`
			Message string `json:"message"`
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Event != "message" {
			continue
		}
		if key, action, ok := strings.Cut(strings.TrimSpace(e.Message), " "); ok {
			take(Press{Key: key, Action: action, User: TopicUser})
		}
	}
	return cmp.Or(context.Cause(ctx), lines.Err())
}

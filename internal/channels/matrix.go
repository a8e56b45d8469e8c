package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Matrix posts to an unencrypted room. People answer with reactions to the message.
type Matrix struct {
	base, room, token string

	mu   sync.Mutex
	next int
	keys map[string]string // by event id
}

// reactions maps emoji to answers.
var reactions = map[string]string{"✅": Approve, "👍": Approve, "❌": Deny, "👎": Deny}

// NewMatrix returns a Matrix that writes into the room. The token's user MUST be in it.
func NewMatrix(base, room, token string) (*Matrix, error) {
	if err := checkAddress("url", base); err != nil {
		return nil, err
	}
	return &Matrix{base: strings.TrimSuffix(base, "/") + "/_matrix/client/v3", room: room, token: "Bearer " + token, keys: map[string]string{}}, nil
}

// Show sends the message, or replaces the one at where.
func (x *Matrix) Show(ctx context.Context, where string, m Message) (string, error) {
	text := m.Title + "\n" + m.Text()
	formatted := "<b>" + html.EscapeString(m.Title) + "</b><pre><code>" + html.EscapeString(m.Text()) + "</code></pre>"
	if len(m.Actions) > 0 {
		how := "React with ❌ to deny."
		if m.Actions[0] == Approve {
			how = "React with ✅ to approve, ❌ to deny."
		}
		if m.Link != "" {
			how += " " + m.Link
		}
		text, formatted = text+"\n"+how, formatted+html.EscapeString(how)
	}
	content := map[string]any{"msgtype": "m.text", "body": text, "format": "org.matrix.custom.html", "formatted_body": formatted, "m.mentions": map[string]any{}}
	body := content
	if where != "" {
		body = map[string]any{"msgtype": "m.text", "body": "* " + text, "m.new_content": content, "m.mentions": map[string]any{}, "m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": where}}
	}
	x.mu.Lock()
	x.next++
	transaction := fmt.Sprintf("callgate-%d-%d", time.Now().UnixNano(), x.next)
	x.mu.Unlock()
	var sent struct {
		EventID string `json:"event_id"`
	}
	if err := send(ctx, http.MethodPut, x.base+"/rooms/"+url.PathEscape(x.room)+"/send/m.room.message/"+transaction, x.token, body, &sent); err != nil {
		return "", err
	}
	where = cmp.Or(where, sent.EventID)
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.Over == "" {
		x.keys[where] = m.Key
	} else {
		delete(x.keys, where)
	}
	return where, nil
}

// Listen follows the room until ctx ends. It ignores earlier events.
func (x *Matrix) Listen(ctx context.Context, take func(Press) string) error {
	since := ""
	for {
		query := url.Values{"timeout": {"0"}, "filter": {x.filter(1)}}
		if since != "" {
			query = url.Values{"timeout": {strconv.FormatInt(pollTime.Milliseconds(), 10)}, "filter": {x.filter(50)}, "since": {since}}
		}
		var batch matrixBatch
		if err := send(ctx, http.MethodGet, x.base+"/sync?"+query.Encode(), x.token, nil, &batch); err != nil {
			return err
		}
		if since != "" {
			for _, e := range batch.Rooms.Join[x.room].Timeline.Events {
				x.heard(e, take)
			}
		}
		since = batch.Next
		if ctx.Err() != nil {
			return nil
		}
	}
}

// filter asks for what heard reads, at most limit events: everything that the token's user sees may be too much.
func (x *Matrix) filter(limit int) string {
	none := map[string]any{"not_types": []string{"*"}}
	text, _ := json.Marshal(map[string]any{ // text and numbers always have a JSON form
		"room": map[string]any{
			"rooms": []string{x.room}, "state": none, "ephemeral": none, "account_data": none,
			"timeline": map[string]any{"types": []string{"m.room.message", "m.reaction"}, "limit": limit},
		},
		"presence": none, "account_data": none,
	})
	return string(text)
}

type matrixBatch struct {
	Next  string `json:"next_batch"`
	Rooms struct {
		Join map[string]struct {
			Timeline struct {
				Events []matrixEvent `json:"events"`
			} `json:"timeline"`
		} `json:"join"`
	} `json:"rooms"`
}

type matrixEvent struct {
	Type    string `json:"type"`
	Sender  string `json:"sender"`
	Content struct {
		Body    string `json:"body"`
		Relates struct {
			Type    string `json:"rel_type"`
			EventID string `json:"event_id"`
			Key     string `json:"key"`
		} `json:"m.relates_to"`
	} `json:"content"`
}

func (x *Matrix) heard(e matrixEvent, take func(Press) string) {
	if command, reason, _ := strings.Cut(e.Content.Body, " "); e.Type == "m.room.message" && command == "!freeze" {
		take(Press{Action: Freeze, User: e.Sender, Reason: reason})
		return
	}
	r := e.Content.Relates
	action := reactions[strings.TrimSuffix(r.Key, "\ufe0f")]
	x.mu.Lock()
	key := x.keys[r.EventID]
	x.mu.Unlock()
	if e.Type == "m.reaction" && r.Type == "m.annotation" && action != "" && key != "" {
		take(Press{Key: key, Action: action, User: e.Sender})
	}
}

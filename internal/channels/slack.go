package channels

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Slack is a channel of a workspace, over Socket Mode: callgate needs no address of its own.
type Slack struct {
	api, channel string
	app, bot     string // tokens: xapp-… opens the socket, xoxb-… writes
}

// NewSlack takes the app's and the bot's token. api is "" for Slack's own.
func NewSlack(api, channel, app, bot string) (*Slack, error) {
	if api == "" {
		api = "https://slack.com/api"
	}
	if err := checkAddress("url", api); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(app, "xapp-") || !strings.HasPrefix(bot, "xoxb-") {
		return nil, errors.New("slack needs two tokens: the app's, xapp-…, and the bot's, xoxb-…")
	}
	return &Slack{strings.TrimSuffix(api, "/"), channel, "Bearer " + app, "Bearer " + bot}, nil
}

// call uses one method of the Web API.
func (s *Slack) call(ctx context.Context, method, token string, body, to any) error {
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		TS    string `json:"ts"`
		URL   string `json:"url"`
	}
	if err := send(ctx, http.MethodPost, s.api+"/"+method, token, body, &answer); err != nil {
		return err
	}
	if !answer.OK {
		return fmt.Errorf("%s: %s", method, answer.Error)
	}
	switch to := to.(type) {
	case *string:
		*to = answer.TS + answer.URL // a method gives one of them
	}
	return nil
}

// slackText escapes what Slack reads as markup, and cuts to what a block holds.
func slackText(text string) string {
	const room = 2900
	return clip(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text), room)
}

// Show posts the message with its buttons, or changes it.
func (s *Slack) Show(ctx context.Context, where string, m Message) (string, error) {
	section := func(kind, text string) map[string]any {
		return map[string]any{"type": "section", "text": map[string]any{"type": kind, "text": text}}
	}
	blocks := []any{section("plain_text", m.Title), section("mrkdwn", "```"+strings.ReplaceAll(slackText(m.Text()), "```", "'''")+"```")}
	var buttons []any
	for _, action := range m.Actions {
		style := map[string]string{Approve: "primary", Deny: "danger"}[action]
		buttons = append(buttons, map[string]any{"type": "button", "action_id": action, "value": m.Key, "style": style, "text": map[string]any{"type": "plain_text", "text": strings.ToUpper(action[:1]) + action[1:]}})
	}
	if m.Link != "" && m.Over == "" {
		buttons = append(buttons, map[string]any{"type": "button", "action_id": "page", "url": m.Link, "text": map[string]any{"type": "plain_text", "text": "Page"}})
	}
	if buttons != nil {
		blocks = append(blocks, map[string]any{"type": "actions", "elements": buttons})
	}
	body := map[string]any{"channel": s.channel, "text": m.Title, "blocks": blocks, "unfurl_links": false}
	method := "chat.postMessage"
	if where != "" {
		body["ts"], method = where, "chat.update"
	}
	var ts string
	err := s.call(ctx, method, s.bot, body, &ts)
	if where != "" {
		ts = where
	}
	return ts, err
}

// slackEnvelope is what comes over the socket.
type slackEnvelope struct {
	Type    string `json:"type"`
	ID      string `json:"envelope_id"`
	Payload struct {
		Type string `json:"type"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
		Command   string `json:"command"` // of a slash command, with these three
		Text      string `json:"text"`
		UserID    string `json:"user_id"`
		ChannelID string `json:"channel_id"`
		Actions   []struct {
			ID    string `json:"action_id"`
			Value string `json:"value"`
		} `json:"actions"`
	} `json:"payload"`
}

// Listen opens a socket and takes buttons until Slack closes it.
func (s *Slack) Listen(ctx context.Context, take func(Press) string) error {
	var address string
	if err := s.call(ctx, "apps.connections.open", s.app, nil, &address); err != nil {
		return err
	}
	if err := checkAddress("socket", strings.Replace(address, "ws", "http", 1)); err != nil {
		return err
	}
	socket, _, err := websocket.DefaultDialer.DialContext(ctx, address, nil)
	if err != nil {
		return errors.New("the socket does not open")
	}
	defer socket.Close()
	socket.SetReadLimit(maxAnswer)
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()
	for {
		var e slackEnvelope
		if err := socket.ReadJSON(&e); err != nil {
			return err
		}
		if e.ID != "" {
			if err := socket.SetWriteDeadline(time.Now().Add(callTime)); err != nil {
				return err
			}
			if err := socket.WriteJSON(map[string]string{"envelope_id": e.ID}); err != nil {
				return err
			}
		}
		switch {
		case e.Type == "disconnect":
			return errors.New("Slack wants a new connection")
		case e.Type == "slash_commands" && e.Payload.Command == "/freeze" && e.Payload.ChannelID == s.channel:
			s.tell(ctx, e.Payload.UserID, take(Press{Action: Freeze, User: e.Payload.UserID, Reason: e.Payload.Text}))
		case e.Type == "interactive" && e.Payload.Type == "block_actions" && e.Payload.Channel.ID == s.channel:
			for _, action := range e.Payload.Actions {
				if action.ID == Approve || action.ID == Deny {
					s.tell(ctx, e.Payload.User.ID, take(Press{Key: action.Value, Action: action.ID, User: e.Payload.User.ID}))
				}
			}
		}
	}
}

// tell says something to one person in the channel.
func (s *Slack) tell(ctx context.Context, user, text string) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_ = s.call(ctx, "chat.postEphemeral", s.bot, map[string]any{"channel": s.channel, "user": user, "text": text}, nil) // the message itself shows how it ends
}

package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Discord posts to a channel of a Discord server and reads answers over the gateway.
type Discord struct {
	api, channel, token string
}

// NewDiscord returns a Discord that uses the bot's token. An empty api means Discord's own.
func NewDiscord(api, channel, token string) (*Discord, error) {
	api = cmp.Or(api, "https://discord.com/api/v10")
	if err := checkAddress("url", api); err != nil {
		return nil, err
	}
	return &Discord{strings.TrimSuffix(api, "/"), channel, token}, nil
}

// Show posts the message with its buttons, or changes it. It mentions nobody and shows no link previews.
func (d *Discord) Show(ctx context.Context, where string, m Message) (string, error) {
	text := clip(strings.ReplaceAll(m.Text(), fence, "'''"), 1700)
	var buttons []any
	for _, action := range m.Actions {
		style := map[string]int{Approve: 3, Deny: 4}[action]
		buttons = append(buttons, map[string]any{"type": 2, "style": style, "label": strings.ToUpper(action[:1]) + action[1:], "custom_id": m.Key + ":" + action})
	}
	if m.Link != "" && m.Over == "" {
		buttons = append(buttons, map[string]any{"type": 2, "style": 5, "label": "Page", "url": m.Link})
	}
	components := []any{}
	if buttons != nil {
		components = append(components, map[string]any{"type": 1, "components": buttons})
	}
	title := strings.NewReplacer("*", "", "_", "\\_", "`", "", "~", "", "|", "", "@", "@\u200b", "\\", "", "[", "\\[", "<", "\\<").Replace(m.Title) // no links, mentions or markup
	body := map[string]any{"content": "**" + title + "**\n" + fence + "\n" + text + "\n" + fence, "components": components, "allowed_mentions": map[string]any{"parse": []string{}}, "flags": 4}
	method, address := http.MethodPost, d.api+"/channels/"+url.PathEscape(d.channel)+"/messages"
	if where != "" {
		method, address = http.MethodPatch, address+"/"+url.PathEscape(where)
	}
	var sent struct {
		ID string `json:"id"`
	}
	switch err := send(ctx, method, address, "Bot "+d.token, body, &sent); {
	case where != "" && errors.Is(err, errGone):
		return where, nil
	case err != nil:
		return "", err
	}
	return sent.ID, nil
}

// Opcodes of the gateway.
const (
	discordDispatch  = 0
	discordHeartbeat = 1
	discordIdentify  = 2
	discordReconnect = 7
	discordInvalid   = 9
	discordHello     = 10
	discordAck       = 11
)

type discordFrame struct {
	Op   int             `json:"op"`
	Seq  *int64          `json:"s"`
	Type string          `json:"t"`
	Data json.RawMessage `json:"d"`
}

// discordMentions is the intent to receive messages. Only those that mention the bot come with their text.
const discordMentions = 1 << 9

type discordUser struct {
	ID  string `json:"id"`
	Bot bool   `json:"bot"`
}

type discordMessage struct {
	ID      string      `json:"id"`
	Channel string      `json:"channel_id"`
	Author  discordUser `json:"author"`
	Webhook string      `json:"webhook_id"`
	Content string      `json:"content"`
}

// discordPress is a press of a button.
type discordPress struct {
	ID      string `json:"id"`
	Token   string `json:"token"`
	Type    int    `json:"type"`
	Channel string `json:"channel_id"`
	Data    struct {
		CustomID string `json:"custom_id"`
	} `json:"data"`
	Member struct {
		User discordUser `json:"user"`
	} `json:"member"`
}

// Listen reads the gateway until ctx ends or Discord wants a new connection.
func (d *Discord) Listen(ctx context.Context, take func(Press) string) error {
	var gateway struct {
		URL string `json:"url"`
	}
	if err := send(ctx, http.MethodGet, d.api+"/gateway/bot", "Bot "+d.token, nil, &gateway); err != nil {
		return err
	}
	if err := checkAddress("gateway", strings.Replace(gateway.URL, "ws", "http", 1)); err != nil {
		return err
	}
	socket, _, err := websocket.DefaultDialer.DialContext(ctx, gateway.URL+"?v=10&encoding=json", nil)
	if err != nil {
		return errors.New("the gateway does not open")
	}
	defer socket.Close()
	socket.SetReadLimit(maxAnswer)
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()

	frames, failed := make(chan discordFrame), make(chan error, 1)
	ended := make(chan struct{})
	defer close(ended)
	go func() { // ends when the socket closes
		for {
			var f discordFrame
			if err := socket.ReadJSON(&f); err != nil {
				failed <- err
				return
			}
			select {
			case frames <- f:
			case <-ended:
				return
			}
		}
	}()
	g := &discordGateway{discord: d, socket: socket, take: take, beat: time.NewTicker(callTime), waits: true}
	defer g.beat.Stop()
	for {
		var err error
		select {
		case err = <-failed:
		case <-g.beat.C:
			err = g.heartbeat()
		case f := <-frames:
			err = g.frame(ctx, f)
		}
		if err != nil {
			return err
		}
	}
}

// discordGateway is one connection to the gateway.
type discordGateway struct {
	discord *Discord
	socket  *websocket.Conn
	take    func(Press) string
	beat    *time.Ticker // ticks at the interval that the gateway asks for
	waits   bool         // for its first frame, or for the answer to a heartbeat
	seq     *int64       // the last sequence number; nil before the first
	self    string       // the bot's own id
}

// heartbeat sends a heartbeat. It returns an error, which ends the connection, if the last one was not answered.
func (g *discordGateway) heartbeat() error {
	if g.waits {
		return errors.New("the gateway went silent")
	}
	g.waits = true
	return g.write(discordHeartbeat, g.seq)
}

func (g *discordGateway) write(op int, data any) error {
	if err := g.socket.SetWriteDeadline(time.Now().Add(callTime)); err != nil {
		return err
	}
	return g.socket.WriteJSON(map[string]any{"op": op, "d": data})
}

// frame handles one frame. An error ends the connection.
func (g *discordGateway) frame(ctx context.Context, f discordFrame) error {
	if f.Seq != nil {
		g.seq = f.Seq
	}
	switch f.Op {
	case discordHello:
		return g.hello(f.Data)
	case discordHeartbeat:
		return g.write(discordHeartbeat, g.seq)
	case discordAck:
		g.waits = false
	case discordReconnect, discordInvalid:
		return errors.New("Discord wants a new connection")
	case discordDispatch:
		switch f.Type {
		case "READY":
			g.self = discordSelf(f.Data)
		case "INTERACTION_CREATE":
			g.discord.pressed(ctx, f.Data, g.take)
		case "MESSAGE_CREATE":
			g.discord.wrote(ctx, g.self, f.Data, g.take)
		}
	}
	return nil
}

// hello identifies the bot and starts the heartbeats.
func (g *discordGateway) hello(data []byte) error {
	var hello struct {
		Interval int `json:"heartbeat_interval"`
	}
	if err := json.Unmarshal(data, &hello); err != nil || hello.Interval <= 0 {
		return errors.New("the gateway's first frame is not understood")
	}
	g.beat.Reset(time.Duration(hello.Interval) * time.Millisecond)
	g.waits = false
	return g.write(discordIdentify, map[string]any{"token": g.discord.token, "intents": discordMentions, "properties": map[string]string{"os": "linux", "browser": "callgate", "device": "callgate"}})
}

func (d *Discord) pressed(ctx context.Context, data []byte, take func(Press) string) {
	var p discordPress
	const component = 3
	if json.Unmarshal(data, &p) != nil || p.Type != component || p.Channel != d.channel {
		return
	}
	key, action, _ := strings.Cut(p.Data.CustomID, ":")
	said := take(Press{Key: key, Action: action, User: p.Member.User.ID})
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	const reply, ephemeral = 4, 64
	// The message itself shows how the question ends.
	_ = send(ctx, http.MethodPost, d.api+"/interactions/"+url.PathEscape(p.ID)+"/"+url.PathEscape(p.Token)+"/callback", "", map[string]any{"type": reply, "data": map[string]any{"content": said, "flags": ephemeral}}, nil)
}

// discordSelf returns the bot's own id from the READY event, or "".
func discordSelf(data []byte) string {
	var ready struct {
		User discordUser `json:"user"`
	}
	if json.Unmarshal(data, &ready) != nil {
		return ""
	}
	return ready.User.ID
}

// wrote handles "@bot freeze REASON" in the channel and ignores everything else.
func (d *Discord) wrote(ctx context.Context, self string, data []byte, take func(Press) string) {
	var m discordMessage
	if json.Unmarshal(data, &m) != nil || self == "" || m.Channel != d.channel || m.Author.Bot || m.Webhook != "" {
		return
	}
	command, ok := strings.CutPrefix(strings.Replace(m.Content, "<@!", "<@", 1), "<@"+self+">")
	command, reason, _ := strings.Cut(strings.TrimSpace(command), " ")
	if !ok || command != Freeze {
		return
	}
	said := take(Press{Action: Freeze, User: m.Author.ID, Reason: strings.TrimSpace(reason)})
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	reply := map[string]any{"content": said, "message_reference": map[string]any{"message_id": m.ID, "fail_if_not_exists": false}, "allowed_mentions": map[string]any{"parse": []string{}}}
	_ = send(ctx, http.MethodPost, d.api+"/channels/"+url.PathEscape(d.channel)+"/messages", "Bot "+d.token, reply, nil) // a lost reply does not undo the freeze
}

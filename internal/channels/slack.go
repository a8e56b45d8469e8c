package channels

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"strings"
	"sync"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"callgate/internal/outbound"
)

// Slack posts to a channel of a workspace over Socket Mode, so callgate needs no public address.
type Slack struct {
	channel string
	client  *slack.Client
}

// NewSlack takes the app's token (xapp-…), for the socket, and the bot's (xoxb-…). An empty api means Slack's own.
func NewSlack(api, channel, app, bot string) (*Slack, error) {
	api = cmp.Or(api, "https://slack.com/api")
	if err := checkAddress("url", api); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(app, "xapp-") || !strings.HasPrefix(bot, "xoxb-") {
		return nil, errors.New("slack needs two tokens: the app's, xapp-…, and the bot's, xoxb-…")
	}
	return &Slack{channel, slack.New(bot, slack.OptionAppLevelToken(app), slack.OptionAPIURL(strings.TrimSuffix(api, "/")+"/"), slack.OptionHTTPClient(client))}, nil
}

// slackText escapes Slack's markup and cuts the text to the size of a block.
func slackText(text string) string {
	const room = 2900
	return clip(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text), room)
}

// Show posts the message with its buttons, or changes it.
func (s *Slack) Show(ctx context.Context, where string, m Message) (string, error) {
	plain := func(text string) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, text, false, false)
	}
	text := fence + "\n" + strings.ReplaceAll(slackText(m.Text()), fence, "'''") + "\n" + fence
	blocks := []slack.Block{
		slack.NewSectionBlock(plain(m.Title), nil, nil),
		slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, false), nil, nil),
	}
	var buttons []slack.BlockElement
	for _, action := range m.Actions {
		style := map[string]slack.Style{Approve: slack.StylePrimary, Deny: slack.StyleDanger}[action]
		buttons = append(buttons, slack.NewButtonBlockElement(action, m.Key, plain(strings.ToUpper(action[:1])+action[1:])).WithStyle(style))
	}
	if m.Link != "" && m.Over == "" {
		page := slack.NewButtonBlockElement("page", "", plain("Page"))
		page.URL = m.Link
		buttons = append(buttons, page)
	}
	if buttons != nil {
		blocks = append(blocks, slack.NewActionBlock("", buttons...))
	}
	content := slack.MsgOptionCompose(slack.MsgOptionText(slackText(m.Title), false), slack.MsgOptionBlocks(blocks...), slack.MsgOptionDisableLinkUnfurl())
	if where != "" {
		_, _, _, err := s.client.UpdateMessageContext(ctx, s.channel, where, content)
		if refused, ok := errors.AsType[slack.SlackErrorResponse](err); ok && refused.Err == "message_not_found" {
			return where, nil
		}
		return where, outbound.WithoutAddress(err)
	}
	_, ts, err := s.client.PostMessageContext(ctx, s.channel, content)
	return ts, outbound.WithoutAddress(err)
}

// Listen opens a socket and takes buttons and /freeze until ctx ends or Slack refuses the tokens.
func (s *Slack) Listen(ctx context.Context, take func(Press) string) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	socket := socketmode.New(s.client, socketmode.OptionLog(log.New(io.Discard, "", 0)))
	ended := make(chan error, 1)
	running.Go(func() { ended <- socket.RunContext(ctx) })
	for {
		select {
		case err := <-ended:
			return outbound.WithoutAddress(err)
		case e := <-socket.Events:
			if e.Request != nil && e.Request.EnvelopeID != "" {
				if err := socket.AckCtx(ctx, e.Request.EnvelopeID, nil); err != nil {
					return err
				}
			}
			switch data := e.Data.(type) {
			case *slack.ConnectionErrorEvent:
				return outbound.WithoutAddress(data.ErrorObj)
			case slack.SlashCommand:
				if data.Command == "/freeze" && data.ChannelID == s.channel {
					s.tell(ctx, data.UserID, take(Press{Action: Freeze, User: data.UserID, Reason: data.Text}))
				}
			case slack.InteractionCallback:
				s.pressed(ctx, &data, take)
			}
		}
	}
}

func (s *Slack) pressed(ctx context.Context, p *slack.InteractionCallback, take func(Press) string) {
	if p.Type != slack.InteractionTypeBlockActions || p.Channel.ID != s.channel {
		return
	}
	for _, action := range p.ActionCallback.BlockActions {
		if action.ActionID == Approve || action.ActionID == Deny {
			s.tell(ctx, p.User.ID, take(Press{Key: action.Value, Action: action.ActionID, User: p.User.ID}))
		}
	}
}

// tell shows a text to one person in the channel.
func (s *Slack) tell(ctx context.Context, user, text string) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, _ = s.client.PostEphemeralContext(ctx, s.channel, user, slack.MsgOptionText(text, true)) // the message itself shows how the question ends
}

package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// lookAgain is how often the board is looked at when nothing happens: questions end by time too, and what
// could not be posted is tried again.
const lookAgain = 3 * time.Second

// post brings the chats in line with the board until ctx ends.
func (a *approver) post(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		for _, text := range a.board.news() {
			a.tell(ctx, "Attention: "+text+".")
		}
		for _, id := range a.board.changed() {
			if !a.show(ctx, id) {
				break // Telegram wants a pause
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-a.board.dirty:
		case <-tick.C:
		}
	}
}

// tell writes a message into every chat.
func (a *approver) tell(ctx context.Context, text string) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for _, chat := range a.o.Chats {
		if _, err := a.bot.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, Text: text}); err != nil {
			a.log.Warn("telegram: a notice was not posted", "chat", chat, "text", text, "error", a.masked(err))
		}
	}
}

// show writes or changes the messages of one question. It is false when the rest has to wait.
func (a *approver) show(ctx context.Context, id string) bool {
	a.posting.Lock()
	defer a.posting.Unlock()
	f, posted := a.board.look(id)
	for _, chat := range a.o.Chats {
		message, known := posted[chat]
		if known && message == 0 {
			continue
		}
		message, err := a.write(ctx, chat, message, f)
		switch {
		case err == nil:
		case errors.Is(err, bot.ErrorForbidden), errors.Is(err, bot.ErrorBadRequest), errors.Is(err, bot.ErrorNotFound):
			a.log.Warn("telegram: the chat does not take the message; the question stands without it", "chat", chat, "error", a.masked(err))
		default:
			if ctx.Err() == nil {
				a.log.Warn("telegram: not posted, trying again", "chat", chat, "error", a.masked(err))
			}
			a.board.done(id, "", posted)
			a.pause(ctx, err)
			return false
		}
		posted[chat] = message
	}
	a.board.done(id, f.String(), posted)
	return true
}

// write sends a message, or changes the one that is there, and returns its id: 0 when there is none to change
// later. What is on its way when ctx ends is not given up: a message whose id nobody knows would keep its
// buttons.
func (a *approver) write(ctx context.Context, chat int64, message int, f face) (int, error) {
	if ctx.Err() != nil {
		return message, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	keyboard := models.InlineKeyboardMarkup{InlineKeyboard: f.rows}
	if f.rows == nil {
		keyboard.InlineKeyboard = [][]models.InlineKeyboardButton{}
	}
	preview := &models.LinkPreviewOptions{IsDisabled: new(true)} // nobody is to open addresses that a model wrote
	if message != 0 {
		_, err := a.bot.EditMessageText(ctx, &bot.EditMessageTextParams{
			ChatID: chat, MessageID: message, Text: f.html, ParseMode: models.ParseModeHTML, ReplyMarkup: keyboard, LinkPreviewOptions: preview,
		})
		if err != nil && strings.Contains(err.Error(), "message is not modified") {
			err = nil
		}
		return message, err
	}
	if len(f.rows) == 0 { // over before it was posted
		return 0, nil
	}
	sent, err := a.bot.SendMessage(ctx, &bot.SendMessageParams{
		ChatID: chat, Text: f.html, ParseMode: models.ParseModeHTML, ReplyMarkup: keyboard, LinkPreviewOptions: preview,
	})
	if err != nil {
		return 0, err
	}
	return sent.ID, nil
}

// pause waits as long as Telegram asked for, within reason.
func (a *approver) pause(ctx context.Context, err error) {
	wait := (*bot.TooManyRequestsError)(nil)
	if !errors.As(err, &wait) {
		return
	}
	select {
	case <-time.After(min(max(time.Duration(wait.RetryAfter)*time.Second, time.Second), time.Minute)):
	case <-ctx.Done():
	}
}

// update takes one thing that happened in a chat. Updates come one after the other.
func (a *approver) update(ctx context.Context, _ *bot.Bot, u *models.Update) {
	switch {
	case u.CallbackQuery != nil:
		a.pressed(ctx, u.CallbackQuery)
	case u.Message != nil:
		a.wrote(ctx, u.Message)
	}
}

// pressed takes a button.
func (a *approver) pressed(ctx context.Context, p *models.CallbackQuery) {
	var chat int64
	switch {
	case p.Message.Message != nil:
		chat = p.Message.Message.Chat.ID
	case p.Message.InaccessibleMessage != nil:
		chat = p.Message.InaccessibleMessage.Chat.ID
	}
	if !a.allowed(chat) {
		a.log.Warn("telegram: a button was pressed in a chat that is not allowed", "chat", chat, "person", person(&p.From))
		return
	}
	key, action, _ := strings.Cut(p.Data, ":")
	say := "This button is not good any more: the question changed or is over."
	if f := a.board.press(key, action); f != nil {
		say = a.answer(f, action, "", person(&p.From))
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := a.bot.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: p.ID, Text: say}); err != nil {
		a.log.Warn("telegram: a button was not confirmed", "error", a.masked(err))
	}
}

// wrote takes a message. A reply to a question denies it with the text as feedback; everything else is talk.
func (a *approver) wrote(ctx context.Context, m *models.Message) {
	if !a.allowed(m.Chat.ID) {
		a.log.Warn("telegram: a message came from a chat that is not allowed; to let it answer, add it to --telegram-chats", "chat", m.Chat.ID, "person", person(m.From))
		return
	}
	if m.From != nil && m.From.IsBot {
		return
	}
	if a.freezes(ctx, m) || m.ReplyToMessage == nil {
		return
	}
	a.posting.Lock()
	defer a.posting.Unlock()
	say := "This question is over already."
	if f := a.board.at(m.Chat.ID, m.ReplyToMessage.ID); f != nil {
		say = a.answer(f, actionDeny, m.Text, person(m.From))
	} else if m.ReplyToMessage.From == nil || m.ReplyToMessage.From.ID != a.bot.ID() {
		return // people talk to each other
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := a.bot.SendMessage(ctx, &bot.SendMessageParams{ChatID: m.Chat.ID, Text: say, ReplyParameters: &models.ReplyParameters{MessageID: m.ID}}); err != nil {
		a.log.Warn("telegram: a reply was not confirmed", "error", a.masked(err))
	}
}

// freezes takes /freeze, with a reason behind it, and /unfreeze, and reports whether the message was one.
func (a *approver) freezes(ctx context.Context, m *models.Message) bool {
	command, reason, _ := strings.Cut(strings.TrimSpace(m.Text), " ")
	command, _, _ = strings.Cut(command, "@") // in groups the bot's name follows
	if a.o.Freeze == nil || command != "/freeze" && command != "/unfreeze" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	say := "Frozen: nothing but reading goes through, in all sessions. /unfreeze ends it."
	if command == "/unfreeze" {
		say = "Not frozen any more."
	}
	if err := a.o.Freeze(ctx, command == "/unfreeze", strings.TrimSpace(reason), person(m.From)); err != nil {
		a.log.Warn("telegram: a freeze was not changed", "error", err)
		say = "That did not work: " + err.Error()
	}
	if _, err := a.bot.SendMessage(ctx, &bot.SendMessageParams{ChatID: m.Chat.ID, Text: say, ReplyParameters: &models.ReplyParameters{MessageID: m.ID}}); err != nil {
		a.log.Warn("telegram: a reply was not confirmed", "error", a.masked(err))
	}
	return true
}

// answer sends what a person decided about the arguments that the message shows, and says what to tell them.
// What became of it comes back as a frame and changes the message.
func (a *approver) answer(f *wire.ToolApproveRequest, action, feedback, who string) (say string) {
	answer := wire.ToolApprove{
		Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Person: who,
	}
	switch action {
	case actionApprove:
		answer.Decision, say = "approve", "Approved."
	case actionDeny:
		answer.Decision, answer.Feedback, say = "reject", feedback, "Denied."
	case actionSession, actionWorker:
		answer.Decision, answer.Scope, say = "always", action, "Approved, always."
	case actionAlways:
		return "How far?"
	default:
		return ""
	}
	if err := a.o.Client.Answer(answer); err != nil {
		a.log.Warn("telegram: an answer was not sent", "error", err)
		return "Not sent: there is no connection to callgate."
	}
	return say
}

// person is what the audit trail calls whoever answered: a name that may be shared, and the number that is not.
func person(u *models.User) string {
	if u == nil {
		return "somebody"
	}
	name := u.Username
	if name == "" {
		name = u.FirstName
	}
	return fmt.Sprintf("%s#%d", visible.Text(name), u.ID)
}

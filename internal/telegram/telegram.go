// Package telegram is the approver in a Telegram chat, with buttons and replies.
//
// It decides nothing, and can do no more than any client of the companion. It is the model for approvers in other
// chats.
//
// A chat is a weaker place than the page: messages pass through a company's servers, screens are small, and buttons
// stay where they were when the question has changed. So a button is good only for the arguments above it, what is not
// shown whole can only be denied, and "always" asks once more.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"callgate/internal/companion/wire"
)

// Client is what an approver needs of the companion. *client.Client is one.
type Client interface {
	Events() <-chan wire.Event
	Answer(wire.ToolApprove) error
}

// Options say where questions go. Client, Token and Chats are required.
type Options struct {
	Client Client
	Token  string  // of the bot; it MUST NOT come from the command line
	Chats  []int64 // everybody in one of them may answer; nobody else is heard
	API    string  // base URL of the Bot API; "" means Telegram's
	Logger *slog.Logger
	// Freeze lets nothing but reading through from now on, for a reason, or ends that. nil takes no /freeze.
	Freeze func(ctx context.Context, end bool, reason, person string) error
}

const (
	pollTime = 50 * time.Second // how long one request for updates may take
	callTime = 10 * time.Second // and any other
	farewell = 5 * time.Second  // for the messages that are left when the approver ends
)

// approver is a running Run.
type approver struct {
	o     Options
	bot   *bot.Bot
	log   *slog.Logger
	board *board

	posting sync.Mutex // held while messages are written: until then nobody knows their ids
}

// Run shows and answers until ctx or the connection to callgate ends for good. When it returns nothing of it
// runs any more, and the buttons that it leaves in the chats are gone, as far as Telegram could be reached.
func Run(ctx context.Context, o Options) error {
	if len(o.Chats) == 0 {
		return errors.New("telegram: no chat is allowed, so nobody could answer: name one with --telegram-chats")
	}
	a := &approver{o: o, log: o.Logger, board: newBoard()}
	options := []bot.Option{
		bot.WithHTTPClient(pollTime, &http.Client{
			Timeout: pollTime + callTime,
			// The address of every request holds the token: it goes where it was sent and nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
		bot.WithAllowedUpdates(bot.AllowedUpdates{"message", "callback_query"}),
		bot.WithDefaultHandler(a.update),
		bot.WithNotAsyncHandlers(),
		bot.WithErrorsHandler(func(err error) { a.log.Warn("telegram", "error", a.masked(err)) }),
	}
	if o.API != "" {
		options = append(options, bot.WithServerURL(strings.TrimSuffix(o.API, "/")))
	}
	var err error
	if a.bot, err = bot.New(o.Token, options...); err != nil {
		return fmt.Errorf("telegram: the bot does not answer, or its token is not valid: %s", a.masked(err))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { a.bot.Start(ctx) })
	running.Go(func() { a.post(ctx) })
	err = a.listen(ctx)
	cancel()
	running.Wait()
	a.leave()
	return err
}

// masked is what an error says without the token, which the library puts into addresses.
func (a *approver) masked(err error) string {
	return strings.ReplaceAll(err.Error(), a.o.Token, "***")
}

// listen takes what callgate says. It never waits for Telegram: what it learns is posted by another goroutine.
func (a *approver) listen(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-a.o.Client.Events():
			if !ok {
				return ctx.Err()
			}
			switch f := event.Frame.(type) {
			case wire.Connected:
				a.log.Info("telegram: connected to callgate", "address", f.Address)
			case wire.Notice:
				a.board.notice(f.Problems)
			case wire.Disconnected:
				if f.Final {
					return f.Err
				}
				a.log.Warn("telegram: the connection to callgate is lost; trying again", "error", f.Err)
			case *wire.ToolApproveRequest:
				a.board.ask(f)
			case *wire.ToolApproveResolved:
				a.board.resolve(f)
			case *wire.Error:
				a.board.failed(f)
			}
		}
	}
}

// leave takes the buttons of what still waits away: nobody listens to them any more.
func (a *approver) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	a.board.abandon()
	for _, id := range a.board.changed() {
		a.show(ctx, id)
	}
}

func (a *approver) allowed(chat int64) bool { return slices.Contains(a.o.Chats, chat) }

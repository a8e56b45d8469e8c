// Package desktop asks people in desktop notifications when no page or terminal is open.
//
// It decides nothing, and can do no more than any client of the companion. A notification is small and easily clicked:
// Approve is offered for low risk alone, when all arguments are shown and nothing is marked. Deny is always offered,
// and a click on the text opens the page. A notification that is closed answers nothing.
package desktop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// Client is what an approver needs of the companion. *client.Client is one.
type Client interface {
	Events() <-chan wire.Event
	Answer(wire.ToolApprove) error
}

// Options say whose questions are shown. Client and Open are required.
type Options struct {
	Client Client
	Open   func() error // shows the page
	Logger *slog.Logger
	// Rest is how long a notification is there before Approve counts: it may appear under the pointer. 0 means 400 ms.
	Rest time.Duration
}

// What a click on a notification asks for.
const (
	actionApprove = "approve"
	actionDeny    = "reject"
	actionOpen    = "default" // a click on the text, as notification servers name it
)

// notice is one notification.
type notice struct {
	title, text string
	actions     []string // of those above; a desktop without buttons shows none
}

// click is an answer of a person to the notification with the id.
type click struct {
	id     uint32
	action string
}

// board shows notifications on one kind of desktop, each until it is answered or hidden. The ids are the board's own.
type board interface {
	show(n notice) (id uint32, err error)
	hide(id uint32) error
	clicks() <-chan click // nil on a desktop without buttons; closed when the desktop is gone
	close() error
}

// approver is a running Run.
type approver struct {
	Options
	board board
	shown map[string]uint32 // notification by call
	calls map[uint32]asked  // and back
}

// asked is a call that is shown.
type asked struct {
	*wire.ToolApproveRequest
	since time.Time
}

// Run shows and answers until ctx ends or the connection to callgate or to the desktop ends for good. It leaves no
// notification behind.
func Run(ctx context.Context, o Options) error {
	b, err := openBoard()
	if err != nil {
		return fmt.Errorf("desktop: no notifications can be shown: %w", err)
	}
	a := &approver{Options: o, board: b, shown: map[string]uint32{}, calls: map[uint32]asked{}}
	a.Rest = cmp.Or(o.Rest, 400*time.Millisecond)
	defer func() {
		a.hideAll()
		if err := b.close(); err != nil {
			o.Logger.Warn("desktop", "error", err)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-o.Client.Events():
			if !ok {
				return ctx.Err()
			}
			if err := a.hear(event); err != nil {
				return err
			}
		case c, ok := <-b.clicks():
			if !ok {
				return errors.New("desktop: the notification service is gone")
			}
			a.clicked(c)
		}
	}
}

// hear takes what callgate says. The error ends the approver.
func (a *approver) hear(event wire.Event) error {
	switch f := event.Frame.(type) {
	case wire.Connected:
		a.hideAll() // what waits is told again
		a.Logger.Info("desktop: connected to callgate", "address", f.Address)
	case wire.Disconnected:
		a.hideAll()
		if f.Final {
			return f.Err
		}
	case *wire.ToolApproveRequest:
		a.ask(f)
	case *wire.ToolApproveResolved:
		a.hide(f.ToolCallID)
	case *wire.Error:
		if f.ToolCallID != "" && f.Code != wire.CodeApprovalTimeout {
			a.Logger.Warn("desktop: the answer did nothing", "call", f.ToolCallID, "reason", f.Message)
		}
	}
	return nil
}

// ask shows a call. One whose arguments were edited is shown anew.
func (a *approver) ask(f *wire.ToolApproveRequest) {
	a.hide(f.ToolCallID)
	id, err := a.board.show(noticeOf(f))
	if err != nil {
		a.Logger.Warn("desktop: a call is not shown", "call", f.ToolCallID, "error", err)
		return
	}
	a.shown[f.ToolCallID], a.calls[id] = id, asked{f, time.Now()}
}

func (a *approver) hide(call string) {
	id, ok := a.shown[call]
	if !ok {
		return
	}
	delete(a.shown, call)
	delete(a.calls, id)
	if err := a.board.hide(id); err != nil {
		a.Logger.Warn("desktop", "error", err)
	}
}

func (a *approver) hideAll() {
	for call := range a.shown {
		a.hide(call)
	}
}

// clicked does what a person wants, if the notification offered it.
func (a *approver) clicked(c click) {
	f, ok := a.calls[c.id]
	if !ok {
		return
	}
	var err error
	switch {
	case c.action == actionOpen:
		err = a.Open()
	case c.action == actionApprove && time.Since(f.since) < a.Rest:
		a.ask(f.ToolApproveRequest) // the click has closed it
	case c.action == actionDeny, c.action == actionApprove && approvable(f.ToolApproveRequest):
		err = a.Client.Answer(wire.ToolApprove{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: c.action})
	}
	if err != nil {
		a.Logger.Warn("desktop: nothing was done", "call", f.ToolCallID, "error", err)
	}
}

// longestArguments is how many bytes of arguments a notification shows; desktops cut longer ones.
const longestArguments = 200

// approvable reports whether a notification is enough to say yes.
func approvable(f *wire.ToolApproveRequest) bool {
	return f.Risk.Label == "low" && len(f.Marks) == 0 && len(f.Args) <= longestArguments
}

func noticeOf(f *wire.ToolApproveRequest) notice {
	n := notice{title: fmt.Sprintf("%s asks: %s (%s risk)", visible.Text(cmp.Or(f.Client.Name, "A host")), visible.Text(f.Tool), f.Risk.Label)}
	lines := []string{visible.Text(f.Summary)}
	if f.Origin.Folder != "" {
		lines = append(lines, "In "+visible.Text(f.Origin.Folder)+".")
	}
	for _, m := range f.Marks {
		lines = append(lines, "! "+visible.Text(m.Text))
	}
	if len(f.Args) <= longestArguments {
		lines = append(lines, visible.Text(string(f.Args)))
	} else {
		lines = append(lines, "The arguments are too long for a notification: click to see them.")
	}
	n.text = strings.Join(lines, "\n")
	if approvable(f) {
		n.actions = append(n.actions, actionApprove)
	}
	n.actions = append(n.actions, actionDeny, actionOpen)
	return n
}

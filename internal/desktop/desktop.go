// Package desktop asks people in desktop notifications when no page or terminal is open.
//
// It decides nothing, and can do no more than any client of the companion. A notification is small and easily clicked
// by mistake. So it offers Approve only for low risk, if all arguments are shown and nothing is marked. It always
// offers Deny, and a click on the text opens the page. Closing a notification answers nothing.
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

// Client is the part of a companion client that Run uses. *client.Client implements it.
type Client interface {
	Events() <-chan wire.Event
	Answer(wire.ToolApprove) error
}

// Options holds the options of Run. Client, Open and Logger are required.
type Options struct {
	Client Client
	Open   func() error // opens the page
	Logger *slog.Logger
	// Rest is how long a notification must be there before Approve counts: it may pop up under the pointer. 0 is 400
	// ms.
	Rest time.Duration
}

// Actions of a click on a notification.
const (
	actionApprove = "approve"
	actionDeny    = "reject"
	actionOpen    = "default" // a click on the text, in the words of notification servers
)

// notice is the content of a notification.
type notice struct {
	title, text string
	actions     []string // some of the actions above; not shown on a desktop without buttons
}

// click is a click on the notification with the id.
type click struct {
	id     uint32
	action string
}

// board shows notifications on one kind of desktop, each until it is answered or hidden. The board chooses the ids.
type board interface {
	show(n notice) (id uint32, err error)
	hide(id uint32) error
	clicks() <-chan click // nil on a desktop without buttons; closed when the desktop is gone
	close() error
}

// approver is the state of one Run.
type approver struct {
	Options
	board board
	shown map[string]uint32 // ids of notifications, by call
	calls map[uint32]asked  // the reverse, by id
}

// asked is a call that is shown.
type asked struct {
	*wire.ToolApproveRequest
	since time.Time
}

// Run shows questions and takes answers until ctx ends, or the connection to callgate or the desktop ends for good. It
// removes its notifications.
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

// hear handles an event from callgate. An error ends the approver.
func (a *approver) hear(event wire.Event) error {
	switch f := event.Frame.(type) {
	case wire.Connected:
		a.hideAll() // what waits is shown again
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

// ask shows a call. If it was already shown, as before an edit of its arguments, ask replaces the notification.
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

// clicked performs the action, if the notification offered it.
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
		a.ask(f.ToolApproveRequest) // the click has closed the notification
	case c.action == actionDeny, c.action == actionApprove && approvable(f.ToolApproveRequest):
		err = a.Client.Answer(wire.ToolApprove{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: c.action})
	}
	if err != nil {
		a.Logger.Warn("desktop: nothing was done", "call", f.ToolCallID, "error", err)
	}
}

// longestArguments is how many bytes of arguments a notification shows. Desktops cut longer texts.
const longestArguments = 200

// approvable reports whether a notification shows enough to approve the call.
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

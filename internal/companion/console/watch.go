// Package console is the approver for a plain terminal and for programs: one approval at a time, or one frame a line.
// Nothing typed before a question appeared counts as its answer.
package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/companion/client"
	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// Watch shows pending approvals one at a time and takes answers from the console. It returns when the person leaves,
// ctx ends, or the connection is lost for good. With once, it also returns when the first approval that it received is
// over, no matter who ended it.
func Watch(ctx context.Context, client *client.Client, console *Console, once bool) (wire.Outcome, error) {
	w := &watcher{client: client, console: console, skipped: map[string]bool{}}
	for {
		select {
		case <-ctx.Done():
			return wire.Ended, nil
		case event, ok := <-client.Events():
			if !ok {
				return wire.Ended, ctx.Err()
			}
			over, err := w.event(event)
			if err != nil {
				return wire.Ended, err
			}
			if once && over != nil {
				return wire.OutcomeOf(over.Decision), nil
			}
		case line, ok := <-console.lines:
			if !ok {
				return wire.Ended, nil
			}
			leave, err := w.line(line)
			if leave || err != nil {
				return wire.Ended, err
			}
		}
	}
}

// watcher is the state of Watch.
type watcher struct {
	client  *client.Client
	console *Console
	waiting []*wire.ToolApproveRequest // oldest first
	skipped map[string]bool

	current *wire.ToolApproveRequest // the approval in the prompt, or nil
	turn    int                      // of its prompt; lines of other turns do not count
	viewed  bool                     // all of its arguments were shown
	sent    bool                     // an answer is on its way, so no other is taken
}

// event handles one event. over is the end of a known approval, or nil.
func (w *watcher) event(e wire.Event) (over *wire.ToolApproveResolved, err error) {
	switch f := e.Frame.(type) {
	case wire.Connected:
		return nil, w.reset(fmt.Sprintf("Connected to callgate at %s.", f.Address))
	case wire.Notice:
		for _, problem := range f.Problems {
			if err := w.say("Attention: %s.", problem); err != nil {
				return nil, err
			}
		}
	case wire.Disconnected:
		if f.Final {
			return nil, f.Err
		}
		note := "The connection is lost; trying again."
		if w.sent {
			note += " The last answer may not have arrived."
		}
		return nil, w.reset(note)
	case *wire.ToolApproveRequest:
		return nil, w.add(f)
	case *wire.ToolApproveResolved:
		return w.remove(f)
	case *wire.Error:
		return nil, w.failed(f)
	case *wire.AutonomyChanged:
		if f.By != "" {
			return nil, w.say("Autonomy of session %s is now %s, set by %s.", f.SessionID, f.Level, f.By)
		}
	}
	return nil, nil
}

func (w *watcher) reset(note string) error {
	w.waiting, w.current, w.sent = nil, nil, false
	clear(w.skipped)
	if err := w.say("%s", note); err != nil {
		return err
	}
	return w.next()
}

// add takes in an approval. If it is already known, its arguments were edited: the approval is shown again, because
// what the person looked at is void.
func (w *watcher) add(f *wire.ToolApproveRequest) error {
	known := slices.IndexFunc(w.waiting, func(o *wire.ToolApproveRequest) bool { return o.ToolCallID == f.ToolCallID })
	if known < 0 {
		w.waiting = append(w.waiting, f)
	} else {
		w.waiting[known] = f
		delete(w.skipped, f.ToolCallID)
	}
	if w.current != nil && w.current.ToolCallID == f.ToolCallID {
		w.current = nil
		if err := w.say("The arguments of this call changed. Look at it again."); err != nil {
			return err
		}
	}
	if w.current != nil {
		return w.say("%s waits too (%d more).", f.Tool, len(w.waiting)-1)
	}
	return w.next()
}

func (w *watcher) remove(f *wire.ToolApproveResolved) (*wire.ToolApproveResolved, error) {
	at := slices.IndexFunc(w.waiting, func(o *wire.ToolApproveRequest) bool { return o.ToolCallID == f.ToolCallID })
	if at < 0 {
		return nil, nil
	}
	tool := w.waiting[at].Tool
	w.waiting = slices.Delete(w.waiting, at, at+1)
	current := w.current != nil && w.current.ToolCallID == f.ToolCallID
	if err := w.say("%s", resolvedText(tool, f)); err != nil {
		return nil, err
	}
	if !current {
		return f, nil
	}
	w.current, w.sent = nil, false
	return f, w.next()
}

func resolvedText(tool string, f *wire.ToolApproveResolved) string {
	words := map[string]string{
		"approve": "was approved", "always": "was approved, always", "reject": "was rejected",
		"timeout": "timed out and was denied", "withdrawn": "was withdrawn",
	}
	word, ok := words[f.Decision]
	if !ok {
		word = "ended: " + f.Decision
	}
	text := fmt.Sprintf("%s %s by %s.", tool, word, f.By)
	if f.Reason != "" {
		text += " " + f.Reason
	}
	return text
}

// failed shows an error. If it concerns the current approval, the answer had no effect.
func (w *watcher) failed(f *wire.Error) error {
	if f.Code == wire.CodeApprovalTimeout {
		return nil // the resolved frame said so already
	}
	if err := w.say("callgate says: %s", f.Message); err != nil {
		return err
	}
	if w.current == nil || f.ToolCallID != w.current.ToolCallID {
		return nil
	}
	w.sent = false
	return w.prompt()
}

// next shows the oldest approval that was not skipped, or the idle prompt.
func (w *watcher) next() error {
	w.current, w.sent, w.viewed = nil, false, false
	for _, f := range w.waiting {
		if !w.skipped[f.ToolCallID] {
			w.current = f
			break
		}
	}
	if w.current == nil {
		_, err := w.console.ask(idlePrompt)
		return err
	}
	text, complete := show(w.current, time.Now(), false)
	w.viewed = complete
	if err := w.console.print(text); err != nil {
		return err
	}
	return w.prompt()
}

func (w *watcher) prompt() (err error) {
	w.turn, err = w.console.ask(visible.Text(w.current.Tool) + ": y n a s ? > ")
	return err
}

const help = `y                              approve this call, once
n [text]                       reject it; the text goes to the model
a [numbers] [session|worker]   approve, and always allow what is listed under these numbers
v                              show all arguments
s                              skip: leave it to others, or to its timeout
q                              leave
`

// line handles a typed line. It ignores empty lines and lines typed at an earlier prompt.
func (w *watcher) line(l line) (leave bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(l.text), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == "":
		return false, nil
	case word == "q":
		return true, nil
	case w.current == nil:
		return false, w.say("No pending approvals.")
	case w.sent:
		return false, w.say("An answer is being sent.")
	case l.turn != w.turn:
		return false, w.say("That was typed before this prompt, so it was ignored.")
	}
	switch word {
	case "y":
		if rest != "" {
			return false, w.say("y takes nothing after it. Nothing was sent.")
		}
		return false, w.answer(wire.ToolApprove{Decision: "approve"})
	case "n":
		return false, w.answer(wire.ToolApprove{Decision: "reject", Feedback: rest})
	case "a":
		f, problem := chooseGrants(w.current.Always, strings.Fields(rest))
		if problem != "" {
			return false, w.say("%s Nothing was sent.", problem)
		}
		return false, w.answer(f)
	case "v":
		text, _ := show(w.current, time.Now(), true)
		if err := w.console.print(text); err != nil {
			return false, err
		}
		w.viewed = true
		return false, w.prompt()
	case "s":
		w.skipped[w.current.ToolCallID] = true
		return false, w.next()
	}
	return false, w.console.print(help)
}

// chooseGrants reads the words after "a". problem says what is wrong with them, or is "".
func chooseGrants(offers []wire.Offer, words []string) (f wire.ToolApprove, problem string) {
	f.Decision = "always"
	if len(offers) == 0 {
		return f, "This call cannot be allowed always."
	}
	for _, word := range words {
		if word == "session" || word == "worker" {
			if f.Scope != "" {
				return f, "Name one scope."
			}
			f.Scope = word
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(offers) {
			return f, fmt.Sprintf("%q is neither a number from 1 to %d nor session or worker.", word, len(offers))
		}
		f.Grants = append(f.Grants, wire.GrantChoice{Tool: offers[n-1].Tool, Pattern: offers[n-1].Pattern})
	}
	return f, ""
}

// answer sends an answer to the current approval.
func (w *watcher) answer(f wire.ToolApprove) error {
	if !w.viewed && f.Decision != "reject" {
		return w.say("Not all arguments were shown yet. Type v first. Nothing was sent.")
	}
	f.SessionID, f.ToolCallID, f.ArgsDigest = w.current.SessionID, w.current.ToolCallID, w.current.ArgsDigest
	switch err := w.client.Answer(f); {
	case errors.Is(err, wire.ErrNotBack):
		return w.say("The process that asks has not reached the new hub yet. Nothing was sent; answer again in a moment.")
	case errors.Is(err, wire.ErrClosed):
		return w.say("There is no connection. Nothing was sent.")
	case err != nil:
		return w.say("The answer may not have arrived: %v", err)
	}
	w.sent = true
	return nil
}

// say prints one line. The arguments may come from anywhere.
func (w *watcher) say(format string, args ...any) error {
	return w.console.print(visible.Text(fmt.Sprintf(format, args...)) + "\n")
}

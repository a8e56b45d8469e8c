// Package channels asks people in chats, on phones, and through webhooks.
//
// A Place is one such chat, phone or webhook. This package holds what all places share: who may answer, when to ask,
// and which answers count. It does not decide, and has no more rights than any other client of the companion.
//
// A message passes through other people's machines, and its buttons stay in the chat. So a key is good for one answer,
// and only to the arguments shown with it. No answer holds for more than one call or ends a freeze. A linked person can
// approve a call of low or medium risk if the message shows all of it. Any other call they can only deny, or open on
// the page.
package channels

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/oncall"
	"callgate/internal/periodic"
	"callgate/internal/visible"
	"callgate/permissions"
)

// Client is the part of a companion client that Run uses.
type Client interface {
	Events() <-chan wire.Event
	Answer(wire.ToolApprove) error
}

// Place shows messages and may take answers. Show and Listen may be called at the same time.
type Place interface {
	// Show posts the message, or changes the one at where ("" for a new message), and returns where it is now. A place
	// that cannot change messages posts a new one when the change is worth it. A message that is gone needs no change.
	Show(ctx context.Context, where string, m Message) (string, error)
	// Listen passes answers to take until ctx ends or the connection is lost. take returns what happened to the answer;
	// the place may show that text. Listen MUST NOT pass on answers that it cannot attribute.
	Listen(ctx context.Context, take func(Press) (said string)) error
}

// Message is a question as a place shows it.
type Message struct {
	Key     string   `json:"key"` // an answer must carry it
	Title   string   `json:"title"`
	Lines   []string `json:"lines"`
	Risk    string   `json:"risk"`              // low, medium, high or critical
	Actions []string `json:"actions"`           // approve and deny, or fewer
	Link    string   `json:"link,omitempty"`    // to the page
	Over    string   `json:"over,omitempty"`    // how it ended; "" while it waits
	Expires string   `json:"expires,omitempty"` // RFC 3339
}

// Text returns the message without its title.
func (m Message) Text() string {
	lines := slices.Clone(m.Lines)
	if m.Over != "" {
		lines = append(lines, m.Over)
	}
	return strings.Join(lines, "\n")
}

// Press is an answer or a freeze. A freeze needs no key where the place knows the user.
type Press struct {
	Key    string `json:"key"`
	Action string `json:"action"`
	User   string `json:"user"`             // the user's name in the place
	Reason string `json:"reason,omitempty"` // of a denial or freeze, for the model
}

// Actions of a Press.
const (
	Approve = "approve"
	Deny    = "deny"
	Freeze  = "freeze" // allow only reads from now on; a chat cannot end a freeze
)

// Channel is a place and what is allowed there.
type Channel struct {
	Name   string
	Place  Place
	People map[string]string // maps names in the place to persons; everybody else is ignored
	After  time.Duration     // how long a question waits before it is posted here
	Quiet  permissions.Hours // when nothing new is posted; never, if zero
	Page   string            // address of the page, for links; "" for no links
	Told   bool              // the place only informs; nobody answers there
	OnCall *oncall.Calendar  // picks which of People are on call; nil means all of them
}

// Options holds the options of Run.
type Options struct {
	Client   Client
	Channels []Channel
	Logger   *slog.Logger
	// Freeze blocks everything but reads from now on. If nil, channels refuse to freeze.
	Freeze func(ctx context.Context, reason, person string) error
}

const (
	lookAgain = time.Second
	callTime  = 15 * time.Second
	farewell  = 5 * time.Second
	again     = 5 * time.Second // pause before reconnecting
)

// approver is the state of one Run.
type approver struct {
	Options
	mu        sync.Mutex
	questions map[string]*question // by call id
	poked     []chan struct{}      // one for each channel
	calendars []string             // what is wrong with each channel's calendar, or ""
}

type question struct {
	request  *wire.ToolApproveRequest
	since    time.Time
	key      string
	answered bool // a press answered it, but the result is not known yet
	over     string
	posted   []posted // one for each channel
}

type posted struct {
	where string
	shown string // state of the message that the place shows; "" for none
	key   string
	tried time.Time // when posting last failed
	busy  bool      // a new message is on its way
}

// Run posts questions and takes answers until ctx ends or the connection to callgate ends for good.
func Run(ctx context.Context, o Options) error {
	a := &approver{Options: o, questions: map[string]*question{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for range o.Channels {
		a.poked, a.calendars = append(a.poked, make(chan struct{}, 1)), append(a.calendars, "")
	}
	for i := range o.Channels {
		running.Go(func() { a.post(ctx, i) })
		running.Go(func() { a.listen(ctx, i) })
	}
	err := a.follow(ctx)
	cancel()
	running.Wait()
	return err
}

// follow handles the events from callgate.
func (a *approver) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-a.Client.Events():
			if !ok {
				return ctx.Err()
			}
			switch f := event.Frame.(type) {
			case wire.Disconnected:
				if f.Final {
					return f.Err
				}
				a.Logger.Warn("channels: the connection to callgate is lost; trying again", "error", f.Err)
			case *wire.ToolApproveRequest:
				a.ask(f)
			case *wire.ToolApproveResolved:
				a.end(f.ToolCallID, ending(f))
			case *wire.Error:
				if f.Code == wire.CodeNotPending {
					a.end(f.ToolCallID, "It was over already.")
				} else if f.ToolCallID != "" {
					a.failed(f)
				}
			}
		}
	}
}

func (a *approver) ask(f *wire.ToolApproveRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.questions[f.ToolCallID]
	switch {
	case q == nil:
		q = &question{since: time.Now(), posted: make([]posted, len(a.Channels))}
		a.questions[f.ToolCallID] = q
	case q.over == "" && q.request.ArgsDigest == f.ArgsDigest && !q.answered: // repeated after a reconnect
		return
	} // an answer that the connection lost must not be the last one
	q.request, q.key, q.over, q.answered = f, rand.Text(), "", false
	a.poke()
}

func (a *approver) end(call, how string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.questions[call]; q != nil && q.over == "" {
		q.over = how
		a.poke()
	}
}

// failed gives the question a new key after a failed answer, so that somebody can try again.
func (a *approver) failed(f *wire.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.questions[f.ToolCallID]; q != nil && q.answered && q.over == "" {
		a.Logger.Warn("channels: the answer had no effect", "call", f.ToolCallID, "reason", f.Message)
		q.answered, q.key = false, rand.Text()
		a.poke()
	}
}

// poke wakes all posters. The caller holds mu.
func (a *approver) poke() {
	for _, c := range a.poked {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// post keeps the messages of one channel up to date until ctx ends.
func (a *approver) post(ctx context.Context, i int) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		for _, call := range a.due(i, time.Now()) {
			if ctx.Err() == nil && !a.show(ctx, i, call) {
				break
			}
		}
		select {
		case <-ctx.Done():
			a.leave(i)
			return
		case <-a.poked[i]:
		case <-tick.C:
		}
	}
}

// due returns the calls whose message in the channel is out of date, and forgets the questions whose end every channel
// shows. Calls that the place has not refused come first, then the oldest, so that a refused message does not block the
// others.
func (a *approver) due(i int, now time.Time) (calls []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.Channels[i]
	for call, q := range a.questions {
		if q.over == "" && now.After(q.request.ExpiresAt.Add(lookAgain)) {
			q.over = "It is over."
		}
		p := &q.posted[i]
		switch {
		case p.where == "" && (q.over != "" || now.Sub(q.since) < c.After || c.Quiet != (permissions.Hours{}) && c.Quiet.Hold(now.Local()) || c.OnCall != nil && !c.Told && len(a.onCall(i, now)) == 0):
		case p.shown != a.message(q, i).fingerprint():
			calls = append(calls, call)
		}
		if q.over != "" && !q.unshown(a) {
			delete(a.questions, call)
		}
	}
	slices.SortFunc(calls, func(x, y string) int {
		one, other := a.questions[x], a.questions[y]
		return cmp.Or(one.posted[i].tried.Compare(other.posted[i].tried), one.since.Compare(other.since))
	})
	return calls
}

// onCall returns the people of the channel who are asked and heard now. It returns nobody if the calendar cannot be
// read. The caller holds mu.
func (a *approver) onCall(i int, now time.Time) map[string]string {
	c := &a.Channels[i]
	if c.OnCall == nil {
		return c.People
	}
	names, err := c.OnCall.At(now)
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	if trouble != a.calendars[i] {
		a.calendars[i] = trouble
		if err != nil {
			a.Logger.Warn("channels: the channel cannot ask anybody", "channel", c.Name, "error", err)
		}
	}
	there := map[string]string{}
	for name, person := range c.People {
		if oncall.Among(names, name, person) {
			there[name] = person
		}
	}
	return there
}

// unshown reports whether some channel does not yet show how the question ended.
func (q *question) unshown(a *approver) bool {
	for i, p := range q.posted {
		if p.busy || p.where != "" && p.shown != a.message(q, i).fingerprint() {
			return true
		}
	}
	return false
}

func (m Message) fingerprint() string { return m.Key + m.Over }

// show posts or changes one message. It returns false if the channel takes no messages now.
func (a *approver) show(ctx context.Context, i int, call string) bool {
	a.mu.Lock()
	q := a.questions[call]
	if q == nil {
		a.mu.Unlock()
		return true
	}
	m, p := a.message(q, i), q.posted[i]
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	place := a.Channels[i].Place
	if p.where != "" && p.key != m.Key { // another question, so answers to the old message must not count for it
		old := m
		old.Key, old.Actions, old.Over = p.key, nil, "The question changed: see the new message."
		if _, err := place.Show(ctx, p.where, old); err != nil {
			a.failedToPost(i, call, "channels: a message was not changed", err)
			return false
		}
		p.where = ""
	}
	if p.where == "" { // somebody may answer before the place has returned the message's location
		a.mu.Lock()
		if q := a.questions[call]; q != nil {
			q.posted[i] = posted{key: m.Key, tried: p.tried, busy: true}
		}
		a.mu.Unlock()
	}
	where, err := place.Show(ctx, p.where, m)
	if err != nil {
		a.failedToPost(i, call, "channels: not posted, trying again", err)
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.questions[call]; q != nil {
		q.posted[i] = posted{where: where, shown: m.fingerprint(), key: m.Key}
	}
	return true
}

func (a *approver) failedToPost(i int, call, what string, err error) {
	a.Logger.Warn(what, "channel", a.Channels[i].Name, "error", err)
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.questions[call]; q != nil {
		q.posted[i].tried, q.posted[i].busy = time.Now(), false
	}
}

// leave removes the buttons of the messages that still wait.
func (a *approver) leave(i int) {
	a.mu.Lock()
	type left struct {
		where string
		m     Message
	}
	var all []left
	for _, q := range a.questions {
		if p := q.posted[i]; p.where != "" {
			m := a.message(q, i)
			m.Actions, m.Over = nil, cmp.Or(m.Over, "Nobody listens here any more; answer on the page or in a terminal.")
			all = append(all, left{p.where, m})
		}
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	for _, l := range all {
		if _, err := a.Channels[i].Place.Show(ctx, l.where, l.m); err != nil {
			a.Logger.Warn("channels: cannot remove the buttons of a message", "channel", a.Channels[i].Name, "error", err)
		}
	}
}

// listen takes the answers of one channel until ctx ends, and reconnects when the connection is lost.
func (a *approver) listen(ctx context.Context, i int) {
	for {
		err := a.Channels[i].Place.Listen(ctx, func(p Press) string { return a.take(ctx, i, p) })
		if ctx.Err() != nil {
			return
		}
		a.Logger.Warn("channels: the connection is lost; trying again", "channel", a.Channels[i].Name, "error", err)
		if !periodic.Sleep(ctx, again) {
			return
		}
	}
}

const tooLate = "This no longer counts: the question changed or is over."

// take answers the question if the channel has shown its key, the message offered the action, the person is linked, and
// nobody has answered yet. It returns the text for the person.
func (a *approver) take(ctx context.Context, i int, p Press) string {
	person, refusal := a.person(i, p.User)
	switch {
	case refusal != "":
		return refusal
	case p.Action == Freeze && (p.Key == "" || a.waits(i, p.Key)):
		return a.freeze(ctx, p.Reason, person)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.asked(i, p.Key)
	if q == nil || q.answered || !slices.Contains(a.message(q, i).Actions, p.Action) {
		return tooLate
	}
	answer := wire.ToolApprove{Head: wire.Head{SessionID: q.request.SessionID}, ToolCallID: q.request.ToolCallID, ArgsDigest: q.request.ArgsDigest, Decision: "approve", Person: person}
	if p.Action == Deny {
		answer.Decision, answer.Feedback = "reject", p.Reason
	}
	if err := a.Client.Answer(answer); err != nil {
		a.Logger.Warn("channels: the answer could not be sent", "error", err)
		return "callgate cannot be reached. Try again."
	}
	q.answered = true
	return "Your answer is being sent."
}

// asked returns the waiting question that the channel shows with the key, or nil. The caller holds mu.
func (a *approver) asked(i int, key string) *question {
	for _, q := range a.questions {
		if key != "" && q.key == key && q.posted[i].key == key && q.over == "" {
			return q
		}
	}
	return nil
}

// person returns the person behind a user of the channel, or why their answer does not count.
func (a *approver) person(i int, user string) (person, refusal string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.Channels[i]
	person = c.People[user]
	if person == "" || user == "" {
		a.Logger.Warn("channels: ignored an answer from an account that is not linked", "channel", c.Name, "user", visible.Text(user))
		return "", "Your account is not linked, so your answer does not count."
	}
	if a.onCall(i, time.Now())[user] == "" {
		a.Logger.Warn("channels: ignored an answer from somebody who is not on call", "channel", c.Name, "person", person)
		return "", "You are not on call, so your answer does not count."
	}
	return person, ""
}

// waits reports whether the channel shows a waiting question with the key.
func (a *approver) waits(i int, key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked(i, key) != nil
}

// freeze freezes all sessions and returns the text for the person.
func (a *approver) freeze(ctx context.Context, reason, person string) string {
	if a.Freeze == nil {
		return "Freeze on the page or in a terminal."
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := a.Freeze(ctx, reason, person); err != nil {
		a.Logger.Warn("channels: the freeze failed", "error", err)
		return "Nothing is frozen: " + err.Error()
	}
	return "Frozen: only reading is allowed, in all sessions. End it on the page, or with callgate unfreeze."
}

// room is how many bytes every place can show in one message.
const room = 1600

// fence ends preformatted text in some places. They show it as quotes, which mean something else to a shell.
const fence = "```"

// fitsEverywhere reports whether every place shows the whole text unchanged, even after HTML escaping.
func fitsEverywhere(text string) bool {
	return len(html.EscapeString(text)) <= room && !strings.Contains(text, fence)
}

// message returns the question as the channel shows it now. The caller holds mu.
func (a *approver) message(q *question, i int) Message {
	f := q.request
	arguments := strings.Join(wire.Readable(f.Args), "\n")
	m := Message{
		Key: q.key, Risk: f.Risk.Label, Over: q.over, Expires: f.ExpiresAt.UTC().Format(time.RFC3339),
		Title: fmt.Sprintf("%s asks: %s (%s risk)", clip(visible.Text(cmp.Or(f.Client.Name, "A host")), 60), clip(visible.Text(f.Tool), 100), f.Risk.Label),
	}
	if page := a.Channels[i].Page; page != "" {
		m.Link = strings.TrimSuffix(page, "/") + "/#/approvals/" + url.PathEscape(f.ToolCallID)
	}
	add := func(text string) {
		if text = visible.Text(text); text != "" { // the reason can hold a whole command
			m.Lines = append(m.Lines, clip(text, 2*room))
		}
	}
	add(f.Summary)
	if f.Client.Principal != "" {
		add("Signed in as " + f.Client.Principal)
	}
	if f.Origin.Folder != "" {
		add(strings.TrimSuffix("In "+f.Origin.Folder+" on "+f.Origin.Branch, " on "))
	}
	add(f.Reason)
	for _, mark := range f.Marks {
		add("! " + mark.Text)
	}
	if f.Undo != nil {
		add(f.Undo.Text)
	}
	whole := f.DefinitionChanged == nil && fitsEverywhere(m.Text()+"\n"+arguments)
	if whole {
		m.Lines = append(m.Lines, arguments)
	} else {
		add(fmt.Sprintf("The arguments, %d bytes, cannot be shown here as they are: see them on the page.", len(f.Args)))
	}
	if q.over != "" || a.Channels[i].Told {
		return m
	}
	if whole && len(f.Marks) == 0 && !f.Presence && (f.Risk.Label == "low" || f.Risk.Label == "medium") {
		m.Actions = append(m.Actions, Approve)
	} else {
		add("It can be denied here, and approved on the page or in a terminal.")
	}
	m.Actions = append(m.Actions, Deny)
	return m
}

// ending describes how an approval ended.
func ending(f *wire.ToolApproveResolved) string {
	words := map[string]string{"approve": "Approved by ", "always": "Approved, always, by ", "reject": "Denied by ", "timeout": "Nobody answered in time: ", "withdrawn": "Withdrawn by "}
	return visible.Text(cmp.Or(words[f.Decision], "Over: "+f.Decision+" by ") + f.By)
}

// errGone means that what a request is about does not exist.
var errGone = errors.New("gone")

// errStatus returns the error for a request that a server refused.
func errStatus(what, status string) error { return errors.New(what + ": " + status) }

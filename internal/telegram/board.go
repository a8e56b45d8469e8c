package telegram

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"callgate/internal/companion/wire"
)

// board is what the chats are to show. Frames and buttons change it; post brings the chats in line with it,
// so that a slow or unreachable Telegram loses nothing and holds nobody up.
type board struct {
	mu        sync.Mutex
	questions map[string]*question // by call
	next      int
	notices   []string      // to be told in every chat
	noticed   []string      // what was told last
	dirty     chan struct{} // has room for one
}

// question is one approval in the chats.
type question struct {
	number  int
	request *wire.ToolApproveRequest
	key     string        // of the buttons: another one whenever what is asked is another
	scopes  bool          // the buttons ask how far an "always" goes
	note    string        // why the last answer did nothing
	over    string        // how it ended; "" while it waits
	posted  map[int64]int // message by chat; 0 where the chat does not take any
	shown   string        // what the messages show
}

func newBoard() *board {
	return &board{questions: map[string]*question{}, dirty: make(chan struct{}, 1)}
}

// poke wakes post up; the caller holds mu.
func (b *board) poke() {
	select {
	case b.dirty <- struct{}{}:
	default:
	}
}

// ask takes a question in. One that is known and the same stays as it is: callgate tells it again after every
// break of the connection.
func (b *board) ask(f *wire.ToolApproveRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q, note := b.questions[f.ToolCallID], ""
	switch {
	case q == nil:
		b.next++
		q = &question{number: b.next, posted: map[int64]int{}}
		b.questions[f.ToolCallID] = q
	case q.request.ArgsDigest != f.ArgsDigest:
		note = "The arguments were changed. Look again."
	case q.over == "":
		return
	}
	q.request, q.key, q.over, q.scopes, q.note = f, rand.Text(), "", false, note
	b.poke()
}

// resolve ends a question, whoever answered it.
func (b *board) resolve(f *wire.ToolApproveResolved) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.questions[f.ToolCallID]; q != nil {
		q.over = ending(f)
		b.poke()
	}
}

// notice takes in what people should know of the connection. The same again, as after a break, is told once.
func (b *board) notice(problems []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(problems, b.noticed) {
		b.noticed, b.notices = problems, problems
		b.poke()
	}
}

// news returns what is to be told, once.
func (b *board) news() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.notices
	b.notices = nil
	return news
}

// failed notes that an answer did nothing.
func (b *board) failed(f *wire.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.questions[f.ToolCallID]
	if q == nil || f.Code == wire.CodeApprovalTimeout { // which resolve has said
		return
	}
	if f.Code == wire.CodeNotPending {
		q.over = "It was over already."
	}
	q.note, q.scopes = f.Message, false
	b.poke()
}

// abandon ends every question for these chats.
func (b *board) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.questions {
		q.over = cmp.Or(q.over, "The bot has left; answer on the page or in a terminal.")
	}
}

// missed is how long after its end a question counts as over whose end nobody told.
const missed = 10 * time.Second

// changed lists the calls whose messages do not show what they should, the oldest first, and forgets those
// that are over and done with.
func (b *board) changed() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, q := range b.questions {
		if q.over == "" && time.Since(q.request.ExpiresAt) > missed {
			q.over = "It is over."
		}
		switch {
		case q.face().String() != q.shown:
			ids = append(ids, id)
		case q.over != "":
			delete(b.questions, id)
		}
	}
	slices.SortFunc(ids, func(x, y string) int { return cmp.Compare(b.questions[x].number, b.questions[y].number) })
	return ids
}

// look returns what the messages of a call should show and where they are.
func (b *board) look(id string) (f face, posted map[int64]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.questions[id]
	return q.face(), maps.Clone(q.posted)
}

// done notes where the messages of a call are and what all of them show; "" when some do not show it yet.
func (b *board) done(id, shown string, posted map[int64]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.questions[id]; q != nil {
		q.shown, q.posted = shown, posted
	}
}

// press returns the question that a button stands under and remembers what the person chooses next. It is nil
// when the button is not good any more.
func (b *board) press(key, action string) *wire.ToolApproveRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.questions {
		if q.key != key || q.over != "" || !slices.Contains(q.face().actions(), action) {
			continue
		}
		q.scopes = action == actionAlways
		if q.scopes || action == actionBack {
			b.poke()
		}
		return q.request
	}
	return nil
}

// at returns the question whose message a reply is to; nil when none waits there.
func (b *board) at(chat int64, message int) *wire.ToolApproveRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.questions {
		if q.over == "" && message != 0 && q.posted[chat] == message {
			return q.request
		}
	}
	return nil
}

package endpoint

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxBacklog bounds what waits for a reader in one stream, in bytes; one message may be larger. Writers of more
	// wait, so a host that reads slowly slows its servers down.
	maxBacklog = 1 << 20

	// maxKept bounds what one stream remembers of what it has sent, in bytes, for a reader that lost its
	// connection and asks for it again.
	maxKept = 64 << 10

	// stuck is how long a reader may take for one piece of a message before it counts as gone.
	stuck = 30 * time.Second
)

// stream is a sequence of messages to a host that is read by one HTTP response, or by several one after
// another: messages of the answer to one request, or those that belong to none. It survives its readers.
type stream struct {
	id string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with every change
	kept    []event       // the newest messages; those a reader has not got, and some before
	bytes   int           // of kept
	unsent  int           // bytes of those that a reader has not got
	next    uint64        // number of the next message
	sent    uint64        // messages before this one have been written to a reader
	reader  uint64        // of the readers so far the last; it alone may read
	read    bool          // there is a reader
	more    func()        // called when there is more than the response; fixed before it is used; may be nil
	wake    func()        // called with every change, for a reader that cannot wait for changed; nil for the others
	ended   bool          // nothing follows
	sparse  bool          // holds the response alone; fixed before it is used
}

// event is one message with its number in the stream.
type event struct {
	number  uint64
	message []byte
}

// Messages are numbered from 1: what comes before the first of them can be named too.
func newStream(id string) *stream {
	return &stream{id: id, next: 1, sent: 1, changed: make(chan struct{})}
}

var errEnded = errors.New("the stream has ended")

// put appends a message. It waits while a reader has much to read, until done is closed.
func (s *stream) put(message []byte, last bool, done <-chan struct{}) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.read && !s.ended && s.unsent > maxBacklog {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-done:
			s.mu.Lock()
			return errEnded
		}
		s.mu.Lock()
	}
	if s.ended {
		return errEnded
	}
	s.kept = append(s.kept, event{s.next, message})
	s.next++
	s.bytes += len(message)
	s.unsent += len(message)
	s.ended = last
	if s.more != nil && !(last && len(s.kept) == 1) {
		s.more()
	}
	s.trim()
	s.touch()
	return nil
}

// only is the message of a stream that has ended and had no other; nil for none.
func (s *stream) only() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended || len(s.kept) != 1 {
		return nil
	}
	return s.kept[0].message
}

// end says that nothing follows.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.touch()
}

func (s *stream) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
	if s.wake != nil {
		s.wake()
	}
}

// trim forgets the oldest messages: those that were sent, beyond what is kept, and, while nobody reads,
// those beyond the backlog. The newest stays. The caller holds mu.
func (s *stream) trim() {
	for len(s.kept) > 0 {
		oldest := s.kept[0]
		sent := oldest.number < s.sent
		if sent && s.bytes <= maxKept || !sent && (s.read || s.bytes <= maxBacklog || len(s.kept) == 1) {
			return
		}
		s.bytes -= len(oldest.message)
		s.kept[0].message = nil
		s.kept = s.kept[1:]
		if !sent {
			s.sent = oldest.number + 1
			s.unsent -= len(oldest.message)
		}
	}
}

// attach makes the caller the one reader, from the message with that number on. Who read before is sent away. wake may
// be nil; it is called with the stream's lock and MUST NOT wait.
func (s *stream) attach(from uint64, wake func()) (reader uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake != nil {
		s.wake() // it sees that another reads now
	}
	s.wake = wake
	s.reader++
	s.read = true
	if from < s.sent {
		s.sent, s.unsent = from, 0
		for _, e := range s.kept {
			if e.number >= from {
				s.unsent += len(e.message)
			}
		}
	}
	s.touch()
	return s.reader
}

// detach ends the reader's part.
func (s *stream) detach(reader uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == reader {
		s.read, s.wake = false, nil
		s.trim()
		s.touch()
	}
}

// take returns the next message for the reader. ok is false when there is none yet; over when there will be
// none for this reader.
func (s *stream) take(reader uint64) (e event, ok, over bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != reader {
		return event{}, false, true, nil
	}
	for _, e := range s.kept {
		if e.number >= s.sent {
			return e, true, false, nil
		}
	}
	return event{}, false, s.ended, s.changed
}

// gave notes that the reader has got the message.
func (s *stream) gave(reader uint64, e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == reader && s.sent <= e.number {
		s.sent = e.number + 1
		s.unsent -= len(e.message)
		s.trim()
		s.touch()
	}
}

// first waits for the first thing that happens in the stream. whole is the message when it is the only one
// there will be.
func (s *stream) first(ctx context.Context, limit <-chan struct{}) (whole []byte, none bool) {
	for {
		s.mu.Lock()
		kept, ended, changed := s.kept, s.ended, s.changed
		s.mu.Unlock()
		switch {
		case ended && len(kept) == 0:
			return nil, true
		case ended && len(kept) == 1:
			return kept[0].message, false
		case len(kept) > 0:
			return nil, false
		}
		select {
		case <-changed:
		case <-limit:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}

// unread is the number of the first message that no reader has got.
func (s *stream) unread() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// finished reports whether nothing follows and everything has been sent.
func (s *stream) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && s.sent == s.next
}

// eventID names a message of the stream for Last-Event-ID.
func (s *stream) eventID(number uint64) string { return s.id + "-" + strconv.FormatUint(number, 10) }

// parseEventID reads what eventID wrote: the stream, and the number of the message after the named one.
func parseEventID(text string) (stream string, from uint64, ok bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(text[i+1:], 10, 63)
	return text[:i], number + 1, err == nil
}

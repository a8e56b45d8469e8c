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
	// maxBacklog bounds the bytes that wait for a reader in one stream; one message may be larger. Writers of more
	// wait, so a host that reads slowly slows its servers down.
	maxBacklog = 1 << 20

	// maxKept bounds the sent bytes that one stream keeps for a reader that lost its connection and asks for them
	// again.
	maxKept = 64 << 10

	// stuck is how long a reader may take for one piece of a message before it counts as gone.
	stuck = 30 * time.Second
)

// stream is a sequence of messages to a host: those of the answer to one request, or those that belong to no request.
// HTTP responses read it, one at a time. It outlives its readers.
type stream struct {
	id string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced on every change
	kept    []event       // the newest messages: all that no reader has got, and some before
	bytes   int           // of kept
	unsent  int           // bytes of those that no reader has got
	next    uint64        // number of the next message
	sent    uint64        // messages before this number have been written to a reader
	reader  uint64        // the newest reader, which alone may read
	read    bool          // there is a reader
	more    func()        // called if there is more than the response; set before use; may be nil
	wake    func()        // called on every change, for a reader that cannot wait for changed; may be nil
	ended   bool          // nothing more will follow
	sparse  bool          // holds only the response; set before use
}

// event is one message with its number in the stream.
type event struct {
	number  uint64
	message []byte
}

// Messages are numbered from 1, so that the position before the first also has a number.
func newStream(id string) *stream {
	return &stream{id: id, next: 1, sent: 1, changed: make(chan struct{})}
}

var errEnded = errors.New("the stream has ended")

// put appends a message; last ends the stream. While a reader has much to read, put waits, until done is closed.
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

// only returns the message of a stream that has ended with just one message, or nil.
func (s *stream) only() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended || len(s.kept) != 1 {
		return nil
	}
	return s.kept[0].message
}

// end marks the end of the stream.
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

// trim drops the oldest messages: sent ones beyond maxKept and, while nobody reads, unsent ones beyond maxBacklog. The
// newest unsent message stays. The caller holds mu.
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

// attach makes the caller the only reader, from message number from on. It ends the previous reader. wake may be nil;
// it is called with the stream's lock held, and MUST NOT wait.
func (s *stream) attach(from uint64, wake func()) (reader uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake != nil {
		s.wake() // the previous reader sees that another has taken over
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

// detach removes the reader, unless another has taken over.
func (s *stream) detach(reader uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == reader {
		s.read, s.wake = false, nil
		s.trim()
		s.touch()
	}
}

// take returns the next message for the reader. ok is false if there is none yet; over is true if there will be none
// for this reader.
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

// first waits for the first change of the stream, or for limit. whole is the message if it is the only one. none says
// that the stream has ended without a message.
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

// unread returns the number of the first message that no reader has got.
func (s *stream) unread() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// finished reports whether the stream has ended and everything has been sent.
func (s *stream) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && s.sent == s.next
}

// eventID returns the name of a message for Last-Event-ID.
func (s *stream) eventID(number uint64) string { return s.id + "-" + strconv.FormatUint(number, 10) }

// parseEventID reads an id that eventID returned. from is the number of the message after it.
func parseEventID(text string) (stream string, from uint64, ok bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(text[i+1:], 10, 63)
	return text[:i], number + 1, err == nil
}

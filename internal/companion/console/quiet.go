package console

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// quietTime is how long the keyboard must rest after a prompt has appeared before keys count. A prompt must not take
// keys that a person was typing into something else.
const quietTime = 400 * time.Millisecond

const ctrlC = 0x03

// clearLine holds the keys that empty a line editor: a letter that ends an unfinished escape sequence, "to the end of
// the line", and "delete to its start".
var clearLine = []byte{'~', 0x05, 0x15}

// keyboard passes keys on to a line editor and knows for which prompt they were typed. Turns number the prompts. At
// each turn it empties the editor and swallows keys until they have rested.
type keyboard struct {
	chunks  chan []byte
	arm     chan struct{} // a turn began: empty the editor
	pending []byte        // only for Read
	rest    time.Duration // quietTime, or less in tests

	mu     sync.Mutex
	turn   int
	passed int       // turn of the keys passed on last
	muted  bool      // keys of this turn do not count yet
	last   time.Time // when the turn began, or the last key was swallowed
}

// newKeyboard reads keys from in. Its goroutine ends when in does.
func newKeyboard(in io.Reader) *keyboard {
	k := &keyboard{rest: quietTime, chunks: make(chan []byte), arm: make(chan struct{}, 1)}
	go func() {
		defer close(k.chunks)
		for {
			buffer := make([]byte, 4096)
			n, err := in.Read(buffer)
			if n > 0 {
				k.chunks <- buffer[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return k
}

// begin starts the next turn. Call it after the prompt is on the screen, so that the required rest is one in which the
// person could see it.
func (k *keyboard) begin() (turn int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn++
	k.muted, k.last = true, time.Now()
	select {
	case k.arm <- struct{}{}:
	default:
	}
	return k.turn
}

// passedIn returns the turn of the keys that Read returned last.
func (k *keyboard) passedIn() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.passed
}

// Read implements io.Reader for the line editor.
func (k *keyboard) Read(p []byte) (int, error) {
	for len(k.pending) == 0 {
		select {
		case <-k.arm:
			k.pending = clearLine
		case keys, ok := <-k.chunks:
			if !ok {
				return 0, io.EOF
			}
			k.pending = k.counted(keys)
		}
	}
	n := copy(p, k.pending)
	k.pending = k.pending[n:]
	return n, nil
}

// counted returns the keys that count. Ctrl-C always does. Broken UTF-8 is dropped, because the editor would wait for
// the rest of it and hold back later keys.
func (k *keyboard) counted(keys []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if k.muted && now.Sub(k.last) < k.rest {
		k.last = now
		if bytes.IndexByte(keys, ctrlC) >= 0 {
			return []byte{ctrlC}
		}
		return nil
	}
	k.muted = false
	k.passed = k.turn
	return bytes.ToValidUTF8(keys, nil)
}

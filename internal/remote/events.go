package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"callgate/internal/budget"
)

// event is one event of a stream.
type event struct {
	name string // "" and "message" are the same
	data []byte // in its own memory
}

// position is where a stream can be resumed.
type position struct {
	last  string        // id of the last event; "" if the server gave none
	retry time.Duration // how long the server wants callgate to wait first; 0 if it does not say
}

// maxEventID bounds the bytes of an id, which is kept to be sent back.
const maxEventID = 4 << 10

// maxRetry bounds how long a server can make callgate wait.
const maxRetry = time.Minute

// readEvents calls yield for each event until yield returns false or the stream ends; both return nil. limit bounds the
// bytes of an event, of whatever fields it is made.
func readEvents(r io.Reader, limit int, room budget.Buffer, p *position, yield func(event) bool) error {
	room.Max = limit + len("data: ") + 1
	lines := lines{r: r, limit: limit + 16, room: room} // for the field's name
	var ev event
	data := room
	id := p.last // takes effect at the end of its event: an event that was cut off has to come again
	size := 0
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
			return tooLong(limit)
		case err != nil:
			return err
		}
		if len(line) == 0 {
			p.last = id
			if ev.data != nil && !yield(ev) {
				return nil
			}
			ev, data, size = event{}, room, 0
			continue
		}
		if size += len(line); size > limit {
			return tooLong(limit)
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "":
			size = 0 // a comment, which just keeps the connection alive
		case "event":
			ev.name = string(value)
		case "data":
			if ev.data != nil {
				value = append([]byte{'\n'}, value...)
			}
			if _, err := data.Write(value); err != nil {
				return err
			}
			if ev.data = data.Bytes(); ev.data == nil {
				ev.data = []byte{}
			}
		case "id":
			if len(value) <= maxEventID && bytes.IndexByte(value, 0) < 0 {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				p.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
			}
		}
	}
}

var errTooLong = errors.New("a message is too long")

func tooLong(limit int) error { return fmt.Errorf("%w: more than %d bytes", errTooLong, limit) }

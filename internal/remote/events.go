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
	data []byte // its own memory
}

// position is where a stream can be taken up again.
type position struct {
	last  string        // id of the last event; "" when the server gave none
	retry time.Duration // how long the server wants to be left alone first; 0 when it does not say
}

// maxEventID bounds what is kept to be sent back.
const maxEventID = 4 << 10

// maxRetry bounds how long a server can make itself be waited for.
const maxRetry = time.Minute

// readEvents calls yield for each event until it returns false, or the stream ends, which is nil too. An event
// is bounded by limit bytes, whatever it is made of.
func readEvents(r io.Reader, limit int, room budget.Buffer, p *position, yield func(event) bool) error {
	room.Max = limit + len("data: ") + 1
	lines := lines{r: r, limit: limit + 16, room: room} // with the name of the field
	var ev event
	data := room
	id := p.last // counts from the end of its event on: what is cut off has to come again
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
			size = 0 // a comment, which keeps the connection alive
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

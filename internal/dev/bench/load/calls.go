package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// Latencies are the durations of single calls.
type Latencies []time.Duration

// Quantile returns the duration that the share q of all calls did not exceed; 0 if there are none.
func (l Latencies) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	return sorted[int(q*float64(len(sorted)-1))]
}

// Sequential makes n calls of the echo tool with text, each after the answer to the previous one.
func (c *Client) Sequential(n int, text string) (Latencies, error) {
	latencies := make(Latencies, 0, n)
	for range n {
		c.id++
		request := c.call(c.id, text)
		begun := time.Now()
		if _, err := c.in.Write(request); err != nil {
			return nil, c.explain(err)
		}
		id, err := c.answer(text)
		if err != nil {
			return nil, err
		}
		if id != c.id {
			return nil, fmt.Errorf("request %d was answered as %d", c.id, id)
		}
		latencies = append(latencies, time.Since(begun))
	}
	return latencies, nil
}

// InFlight makes n calls of the echo tool with text and keeps up to width of them open at the same time. It returns the
// total time, and the latency of each.
func (c *Client) InFlight(n, width int, text string) (time.Duration, Latencies, error) {
	first := c.id + 1
	begun := make([]atomic.Int64, n) // nanoseconds since start
	free := make(chan struct{}, width)
	for range width {
		free <- struct{}{}
	}
	stop := make(chan struct{})
	written := make(chan error, 1)
	start := time.Now()
	go func() { // a separate writer, so that a full pipe in one direction does not stop the other
		for i := range n {
			select {
			case <-free:
			case <-stop:
				written <- nil
				return
			}
			request := c.call(first+int64(i), text)
			begun[i].Store(int64(time.Since(start)))
			if _, err := c.in.Write(request); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()

	latencies := make(Latencies, 0, n)
	var err error
	for len(latencies) < n {
		var id int64
		if id, err = c.answer(text); err != nil {
			break
		}
		if id < first || id >= first+int64(n) {
			err = fmt.Errorf("an answer for %d, which nobody asked", id)
			break
		}
		latencies = append(latencies, time.Since(start)-time.Duration(begun[id-first].Load()))
		free <- struct{}{}
	}
	took := time.Since(start)
	close(stop)
	if err != nil {
		c.kill() // releases the writer if the server no longer reads
	}
	c.id += int64(n)
	if err = errors.Join(err, <-written); err != nil {
		return 0, nil, c.explain(err)
	}
	return took, latencies, nil
}

// call returns the line of one tools/call. text MUST be printable ASCII without quotes and backslashes.
func (c *Client) call(id int64, text string) []byte {
	line := make([]byte, 0, len(text)+128)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = strconv.AppendInt(line, id, 10)
	line = append(line, `,"method":"tools/call","params":{"name":"`...)
	line = append(line, c.tool...)
	line = append(line, `","arguments":{"text":"`...)
	line = append(line, text...)
	return append(line, "\"}}}\n"...)
}

// answer reads the next answer, checks that it contains text and is not an error, and returns its id.
func (c *Client) answer(text string) (int64, error) {
	for {
		line, err := c.out.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return 0, errAnswerTooLong
		}
		if err != nil {
			return 0, c.explain(err)
		}
		id, ok := leadingID(line)
		if !ok {
			var message response
			if err := json.Unmarshal(line, &message); err != nil {
				return 0, fmt.Errorf("%w in %.200q", err, line)
			}
			if message.Method != "" {
				continue // a notification
			}
			id = message.ID
		}
		if !bytes.Contains(line, []byte(text)) || bytes.Contains(line, []byte(`"isError":true`)) {
			return 0, fmt.Errorf("not the text that was sent: %.300q", line)
		}
		return id, nil
	}
}

// leadingID reads the id where encoders usually put it, so that the client need not decode large answers.
func leadingID(line []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
	if !ok {
		return 0, false
	}
	digits, _, ok := bytes.Cut(rest[:min(len(rest), 24)], []byte(","))
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(string(digits), 10, 64)
	return id, err == nil
}

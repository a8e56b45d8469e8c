package endpoint

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// sparing bounds how often callgate asks the issuer. A token with an unknown key makes callgate fetch the issuer's keys
// again, and anybody can make up such tokens. So callgate asks the issuer for the same address at most once per rested.
// Requests in between get the last answer, even if that was an error.
type sparing struct {
	next http.RoundTripper

	mu   sync.Mutex // held while the issuer is asked: others wait for its answer instead of asking too
	last map[string]reply
}

// rested is how long an answer of the issuer stays in use. A new key may be unknown for that long.
const rested = 5 * time.Second

// maxReply bounds the bytes of an issuer's answer.
const maxReply = 1 << 20

// reply is what the issuer answered.
type reply struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
	err    error
}

// RoundTrip implements http.RoundTripper.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[address]
	if !known || time.Since(last.at) >= rested {
		last = s.ask(r)
		last.at = time.Now()
		s.last[address] = last
	}
	if last.err != nil {
		return nil, last.err
	}
	return &http.Response{
		Status: http.StatusText(last.status), StatusCode: last.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: last.header.Clone(), Body: io.NopCloser(bytes.NewReader(last.body)), ContentLength: int64(len(last.body)), Request: r,
	}, nil
}

func (s *sparing) ask(r *http.Request) reply {
	response, err := s.next.RoundTrip(r)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	return reply{status: response.StatusCode, header: response.Header, body: body, err: err}
}

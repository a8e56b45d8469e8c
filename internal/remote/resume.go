package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"callgate/internal/budget"
	"callgate/internal/rpc"
)

// follow delivers the events of a request's stream until the answer is among them. If the stream is cut off and the
// server numbers its events, follow resumes it.
func (e *Endpoint) follow(ctx context.Context, body io.ReadCloser, m rpc.Message) error {
	s := answerStream{e: e}
	for {
		before := s.at.last
		err := e.http.readEvents(ctx, body, &s.at, func(ev event) bool {
			if ev.name == "" || ev.name == "message" {
				e.deliver(ev.data, m.ID)
			}
			return e.conn.Waiting(m.ID)
		})
		if !e.conn.Waiting(m.ID) {
			discard(body)
			body.Close()
			return nil
		}
		body.Close()
		full := (*budget.Error)(nil)
		switch {
		case errors.As(err, &full):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errTooLong): // the long event would come again
			return err
		case s.at.last == "" || !e.streamable():
			return errNoAnswer
		case s.at.last != before:
			s.failures = 0
		}
		if body, err = s.resume(ctx); err != nil {
			return err
		}
	}
}

// answerStream is the stream that brings the answer to one request.
type answerStream struct {
	e        *Endpoint
	at       position
	failures int // since the last event
}

// resume asks for the rest of a stream until it comes, the server refuses, or resume has asked too often since the last
// event.
func (s *answerStream) resume(ctx context.Context) (io.ReadCloser, error) {
	for s.failures < maxResumptions {
		s.failures++
		if !sleep(ctx, resumeAfter(s.at, s.failures)) {
			return nil, ctx.Err()
		}
		body, again, err := s.requestRest(ctx)
		if err == nil {
			return body, nil
		}
		if !again {
			return nil, fmt.Errorf("%w (%w)", errNoAnswer, err)
		}
	}
	return nil, errNoAnswer
}

// maxResumptions bounds how often callgate resumes a stream without anything new.
const maxResumptions = 6

func resumeAfter(at position, failures int) time.Duration {
	if at.retry > 0 && failures == 1 {
		return at.retry
	}
	return min(max(at.retry, 100*time.Millisecond)<<min(failures-1, 10), maxRetry)
}

// requestRest asks for the rest of a stream. again says that another try may succeed.
func (s *answerStream) requestRest(ctx context.Context) (body io.ReadCloser, again bool, err error) {
	response, err := s.e.http.get(ctx, s.e.cfg.URL, s.at)
	if err != nil {
		return nil, true, err
	}
	switch {
	case response.StatusCode == http.StatusOK && contentType(response) == "text/event-stream":
		return response.Body, false, nil
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		s.e.fail(ErrSessionLost)
		err = ErrSessionLost // the request itself was run
	case response.StatusCode == http.StatusUnauthorized:
		err = s.e.unauthorized()
	}
	response.Body.Close()
	if err == nil {
		err = &StatusError{Code: response.StatusCode}
	}
	return nil, response.StatusCode >= 500, err
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package remote

import (
	"context"
	"io"
	"net/http"
	"time"

	"callgate/internal/outbound"
)

// listening is the stream of the server's own messages. It is opened again when it ends, as long as the conversation
// lasts. Many servers have none. Only one goroutine at a time uses it.
type listening struct {
	e        *Endpoint
	at       position
	began    time.Time // the newest stream's start
	failures int       // consecutive streams that brought nothing
}

// listenLimit bounds how long a conversation waits for the first stream.
const listenLimit = 200 * time.Millisecond

// listen begins to listen. It returns when the server has opened the stream, has said that it has none, or takes too
// long. So a server that announces something because of a later request has a listener.
func (e *Endpoint) listen() {
	asked := make(chan struct{})
	if !e.begin(func() {
		l := &listening{e: e, began: time.Now()}
		stream, again := l.ask()
		close(asked)
		l.follow(stream, again)
	}) {
		return
	}
	late := time.NewTimer(listenLimit)
	defer late.Stop()
	select {
	case <-asked:
	case <-late.C:
	case <-e.ctx.Done():
	}
}

// follow hands the stream to a new goroutine, because asking takes a deep stack, which would be kept for hours of
// waiting. If there is no stream yet, it asks until there is one.
func (l *listening) follow(stream io.ReadCloser, again bool) {
	for {
		if stream != nil {
			if !l.e.begin(func() { l.read(stream) }) {
				stream.Close()
			}
			return
		}
		if !again || !l.pause(false) {
			return
		}
		l.began = time.Now()
		stream, again = l.ask()
	}
}

// ask asks once. If there is no stream, again says that there may be one later.
func (l *listening) ask() (stream io.ReadCloser, again bool) {
	e := l.e
	response, err := e.http.get(e.ctx, e.cfg.URL, l.at)
	if err != nil {
		e.log.Debug("no stream of the server's own messages", "error", err)
		return nil, true
	}
	switch {
	case response.StatusCode == http.StatusOK && contentType(response) == "text/event-stream":
		return response.Body, true
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		_ = e.endConversation()
	case response.StatusCode == http.StatusUnauthorized:
		_ = e.unauthorized()
	default:
		again = response.StatusCode >= 500
	}
	response.Body.Close()
	return nil, again
}

// read delivers what comes, and opens the stream again after its end.
func (l *listening) read(stream io.ReadCloser) {
	e, heard := l.e, false
	err := e.http.readEvents(e.ctx, stream, &l.at, func(ev event) bool {
		heard = true
		if ev.name == "" || ev.name == "message" {
			e.deliver(ev.data, nil)
		}
		return true
	})
	stream.Close()
	if err != nil && e.ctx.Err() == nil {
		e.log.Debug("the stream of the server's own messages was cut off", "error", err)
	}
	if l.pause(heard) {
		l.began = time.Now()
		l.follow(l.ask())
	}
}

// pause waits until the stream may be requested again. It returns false if the conversation is over. heard says that
// the last stream brought something.
func (l *listening) pause(heard bool) bool {
	if heard || time.Since(l.began) > maxRetry {
		l.failures = 0
	}
	l.failures++
	return sleep(l.e.ctx, min(max(l.at.retry, time.Second)<<min(l.failures-1, 10), maxRetry))
}

// leaving bounds how long callgate waits for the end of a session at the server.
const leaving = 2 * time.Second

// leave tells the server that the session is over.
func (e *Endpoint) leave() {
	session := e.http.sessionID()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, leaving)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, e.cfg.URL, nil)
	if err == nil {
		var response *http.Response
		if response, err = e.http.do(e.http.clients.requests, e.http.addressed(request)); err == nil {
			response.Body.Close() // whatever the status: servers need not support DELETE
		}
	}
	if err != nil {
		e.log.Debug("the session was not ended at the server", "error", outbound.WithoutAddress(err))
	}
}

package remote

import (
	"context"
	"net/http"
	"time"
)

// listen reads the stream on which the server speaks without being asked, and opens it again when it ends, as
// long as the conversation lasts. Many servers have none.
func (e *Endpoint) listen() {
	var at position
	for failures := 0; ; {
		began := time.Now()
		again, heard := e.listenOnce(&at)
		if !again || e.ctx.Err() != nil {
			return
		}
		if heard || time.Since(began) > maxRetry {
			failures = 0
		}
		failures++
		if !sleep(e.ctx, min(max(at.retry, time.Second)<<min(failures-1, 10), maxRetry)) {
			return
		}
	}
}

// listenOnce reads one such stream. again says that another may be opened, heard that there was an event.
func (e *Endpoint) listenOnce(at *position) (again, heard bool) {
	response, err := e.get(e.ctx, e.cfg.URL, *at)
	if err != nil {
		e.log.Debug("no stream of the server's own messages", "error", err)
		return true, false
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusOK && contentType(response) == "text/event-stream":
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		_ = e.lost()
		return false, false
	case response.StatusCode == http.StatusUnauthorized:
		_ = e.unauthorized(response)
		return false, false
	default:
		return response.StatusCode >= 500, false
	}
	err = readEvents(response.Body, e.cfg.MaxMessage, at, func(ev event) bool {
		heard = true
		if ev.name == "" || ev.name == "message" {
			e.deliver(ev.data, nil)
		}
		return true
	})
	if err != nil && e.ctx.Err() == nil {
		e.log.Debug("the stream of the server's own messages was cut off", "error", err)
	}
	return true, heard
}

// leaving bounds how long the end of a session is waited for.
const leaving = 2 * time.Second

// leave tells the server that the session is over.
func (e *Endpoint) leave() {
	e.mu.Lock()
	session := e.session
	e.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, leaving)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, e.cfg.URL, nil)
	if err == nil {
		var response *http.Response
		if response, err = e.do(request); err == nil {
			response.Body.Close() // whatever it says: servers need not know DELETE
		}
	}
	if err != nil {
		e.log.Debug("the session was not ended at the server", "error", unreached(err))
	}
}

package hosthooks

import (
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"callgate/internal/hosthooks/door"
)

// A host that cannot start programs sends its messages over HTTP: to /hook/{host}, or to /hook/{host}/{event} if the
// message does not name the event. It sends a secret that is derived from the hook credential, but does not reveal it.
// With the secret a program can ask, but not answer.

// PostToken returns the secret for hosts that send over HTTP.
func PostToken(credential string) string { return door.Vouch([]byte(credential), "post", "", "") }

// Posted answers hosts that send over HTTP, in the same way as "callgate hook". Every answer is in the host's format,
// even the refusal of a wrong secret, because some hosts run a call if they get an error.
func Posted(o door.Order, token func() (string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := Find(r.PathValue("host"))
		if err == nil && d.Post == "" {
			err = fmt.Errorf("%s does not post its hooks", d.Name)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		o := o
		o.Host, o.Event = d.ID, r.PathValue("event")
		body, err := io.ReadAll(io.LimitReader(r.Body, door.MaxBody+1))
		if err == nil {
			err = mayPost(r, token)
		}
		if err == nil { // a person may take longer than the HTTP server's timeouts
			c := http.NewResponseController(w)
			err = errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{}))
		}
		var reply door.Reply
		if err == nil {
			reply, err = Ask(r.Context(), o, body)
		}
		if err != nil {
			reply = door.Reply(d.Fail(o.Event, body, fmt.Sprintf("callgate could not judge this call, so it does not run: %v", err)))
		}
		w.Header().Set("Content-Type", "application/json")
		if reply.Exit != 0 && reply.Stdout == "" { // no call waits for an answer
			http.Error(w, reply.Stderr, http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, reply.Stdout) // a host that no longer listens runs nothing
	})
}

// mayPost returns an error if the request does not carry the right secret.
func mayPost(r *http.Request, token func() (string, error)) error {
	credential, err := token()
	if err != nil {
		return err
	}
	shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !hmac.Equal([]byte(shown), []byte(PostToken(credential))) {
		return errors.New(`the hook does not send the right secret: take it from "callgate hook HOST --http"`)
	}
	return nil
}

// PostSettings returns the settings that make a host send its hooks to address, in the form of its file.
func (d *Dialect) PostSettings(address, credential string) ([]byte, error) {
	if d.Post == "" {
		return nil, fmt.Errorf("%s starts programs and does not post: use \"callgate connect %s\"", d.Name, d.ID)
	}
	var events ordered
	for name := range sortedEvents(d) {
		url := "http://" + address + "/hook/" + d.ID
		if len(d.Fields.Event) == 0 {
			url += "/" + name
		}
		hook := ordered{{"type", d.Post}, {"url", url}, {"timeout", int64(d.Limit.Seconds())}, {"headers", ordered{{"Authorization", "Bearer " + PostToken(credential)}}}}
		hook = d.unanswered(hook, name)
		events = append(events, member{name, []any{d.group(name, hook)}})
	}
	return json.MarshalIndent(ordered{{"hooks", events}}, "", "  ")
}

package channels

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"callgate/internal/outbound"
)

// maxAnswer bounds a server's answer, in bytes.
const maxAnswer = 1 << 20

// client follows no redirects, because requests hold tokens and calls.
var client = &http.Client{CheckRedirect: outbound.NoRedirects}

// checkAddress refuses addresses whose traffic others on the way could read.
func checkAddress(what, address string) error {
	if _, err := outbound.Parse(address); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// send makes one request with a JSON body and decodes the JSON answer into to, unless to is nil.
func send(ctx context.Context, method, address, token string, body, to any) error {
	var data io.Reader
	if body != nil {
		var text bytes.Buffer
		plain := json.NewEncoder(&text)
		plain.SetEscapeHTML(false) // an escaped character takes six times the room, and some servers take little
		if err := plain.Encode(body); err != nil {
			return err
		}
		data = &text
	}
	r, err := http.NewRequestWithContext(ctx, method, address, data)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	return receive(r, to)
}

func receive(r *http.Request, to any) error {
	ctx, cancel := context.WithTimeout(r.Context(), pollTime+callTime)
	defer cancel()
	response, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return outbound.WithoutAddress(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		err := errStatus(r.Method+" "+r.URL.Path, response.Status)
		if response.StatusCode == http.StatusNotFound {
			err = errors.Join(err, errGone)
		}
		return err
	}
	if to == nil {
		return nil
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("the answer to %s %s has more than %d bytes", r.Method, r.URL.Path, maxAnswer)
	}
	return json.Unmarshal(text, to)
}

// pollTime is how long a long poll may wait for events.
const pollTime = 30 * time.Second

// clip cuts text to room bytes and adds an ellipsis if it cut anything.
func clip(text string, room int) string {
	if len(text) <= room {
		return text
	}
	return strings.ToValidUTF8(text[:room], "") + "…"
}

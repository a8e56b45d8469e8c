package channels

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Webhook posts questions to one address and takes answers at another. Both are signed as in Standard Webhooks.
type Webhook struct {
	address string // where questions go
	listen  net.Listener
	served  bool   // listen is closed
	answer  string // where the receiver sends answers
	signer  *standardwebhooks.Webhook

	mu   sync.Mutex
	next int
	seen map[string]time.Time // ids of answers received
}

// maxAge is how old a signed answer may be. standardwebhooks refuses older ones.
const maxAge = 5 * time.Minute

// NewWebhook returns a Webhook that takes answers on listen, which Listen closes. If listen is nil it takes none. The
// secret has the form "whsec_…".
func NewWebhook(address, answer, secret string, listen net.Listener) (*Webhook, error) {
	if err := checkAddress("url", address); err != nil {
		return nil, err
	}
	const prefix, least = "whsec_", 24 // minimum length in bytes, from the standard: whoever guesses the secret can answer
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, prefix))
	if err != nil || !strings.HasPrefix(secret, prefix) || len(key) < least {
		return nil, fmt.Errorf("the secret is not of the form %q and base64 of %d bytes or more", prefix, least)
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, err
	}
	return &Webhook{address: address, listen: listen, answer: answer, signer: signer, seen: map[string]time.Time{}}, nil
}

// Show posts {"where", "message", "answer"}. The same "where" means the same message.
func (h *Webhook) Show(ctx context.Context, where string, m Message) (string, error) {
	h.mu.Lock()
	h.next++
	id := fmt.Sprintf("msg_%d_%d", time.Now().UnixMilli(), h.next)
	h.mu.Unlock()
	where = cmp.Or(where, id)
	body, err := json.Marshal(map[string]any{"where": where, "message": m, "answer": h.answer})
	if err != nil {
		return "", err
	}
	now := time.Now()
	signature, err := h.signer.Sign(id, now, body)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("webhook-signature", signature)
	return where, receive(r, nil)
}

// Listen serves the answers until ctx ends.
func (h *Webhook) Listen(ctx context.Context, take func(Press) string) error {
	if h.listen == nil {
		<-ctx.Done()
		return nil
	}
	listen := h.listen
	if h.served {
		var err error
		if listen, err = net.Listen("tcp", listen.Addr().String()); err != nil {
			return err
		}
	}
	h.served = true
	server := &http.Server{ReadTimeout: callTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, said := h.taken(r, take)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"said": said}) // the client may be gone
	})}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.Serve(listen)
}

func (h *Webhook) taken(r *http.Request, take func(Press) string) (status int, said string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil || r.Method != http.MethodPost {
		return http.StatusBadRequest, "POST an answer"
	}
	if err := h.signer.Verify(body, r.Header); err != nil {
		return http.StatusUnauthorized, "the signature is wrong, or too old"
	}
	if !h.first(r.Header.Get("webhook-id"), time.Now()) {
		return http.StatusConflict, "this answer was already used"
	}
	var p Press
	if err := json.Unmarshal(body, &p); err != nil {
		return http.StatusBadRequest, `an answer is {"key", "action", "user", "reason"}`
	}
	return http.StatusOK, take(p)
}

// first reports whether an id is new. It forgets ids whose signatures are too old to verify.
func (h *Webhook) first(id string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for old, at := range h.seen {
		if now.Sub(at) > 2*maxAge {
			delete(h.seen, old)
		}
	}
	if _, known := h.seen[id]; known || id == "" {
		return false
	}
	h.seen[id] = now
	return true
}

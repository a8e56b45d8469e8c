package hooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callgate/internal/loopback"
	"callgate/internal/outbound"
)

// webhook posts events to an address, in order, each until it is taken. Waiting events are on disk (see queue); one
// process at a time sends them (see send).
type webhook struct {
	address *url.URL
	private bool // allow an address in a private network, and plain http on this machine
	secret  secretSource
	caFile  string
	queue   *queue

	stored chan struct{} // signals that something was stored
	ended  chan struct{} // closed when nothing more will be stored

	opening sync.Mutex
	client  *http.Client              // nil before ready succeeds
	signer  *standardwebhooks.Webhook // nil: posts are not signed
}

// secretSource names the file or the variable with the signing secret. If both are "", there is none.
type secretSource struct{ file, variable string }

const (
	webhookTimeout    = 5 * time.Second
	maxWebhookTimeout = 30 * time.Second
)

func newWebhook(a Action, c Config, o Options) (*webhook, error) {
	if c.Secrets {
		return nil, errors.New("secrets: a webhook never posts any")
	}
	if c.Timeout > maxWebhookTimeout {
		return nil, fmt.Errorf("timeout %s: a webhook may take at most %s", c.Timeout, maxWebhookTimeout)
	}
	address, err := url.Parse(a.URL)
	switch {
	case err != nil || address.Host == "":
		return nil, errors.New("url is missing or not an address: write https://host/path")
	case address.User != nil || address.Fragment != "":
		return nil, errors.New("url has a user or a fragment, which are not sent: put a secret into secretFile")
	case address.Scheme == "https":
	case address.Scheme == "http" && a.AllowPrivate && loopback.Host(address.Hostname()):
	case address.Scheme == "http":
		return nil, errors.New("url: use https; plain http needs allowPrivate: true and an address of this machine, such as http://127.0.0.1:8080/")
	default:
		return nil, fmt.Errorf("url: %s is not https", address.Scheme)
	}
	if a.SecretFile != "" && a.SecretEnv != "" {
		return nil, errors.New("secretFile and secretEnv: use one of them")
	}
	return &webhook{
		address: address, private: a.AllowPrivate, secret: secretSource{o.path(a.SecretFile), a.SecretEnv}, caFile: o.path(a.CAFile),
		queue:  newQueue(filepath.Join(o.QueueDir, c.Name)),
		stored: make(chan struct{}, 1), ended: make(chan struct{}),
	}, nil
}

func (w *webhook) kind() string { return "webhook" }

// problem checks what ready reads, and keeps nothing.
func (w *webhook) problem() error {
	_, err := w.roots()
	if err == nil {
		_, err = w.secret.signer()
	}
	return err
}

// roots returns the authorities that may vouch for the receiver; nil means the system's.
func (w *webhook) roots() (*x509.CertPool, error) {
	if w.caFile == "" {
		return nil, nil
	}
	roots, err := outbound.Roots(w.caFile)
	if err != nil {
		return nil, fmt.Errorf("caFile: %w", err)
	}
	return roots, nil
}

// ready reads what the webhook needs to send, until it succeeds once. A hook may be switched on, or tested, after ready
// failed.
func (w *webhook) ready() error {
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.client != nil {
		return nil
	}
	roots, err := w.roots()
	if err != nil {
		return err
	}
	if w.signer, err = w.secret.signer(); err != nil {
		return err
	}
	w.client = &http.Client{
		Transport: &http.Transport{
			DialContext: w.dialer().DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		},
		// Redirects are not followed: a receiver that redirects has not taken the event.
		CheckRedirect: outbound.NoRedirects,
	}
	return nil
}

// signer reads the secret and returns its signer; nil if there is no secret.
func (s secretSource) signer() (*standardwebhooks.Webhook, error) {
	name, secret := "secretEnv "+s.variable, os.Getenv(s.variable)
	switch {
	case s.file != "":
		text, err := os.ReadFile(s.file)
		if err != nil {
			return nil, fmt.Errorf("secretFile: %w", err)
		}
		name, secret = "secretFile "+s.file, strings.TrimSpace(string(text))
	case s.variable == "":
		return nil, nil
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil || !strings.HasPrefix(secret, "whsec_") || len(secret) < len("whsec_")+32 {
		return nil, fmt.Errorf(`%s must have whsec_ and at least 24 random bytes in base64, as this makes them: echo "whsec_$(openssl rand -base64 32)"`, name)
	}
	return signer, nil
}

// run posts the event now and returns the receiver's answer. Only a test of the hook uses it.
func (w *webhook) run(ctx context.Context, _ *Runner, h *hook, e *Event) (string, error) {
	body, err := e.message(h)
	if err != nil {
		return "", err
	}
	a := w.post(ctx, "msg_"+rand.Text(), body)
	return a.says, a.err()
}

// answer is the outcome of one attempt.
type answer struct {
	status int           // 0 if no answer came
	says   string        // the status, for people
	failed error         // why no answer came
	final  bool          // another attempt would not help
	wait   time.Duration // how long the receiver asks to wait; 0 if it does not say
}

// taken reports whether the receiver has the event.
func (a answer) taken() bool { return a.status >= 200 && a.status < 300 }

func (a answer) err() error {
	switch {
	case a.failed != nil:
		return a.failed
	case a.taken():
		return nil
	case a.status >= 300 && a.status < 400:
		return fmt.Errorf("the receiver answers %s, which leads elsewhere and is not followed: configure the address that it leads to", a.says)
	case a.status == http.StatusGone:
		return fmt.Errorf("the receiver answers %s: it wants no more events, so the hook is switched off", a.says)
	default:
		return fmt.Errorf("the receiver answers %s", a.says)
	}
}

// post makes one attempt to deliver, bounded by ctx.
func (w *webhook) post(ctx context.Context, id string, body []byte) answer {
	if err := w.ready(); err != nil {
		return answer{failed: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address.String(), bytes.NewReader(body))
	if err != nil {
		return answer{failed: err, final: true}
	}
	now := time.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "callgate")
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if w.signer != nil {
		signature, err := w.signer.Sign(id, now, body)
		if err != nil {
			return answer{failed: err, final: true}
		}
		request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	}
	response, err := w.client.Do(request)
	if err != nil {
		err = outbound.WithoutAddress(err)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return answer{failed: fmt.Errorf("%s: %w", w.address.Host, err), final: errors.Is(err, errPrivate)}
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // only the status counts; reading on lets the connection be reused
	a := answer{status: response.StatusCode, says: response.Status}
	switch {
	case a.taken(), response.StatusCode >= 500, response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusRequestTimeout:
	default:
		a.final = true
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.wait = min(time.Duration(seconds)*time.Second, maxBackoff)
	}
	return a
}

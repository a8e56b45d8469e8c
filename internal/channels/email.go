package channels

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wneessen/go-mail"

	"callgate/internal/loopback"
	"callgate/internal/periodic"
	"callgate/internal/visible"
)

// Email sends questions as a digest. Nobody answers by mail: each question links to the page.
type Email struct {
	server   *url.URL
	password string
	from     string
	to       func() []string // returns the recipients
	every    time.Duration
	roots    *x509.CertPool // to verify the server; nil for the system's

	mu    sync.Mutex
	order []string // questions for the next digest, by where
	told  map[string]Message
	last  time.Time
}

// maxDigest bounds the questions in a digest. They pile up while nobody is on call or the server is down.
const maxDigest = 500

// NewEmail sends through smtps://user@host, or smtp://user@host with STARTTLS, which is optional on this machine.
func NewEmail(server, password, from string, to func() []string, every time.Duration) (*Email, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "smtp" && u.Scheme != "smtps":
		return nil, fmt.Errorf("url: %q is not an address such as smtps://user@mail.example.com", server)
	case u.User != nil && password == "":
		return nil, errors.New("the password is missing")
	}
	e := &Email{server: u, password: password, from: from, to: to, every: every, told: map[string]Message{}}
	if err := mail.NewMsg().From(from); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	return e, nil
}

// Show puts the question into the next digest, or changes it there.
func (e *Email) Show(_ context.Context, where string, m Message) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if where == "" {
		if len(e.order) == maxDigest { // drop a finished question first
			i := max(0, slices.IndexFunc(e.order, func(where string) bool { return e.told[where].Over != "" }))
			delete(e.told, e.order[i])
			e.order = slices.Delete(e.order, i, i+1)
		}
		where = rand.Text()
		e.order = append(e.order, where)
	}
	if slices.Contains(e.order, where) { // a question that was sent stays as it was
		e.told[where] = m
	}
	return where, nil
}

// Listen sends the digests until ctx ends. It takes no answers.
func (e *Email) Listen(ctx context.Context, _ func(Press) string) error {
	for on := true; on; on = periodic.Sleep(ctx, min(e.every, time.Minute)) {
		if err := e.flush(ctx, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// flush sends a digest if one is due. Questions that could not be sent stay for the next one.
func (e *Email) flush(ctx context.Context, now time.Time) error {
	e.mu.Lock()
	if e.last.IsZero() {
		e.last = now // wait for more questions before the first digest
	}
	if len(e.order) == 0 || now.Sub(e.last) < e.every {
		e.mu.Unlock()
		return nil
	}
	order := slices.Clone(e.order)
	var list []Message
	for _, where := range order {
		list = append(list, e.told[where])
	}
	e.mu.Unlock()
	to := e.to()
	if len(to) == 0 {
		return nil
	}
	if err := e.send(ctx, to, list); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = now
	e.order = slices.DeleteFunc(e.order, func(where string) bool { return slices.Contains(order, where) })
	for _, where := range order {
		delete(e.told, where)
	}
	return nil
}

func (e *Email) send(ctx context.Context, to []string, list []Message) error {
	m := mail.NewMsg()
	waiting := 0
	for i := range list {
		if list[i].Over == "" {
			waiting++
		}
	}
	m.Subject(fmt.Sprintf("callgate: %s, %d waiting", visible.Count(len(list), "question"), waiting))
	m.SetBodyString(mail.TypeTextPlain, digest(list))
	m.SetDate()
	m.SetMessageID()
	m.SetBulk()
	if err := errors.Join(m.From(e.from), m.To(to...)); err != nil {
		return err
	}
	client, err := e.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := client.DialAndSendWithContext(ctx, m); err != nil {
		return fmt.Errorf("the digest was not sent: %w", err)
	}
	return nil
}

// client returns a client for the server. It goes without TLS only on this machine.
func (e *Email) client() (*mail.Client, error) {
	host := e.server.Hostname()
	options := []mail.Option{
		mail.WithTimeout(callTime), mail.WithTLSConfig(&tls.Config{ServerName: host, RootCAs: e.roots, MinVersion: tls.VersionTLS12}),
	}
	switch {
	case e.server.Scheme == "smtps":
		options = append(options, mail.WithSSLPort(false))
	case loopback.Host(host):
		options = append(options, mail.WithTLSPortPolicy(mail.TLSOpportunistic))
	default:
		options = append(options, mail.WithTLSPortPolicy(mail.TLSMandatory))
	}
	if port := e.server.Port(); port != "" {
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		options = append(options, mail.WithPort(n))
	}
	if e.server.User != nil {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(e.server.User.Username()), mail.WithPassword(e.password))
	}
	return mail.NewClient(host, options...)
}

// digest returns the text of a mail: waiting questions first.
func digest(list []Message) string {
	var b strings.Builder
	for _, over := range []bool{false, true} {
		for i := range list {
			m := &list[i]
			if (m.Over != "") != over {
				continue
			}
			fmt.Fprintf(&b, "%s\n", m.Title)
			for line := range strings.Lines(clip(m.Text(), room)) {
				fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\r\n"))
			}
			if !over {
				fmt.Fprintf(&b, "  waits until %s", m.Expires)
				if m.Link != "" {
					fmt.Fprintf(&b, ": %s", m.Link)
				}
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

package channels

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"callgate/internal/companion/wire"
)

// mailbox is an SMTP server that lets one user in and keeps what comes.
type mailbox struct {
	server *smtp.Server
	port   string
	mails  chan letter
	refuse chan bool // one for each mail that it does not take
}

type letter struct {
	from, text string
	to         []string
	tls        bool
}

type letterbox struct {
	mailbox *mailbox
	conn    *smtp.Conn
	in      bool
	letter
}

func (b *mailbox) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &letterbox{mailbox: b, conn: c}, nil
}

func (l *letterbox) AuthMechanisms() []string { return []string{sasl.Plain} }

func (l *letterbox) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "gate" || password != "secret" {
			return errors.New("who is that?")
		}
		l.in = true
		return nil
	}), nil
}

func (l *letterbox) Mail(from string, _ *smtp.MailOptions) error {
	if !l.in {
		return smtp.ErrAuthRequired
	}
	l.from, l.to = from, nil
	return nil
}

func (l *letterbox) Rcpt(to string, _ *smtp.RcptOptions) error { l.to = append(l.to, to); return nil }

func (l *letterbox) Data(r io.Reader) error {
	select {
	case <-l.mailbox.refuse:
		return errors.New("come back later")
	default:
	}
	text, err := io.ReadAll(quotedprintable.NewReader(r))
	_, l.tls = l.conn.TLSConnectionState()
	l.text = strings.ReplaceAll(string(text), "\r\n", "\n")
	l.mailbox.mails <- l.letter
	return err
}

func (l *letterbox) Reset()        {}
func (l *letterbox) Logout() error { return nil }

// newMailbox starts a server with STARTTLS, and returns who vouches for its certificate.
func newMailbox(t *testing.T) (*mailbox, *x509.CertPool) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	b := &mailbox{mails: make(chan letter, 10), refuse: make(chan bool, 10)}
	b.server = smtp.NewServer(b)
	b.server.Domain, b.server.TLSConfig = "localhost", &tls.Config{Certificates: certified.TLS.Certificates}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, b.port, _ = net.SplitHostPort(listen.Addr().String())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(listen) }()
	t.Cleanup(func() {
		_ = b.server.Close()
		<-served
	})
	return b, roots
}

func TestEmailDigest(t *testing.T) {
	b, roots := newMailbox(t)
	to := []string{"bob@example.com", "carol@example.com"}
	e, err := NewEmail("smtp://gate@127.0.0.1:"+b.port, "secret", "callgate@example.com", func() []string { return to }, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	e.roots = roots
	show := func(where string, m Message) string {
		t.Helper()
		where, err := e.Show(t.Context(), where, m)
		if err != nil {
			t.Fatal(err)
		}
		return where
	}
	now := time.Now()
	flush := func(after time.Duration) error { now = now.Add(after); return e.flush(t.Context(), now) }
	if err := flush(0); err != nil {
		t.Fatal(err)
	}
	first := show("", Message{Title: "claude asks: sh_run (high risk)", Lines: []string{"Run \"git push\".", "In /src/app on main", ".", "From: eve"}, Risk: "high", Link: "https://gate.example.com/#/approvals/c1", Expires: "2026-11-24T10:00:00Z"})
	show("", Message{Title: "claude asks: other (low risk)", Over: "Nobody answered in time: callgate", Risk: "low"})
	if err := flush(30 * time.Second); err != nil || len(b.mails) > 0 {
		t.Fatalf("too early: %v, %d", err, len(b.mails))
	}
	b.refuse <- true
	if err := flush(time.Minute); err == nil || len(b.mails) > 0 {
		t.Fatalf("a mail that was not taken: %v", err)
	}
	if err := flush(time.Second); err != nil {
		t.Fatal(err)
	}
	got := <-b.mails
	if !got.tls || got.from != "callgate@example.com" || strings.Join(got.to, " ") != "bob@example.com carol@example.com" {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{
		"Subject: callgate: 2 questions, 1 waiting\n", "\nclaude asks: sh_run (high risk)\n  Run \"git push\".\n  In /src/app on main\n  .\n  From: eve\n",
		"  waits until 2026-11-24T10:00:00Z: https://gate.example.com/#/approvals/c1\n", "other (low risk)\n  Nobody answered in time: callgate\n",
	} {
		if !strings.Contains(got.text, want) {
			t.Errorf("%q is not in\n%s", want, got.text)
		}
	}
	// What was told is not told again, and changes nothing.
	show(first, Message{Title: "x", Over: "Approved by alice"})
	if err := flush(time.Hour); err != nil || len(b.mails) > 0 {
		t.Errorf("again: %v, %d", err, len(b.mails))
	}
	// While nobody is to be told, it is kept.
	to = nil
	show("", Message{Title: "later"})
	if err := flush(time.Hour); err != nil || len(b.mails) > 0 {
		t.Errorf("to nobody: %v, %d", err, len(b.mails))
	}
	to = []string{"bob@example.com"}
	if err := flush(time.Second); err != nil || !strings.Contains((<-b.mails).text, "later") {
		t.Error(err)
	}
}

// While nobody is to be told, the oldest questions go that are over.
func TestEmailIsBounded(t *testing.T) {
	e, err := NewEmail("smtp://127.0.0.1:1", "", "callgate@example.com", func() []string { return nil }, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxDigest {
		over := "Nobody answered in time: callgate"
		if i%100 == 0 {
			over = ""
		}
		if _, err := e.Show(t.Context(), "", Message{Title: fmt.Sprint(i), Over: over}); err != nil {
			t.Fatal(err)
		}
	}
	waiting := 0
	for _, m := range e.told {
		if m.Over == "" {
			waiting++
		}
	}
	if len(e.told) != maxDigest || len(e.order) != maxDigest || waiting != 2*maxDigest/100 {
		t.Errorf("%d and %d questions, of which %d wait", len(e.told), len(e.order), waiting)
	}
}

func TestEmailIsNotSentToStrangers(t *testing.T) {
	b, roots := newMailbox(t)
	for name, c := range map[string]struct {
		password string
		roots    *x509.CertPool
	}{"a wrong password": {"guess", roots}, "a certificate that nobody vouches for": {"secret", x509.NewCertPool()}} {
		e, err := NewEmail("smtp://gate@127.0.0.1:"+b.port, c.password, "callgate@example.com", func() []string { return []string{"bob@example.com"} }, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		e.roots = c.roots
		if err := e.send(t.Context(), e.to(), []Message{{Title: "x"}}); err == nil || len(b.mails) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"http://mail.example.com", "smtp:", "smtps://gate@mail.example.com"} {
		if _, err := NewEmail(address, "", "callgate@example.com", nil, time.Minute); err == nil {
			t.Errorf("%q is taken without a password", address)
		}
	}
}

func TestEmailAsAChannel(t *testing.T) {
	b, roots := newMailbox(t)
	e, err := NewEmail("smtp://gate@127.0.0.1:"+b.port, "secret", "callgate@example.com", func() []string { return []string{"bob@example.com"} }, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	e.roots = roots
	g := newGate()
	stop := start(t, g, Channel{Name: "mail", Place: e, Page: "https://gate.example.com", Told: true})
	defer stop()
	g.ask("c1", "high", nil)
	if got := <-b.mails; !strings.Contains(got.text, "https://gate.example.com/#/approvals/c1") || strings.Contains(got.text, "denied here") {
		t.Errorf("%s", got.text)
	}
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "reject", By: "web:alice"})
}

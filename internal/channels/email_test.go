package channels

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/companion/wire"
)

// mailbox is an SMTP server with one user. It keeps the mails that it gets.
type mailbox struct {
	port   string
	config *tls.Config
	mails  chan letter
	refuse chan bool // holds one value for each mail to refuse
}

type letter struct {
	from, text string
	to         []string
	tls        bool
}

// serve takes mails on one connection.
func (b *mailbox) serve(conn net.Conn) {
	defer func() { conn.Close() }()
	text := textproto.NewConn(conn)
	say := func(lines ...string) { _ = text.PrintfLine("%s", strings.Join(lines, "\r\n")) } // a failure shows at the next line
	var l letter
	in := false
	say("220 localhost")
	for {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		_, address, _ := strings.Cut(rest, "<")
		address, _, _ = strings.Cut(address, ">")
		switch strings.ToUpper(verb) {
		case "EHLO":
			say("250-localhost", "250-STARTTLS", "250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			conn, l.tls = tls.Server(conn, b.config), true
			text = textproto.NewConn(conn)
		case "AUTH":
			if in = rest == "PLAIN "+base64.StdEncoding.EncodeToString([]byte("\x00gate\x00secret")); in {
				say("235 welcome")
			} else {
				say("535 who is that?")
			}
		case "MAIL":
			if !in {
				say("530 who is that?")
				continue
			}
			l.from, l.to = address, nil
			say("250 from them")
		case "RCPT":
			l.to = append(l.to, address)
			say("250 to them")
		case "DATA":
			say("354 go on")
			body, err := io.ReadAll(quotedprintable.NewReader(text.DotReader()))
			if err != nil {
				return
			}
			select {
			case <-b.refuse:
				say("451 come back later")
			default:
				l.text = strings.ReplaceAll(string(body), "\r\n", "\n")
				b.mails <- l
				say("250 taken")
			}
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 well")
		}
	}
}

// newMailbox starts a server with STARTTLS, and returns the pool that trusts its certificate.
func newMailbox(t *testing.T) (*mailbox, *x509.CertPool) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	b := &mailbox{config: &tls.Config{Certificates: certified.TLS.Certificates}, mails: make(chan letter, 10), refuse: make(chan bool, 10)}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, b.port, _ = net.SplitHostPort(listen.Addr().String())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listen.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listen.Close()
		serving.Wait()
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
	// A question that was sent is not sent again, and a change has no effect.
	show(first, Message{Title: "x", Over: "Approved by alice"})
	if err := flush(time.Hour); err != nil || len(b.mails) > 0 {
		t.Errorf("again: %v, %d", err, len(b.mails))
	}
	// Without recipients, it is kept.
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

// Without recipients, the oldest finished questions are dropped first.
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

// Package siem sends the audit trail to security systems, in their formats: by syslog, by HTTPS, or to a bucket.
package siem

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"callgate/audit"
	"callgate/internal/durable"
	"callgate/internal/loopback"
	"callgate/internal/outbound"
)

// Config is one receiver in the configuration.
type Config struct {
	Name   string
	URL    string // syslog+tls://host:6514, syslog+tcp://127.0.0.1:601, https://host/path, or s3+https://host/bucket/prefix?region=…
	Format string // FormatOCSF (default) or FormatCEF
	CA     string // file with the CA of the receiver's certificate; "": the system's CAs
	Header string // file with one header, such as "Authorization: Splunk …"; read for every batch
	Keys   string // file with the access key of a bucket, in the format of AWS' tools; read for every batch
}

// maxFile bounds each of these files, in bytes.
const maxFile = 1 << 20

// Check checks every value. Its error begins with the key.
func (c *Config) Check() error {
	u, err := url.Parse(c.URL)
	if err != nil {
		return fmt.Errorf("url: %q is not an address", c.URL)
	}
	switch {
	case c.Name == "" || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || len(c.Name) > 64:
		return fmt.Errorf("name %q: use letters, digits, - and _, at most 64", c.Name)
	case c.Format != "" && c.Format != FormatOCSF && c.Format != FormatCEF:
		return fmt.Errorf("format %q: use %s or %s", c.Format, FormatOCSF, FormatCEF)
	case u.User != nil:
		return errors.New("url: a credential does not belong in an address: use header")
	case reachable(u, "s3+https", "s3+http"):
		return c.checkBucket(u)
	case c.Keys != "":
		return errors.New("keys: they are for a bucket")
	case reachable(u, "https", "http"):
	case u.Port() != "" && reachable(u, "syslog+tls", "syslog+tcp"):
		if c.Header != "" {
			return errors.New("header: it needs an https url")
		}
	default:
		return fmt.Errorf("url: %q: use https://host/path, syslog+tls://host:6514 or s3+https://host/bucket?region=NAME; without TLS only this machine is reached", c.URL)
	}
	return nil
}

// reachable reports whether a receiver may be at u: with TLS anywhere, without TLS only on this machine.
func reachable(u *url.URL, tls, plain string) bool {
	return u.Scheme == tls && u.Host != "" || u.Scheme == plain && loopback.Confidential(&url.URL{Scheme: "http", Host: u.Host})
}

// form returns the record in the receiver's format.
func (c *Config) form(r *audit.Record) ([]byte, error) {
	if c.Format == FormatCEF {
		return CEF(r), nil
	}
	return OCSF(r)
}

// receiver is a connection to a receiver. Only one goroutine uses it.
type receiver interface {
	// send sends records. sure reports whether the receiver has confirmed that it has them.
	send(ctx context.Context, records []audit.Line) (sure bool, err error)

	// patience returns how long the oldest record of a batch that is not full may wait for others.
	patience() time.Duration

	// lost returns why sent records may be lost, or nil if no reason is known.
	lost() error

	close()
}

func (c *Config) receiver() (receiver, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	made := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	if c.CA != "" {
		if made.RootCAs, err = outbound.Roots(c.CA); err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
	}
	if scheme, isSyslog := strings.CutPrefix(u.Scheme, "syslog+"); isSyslog {
		if scheme == "tcp" {
			made = nil
		}
		host, err := os.Hostname()
		if err != nil || host == "" {
			host = "-"
		}
		return &syslog{c: c, address: u.Host, tls: made, host: host}, nil
	}
	client := &http.Client{
		Timeout: answerWithin, Transport: &http.Transport{TLSClientConfig: made, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
		CheckRedirect: outbound.NoRedirects,
	}
	if strings.HasPrefix(u.Scheme, "s3+") {
		return c.bucket(u, client), nil
	}
	return &web{c: c, client: client}, nil
}

// answerWithin bounds how long a receiver may take for a batch.
const answerWithin = 30 * time.Second

// syslog speaks RFC 5424 in frames of RFC 6587 (octet counting), over TCP or TLS (RFC 5425). It has no receipts.
type syslog struct {
	c       *Config
	address string
	tls     *tls.Config // nil without TLS
	host    string
	conn    net.Conn
	ended   chan error // gets the error that ended the connection
}

func (s *syslog) dial(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := (&net.Dialer{Control: control}).DialContext(dialing, "tcp", s.address)
	if err != nil {
		return err
	}
	if s.tls != nil {
		secured := tls.Client(conn, s.tls)
		if err := secured.HandshakeContext(dialing); err != nil {
			conn.Close()
			return err
		}
		conn = secured
	}
	ended := make(chan error, 1)
	go func() { // ends with the connection, which close closes
		_, err := io.Copy(io.Discard, conn)
		if err == nil {
			err = errors.New("the receiver closed the connection")
		}
		ended <- err
	}()
	s.conn, s.ended = conn, ended
	return nil
}

func (s *syslog) send(ctx context.Context, records []audit.Line) (bool, error) {
	if s.conn == nil {
		if err := s.dial(ctx); err != nil {
			return false, err
		}
	}
	var b bytes.Buffer
	for i := range records {
		r := &records[i].Record
		text, err := s.c.form(r)
		if err != nil {
			return false, err
		}
		// Facility 13 is "log audit". The message ID is the record's hash, so that the receiver recognizes a duplicate.
		line := fmt.Sprintf("<%d>1 %s %s callgate %d %.32s - \xef\xbb\xbf%s", 13*8+syslogSeverity(r), r.Time.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), s.host, os.Getpid(), r.Hash, text)
		fmt.Fprintf(&b, "%d %s", len(line), line)
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(answerWithin)); err != nil {
		return false, err
	}
	conn := s.conn
	defer context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })() // a closed connection is fine too
	_, err := conn.Write(b.Bytes())
	return false, err
}

// syslogSeverity returns 4 warning, 5 notice or 6 informational.
func syslogSeverity(r *audit.Record) int { return []int{6, 6, 5, 5, 4, 4}[severityOf(r)] }

func (s *syslog) patience() time.Duration { return 0 }

func (s *syslog) lost() error {
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	default:
		return nil
	}
}

func (s *syslog) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// web posts batches: OCSF as a JSON array, CEF as lines. An answer of 2xx is a receipt.
type web struct {
	c      *Config
	client *http.Client
}

// laterError is an answer other than 2xx. after is how long it asks to wait, 0 if it does not say.
type laterError struct {
	status string
	after  time.Duration
}

func (e *laterError) Error() string { return "the receiver answered " + e.status }

func (w *web) send(ctx context.Context, records []audit.Line) (bool, error) {
	forms := make([][]byte, len(records))
	for i := range records {
		text, err := w.c.form(&records[i].Record)
		if err != nil {
			return false, err
		}
		forms[i] = text
	}
	body, kind := append(append([]byte("["), bytes.Join(forms, []byte(",\n"))...), ']'), "application/json"
	if w.c.Format == FormatCEF {
		body, kind = append(bytes.Join(forms, []byte("\n")), '\n'), "text/plain; charset=utf-8"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.c.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Idempotency-Key", records[0].Hash+"-"+strconv.Itoa(len(records)))
	if w.c.Header != "" {
		text, err := durable.ReadFile(w.c.Header, maxFile)
		if err != nil {
			return false, fmt.Errorf("header: %w", err)
		}
		name, value, ok := strings.Cut(strings.TrimSpace(string(text)), ":")
		if !ok {
			return false, fmt.Errorf("header: %s has no header of the form Name: value", w.c.Header)
		}
		request.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return w.receipt(request)
}

// receipt sends a request and reports whether the receiver accepted it.
func (w *web) receipt(request *http.Request) (bool, error) {
	answer, err := w.client.Do(request)
	if err != nil { // some receivers have a secret in their URL
		return false, outbound.WithoutAddress(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // drain it so that the connection can be reused
	if answer.StatusCode/100 == 2 {
		return true, nil
	}
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		seconds = 0
	}
	return false, &laterError{answer.Status, time.Duration(seconds) * time.Second}
}

func (w *web) patience() time.Duration { return 0 }

func (w *web) lost() error { return nil }
func (w *web) close()      { w.client.CloseIdleConnections() }

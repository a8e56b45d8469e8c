package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// direct sends a message to a server without TLS on the goroutine that waits for the answer, and reads the answer
// there. net/http's transport has two goroutines per connection, and hands each message over four times. direct also
// asks for streams in this way, because those goroutines would wait for hours. Unusual requests (another method, TLS, a
// proxy, an odd address, a long message) go to net/http.
type direct struct {
	plain  *http.Transport
	unused time.Duration // how long an idle connection is kept

	mu   sync.Mutex
	idle []*wire // the last used is at the end
	reap *time.Timer
}

// longest is the size in bytes of the longest message that is sent whole before any of the answer is read. For a longer
// one, a server that reads slowly and answers early could wait for us while we wait for it.
const longest = 1 << 20

// sentBody is the body of a request.
type sentBody struct {
	bytes.Reader
	raw []byte
}

func newSentBody(raw []byte) *sentBody {
	m := &sentBody{raw: raw}
	m.Reset(raw)
	return m
}

func (*sentBody) Close() error { return nil }

// RoundTrip implements http.RoundTripper. It MUST NOT send a request twice. It uses another connection only if the
// request did not leave this machine.
func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := messageOf(r)
	if !ok || r.URL.Scheme != "http" || r.URL.User != nil || r.Host != "" && r.Host != r.URL.Host || !ordinary(r.URL.Host) || !safe(r.Header) {
		return d.plain.RoundTrip(r)
	}
	if proxy, err := d.plain.Proxy(r); proxy != nil || err != nil {
		return d.plain.RoundTrip(r)
	}
	ctx := r.Context()
	for {
		w, reused, err := d.wire(ctx, r.URL.Host)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		response, sent, err := w.exchange(ctx, r, body)
		if err == nil {
			return response, nil
		}
		w.conn.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if sent || !reused {
			return nil, err
		}
	}
}

// messageOf returns what a request sends in one piece, which is nothing for a GET.
func messageOf(r *http.Request) (body []byte, ok bool) {
	if r.Method == http.MethodGet {
		return nil, r.Body == nil
	}
	sent, ok := r.Body.(*sentBody)
	if !ok || r.Method != http.MethodPost || len(sent.raw) > longest {
		return nil, false
	}
	return sent.raw, true
}

// CloseIdleConnections closes the idle connections of both transports.
func (d *direct) CloseIdleConnections() {
	d.mu.Lock()
	idle := d.idle
	d.idle = nil
	d.mu.Unlock()
	for _, w := range idle {
		w.conn.Close()
	}
	d.plain.CloseIdleConnections()
}

// ordinary reports whether a host can be written into a request as it is.
func ordinary(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".:-[]", r)
	})
}

// safe reports whether headers can be written as they are and do not concern the connection.
func safe(h http.Header) bool {
	for name, values := range h {
		switch name {
		case "Connection", "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Te", "Content-Length", "Host", "Range", "Accept-Encoding":
			return false
		}
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return false
		}
	}
	return true
}

// wire is a connection to the server, which carries one request at a time.
type wire struct {
	of    *direct
	conn  net.Conn
	in    *bufio.Reader
	limit int64 // bytes of a header that may still come; negative while a body is read
	head  []byte
	since time.Time // when it became idle
}

// Read reads from the connection, and limits what comes before a body.
func (w *wire) Read(p []byte) (int, error) {
	if w.limit == 0 {
		return 0, errors.New("the header of the answer is too long")
	}
	if w.limit > 0 && int64(len(p)) > w.limit {
		p = p[:w.limit]
	}
	n, err := w.conn.Read(p)
	if w.limit > 0 {
		w.limit -= int64(n)
	}
	return n, err
}

// wire returns a connection: an idle one, if the server has not closed it, or else a new one.
func (d *direct) wire(ctx context.Context, host string) (w *wire, reused bool, err error) {
	for {
		d.mu.Lock()
		last := len(d.idle) - 1
		if last < 0 {
			d.mu.Unlock()
			break
		}
		w = d.idle[last]
		d.idle = slices.Delete(d.idle, last, last+1)
		d.mu.Unlock()
		if time.Since(w.since) < d.unused && quiet(w.conn) {
			return w, true, nil
		}
		w.conn.Close()
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	conn, err := d.plain.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, false, err
	}
	w = &wire{of: d, conn: conn}
	w.in = bufio.NewReaderSize(w, cmp.Or(d.plain.ReadBufferSize, 4<<10))
	return w, false, nil
}

// exchange sends the request and reads the header of the answer. sent is false if nothing of the request has left.
func (w *wire) exchange(ctx context.Context, r *http.Request, body []byte) (_ *http.Response, sent bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = w.conn.SetDeadline(time.Unix(1, 0)) }) // fails only on a closed connection
	defer func() {
		if err != nil {
			stop()
		}
	}()
	head := append(append(w.head[:0], r.Method...), ' ')
	head = append(append(head, r.URL.RequestURI()...), " HTTP/1.1\r\nHost: "...)
	head = append(append(head, r.URL.Host...), "\r\nAccept-Encoding: gzip\r\n"...)
	if r.Method == http.MethodPost {
		head = append(strconv.AppendInt(append(head, "Content-Length: "...), int64(len(body)), 10), "\r\n"...)
	}
	for name, values := range r.Header {
		for _, v := range values {
			head = append(append(append(append(head, name...), ": "...), textproto.TrimString(v)...), "\r\n"...)
		}
	}
	head = append(head, "\r\n"...)
	if len(body) <= small {
		head = append(head, body...)
		body = nil
	}
	w.head = head
	var n int64
	var failed error
	if body == nil {
		n, failed = write(w.conn, head)
	} else {
		parts := net.Buffers{head, body} // one system call
		n, failed = parts.WriteTo(w.conn)
	}
	if failed != nil && n == 0 {
		return nil, false, failed
	}
	if failed != nil { // the server may have said why it stopped reading
		_ = w.conn.SetReadDeadline(time.Now().Add(time.Second)) // fails only on a closed connection
		if ctx.Err() != nil {
			return nil, true, ctx.Err()
		}
	}
	w.limit = w.of.plain.MaxResponseHeaderBytes
	for {
		response, err := http.ReadResponse(w.in, r)
		if err != nil {
			if failed != nil {
				err = failed
			}
			return nil, true, err
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			w.limit = -1
			w.receive(ctx, response, stop, failed == nil)
			return response, true, nil
		}
	}
}

func write(conn net.Conn, p []byte) (int64, error) {
	n, err := conn.Write(p)
	return int64(n), err
}

// small is the size in bytes up to which a body is copied behind its header.
const small = 8 << 10

// receive lets the caller read the body. The connection is used again once the body has been read to its end.
func (w *wire) receive(ctx context.Context, response *http.Response, stop func() bool, whole bool) {
	b := &answerBody{from: response.Body, w: w, ctx: ctx, stop: stop, again: whole && !response.Close && response.StatusCode != http.StatusSwitchingProtocols}
	response.Body = b
	if response.ContentLength == 0 || response.Body == http.NoBody {
		b.end(true)
	}
	if response.Header.Get("Content-Encoding") == "gzip" {
		response.Body = &unzipped{ReadCloser: b}
		response.Header.Del("Content-Encoding")
		response.Header.Del("Content-Length")
		response.ContentLength, response.Uncompressed = -1, true
	}
}

// answerBody is the body of an answer. Close may be called while somebody reads.
type answerBody struct {
	from io.ReadCloser
	w    *wire
	ctx  context.Context
	stop func() bool

	mu    sync.Mutex
	ended bool
	again bool // the connection can carry another request
}

func (b *answerBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if ended {
		return 0, io.EOF
	}
	n, err := b.from.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(true)
	case err != nil:
		b.end(false)
		if b.ctx.Err() != nil {
			err = context.Cause(b.ctx)
		}
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.end(false)
	return nil
}

// end closes the connection, or returns it to the idle ones if the body has been read to its end.
func (b *answerBody) end(whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	if inTime := b.stop(); whole && inTime && b.again && b.w.in.Buffered() == 0 {
		b.w.of.keep(b.w)
		return
	}
	b.w.conn.Close()
}

// keep stores the connection for the next request.
func (d *direct) keep(w *wire) {
	if cap(w.head) > 2*small {
		w.head = nil
	}
	w.since = time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.idle) >= maxIdle {
		w.conn.Close()
		return
	}
	d.idle = append(d.idle, w)
	if d.reap == nil {
		d.reap = time.AfterFunc(d.unused, d.tidy)
	} else if len(d.idle) == 1 {
		d.reap.Reset(d.unused)
	}
}

// tidy closes the connections that have been idle for long.
func (d *direct) tidy() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = slices.DeleteFunc(d.idle, func(w *wire) bool {
		old := time.Since(w.since) >= d.unused
		if old {
			w.conn.Close()
		}
		return old
	})
	if len(d.idle) > 0 {
		d.reap.Reset(d.unused)
	}
}

// unzipped decodes a gzip body. It reads the beginning only when somebody reads.
type unzipped struct {
	io.ReadCloser
	z *gzip.Reader
}

func (u *unzipped) Read(p []byte) (n int, err error) {
	if u.z == nil {
		if u.z, err = gzip.NewReader(u.ReadCloser); err != nil {
			return 0, err
		}
	}
	return u.z.Read(p)
}

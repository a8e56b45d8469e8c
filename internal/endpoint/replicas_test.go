package endpoint

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// replicaAt is another replica, at an address.
type replicaAt struct {
	Replicas
	address string
}

func (r replicaAt) DialHosts(context.Context, string, string) (net.Conn, error) {
	return net.Dial("tcp", r.address)
}

// lateReader is a body. A read after its end happens only after the answer has begun.
type lateReader struct {
	io.ReadCloser
	ended         bool
	begun, failed chan struct{}
}

func (b *lateReader) Read(p []byte) (n int, err error) {
	late := b.ended
	if late {
		<-b.begun
	}
	n, err = b.ReadCloser.Read(p)
	b.ended = err != nil
	if late && err != io.EOF {
		close(b.failed)
	}
	return n, err
}

// An answer that begins before the request has ended arrives whole.
func TestQuickAnswerOfAnotherReplica(t *testing.T) {
	begun, failed := make(chan struct{}), make(chan struct{})
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
		_ = http.NewResponseController(w).Flush()
		<-begun
		_, _ = io.WriteString(w, ", and the rest")
	}))
	defer far.Close()
	relay := newRelay(replicaAt{address: far.Listener.Addr().String()}, slog.New(slog.DiscardHandler))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = &lateReader{ReadCloser: r.Body, begun: begun, failed: failed}
		relay.passOn(visit{w: w, r: r}, "other", "1", home{})
	}))
	defer front.Close()
	answer, err := http.Post(front.URL, "text/plain", strings.NewReader("asked"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	close(begun)
	got, err := io.ReadAll(answer.Body)
	if err != nil || string(got) != "asked, and the rest" {
		t.Errorf("%q, %v", got, err)
	}
	select {
	case <-failed:
		t.Error("the request was read after the answer had begun")
	default:
	}
}

package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A job about a message runs where the message was read, in order, and a waiting job holds up nobody for long.
func TestJobs(t *testing.T) {
	for _, lends := range []bool{false, true} {
		t.Run(fmt.Sprint("lends ", lends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, w := io.Pipe()
				c := NewConn(in, io.Discard, Options{Jobs: true})
				began := time.Now()
				done := make(chan string, 100)
				release := make(chan struct{})
				ended := make(chan error)
				go func() {
					ended <- c.Run(func(m Message) {
						c.Here(func() {
							if strings.HasPrefix(m.Method, "wait") {
								if lends {
									c.Lend()
								}
								<-release
							}
							done <- m.Method
						})
					})
				}()
				send := func(methods ...string) {
					for _, m := range methods {
						if _, err := w.Write(append(Request([]byte("1"), m, nil), '\n')); err != nil {
							t.Fatal(err)
						}
					}
				}
				want := func(methods ...string) {
					t.Helper()
					for _, m := range methods {
						if got := <-done; got != m {
							t.Errorf("%s is done, want %s", got, m)
						}
					}
				}
				send("a", "b")
				want("a", "b")
				if took := time.Since(began); took != 0 {
					t.Errorf("short jobs took %v", took)
				}
				send("wait", "c", "wait", "wait", "d", "e")
				want("c", "d", "e")
				if took := time.Since(began); lends != (took == 0) || took > 6*patience {
					t.Errorf("jobs that wait held others up for %v", took)
				}
				time.Sleep(time.Minute)
				send("f")
				want("f")
				w.Close()
				if err := <-ended; err != nil { // although jobs wait
					t.Error(err)
				}
				close(release)
				want("wait", "wait", "wait")
			})
		})
	}
}

// posted is told how its request ended.
type posted func(Message, error)

func (posted) Compose(id []byte) []byte        { return Request(id, "do", nil) }
func (p posted) Answered(m Message, err error) { p(m, err) }

// The sender of a posted request is told how it ended, once.
func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, end := pair(Options{}, Options{})
		go a.Run(func(Message) {})
		requests := make(chan Message)
		go b.Run(func(m Message) { requests <- m })
		heard := make(chan string, 10)
		post := func() *Pending {
			p := new(Pending)
			if err := a.Post(p, posted(func(m Message, err error) { heard <- fmt.Sprintf("%s %v", m.Result, err) })); err != nil {
				t.Fatal(err)
			}
			return p
		}
		want := func(what string) {
			t.Helper()
			if got := <-heard; got != what {
				t.Errorf("heard %q, want %q", got, what)
			}
		}
		answer := func(result string) {
			if err := b.Write(Result((<-requests).ID, []byte(result))); err != nil {
				t.Error(err)
			}
		}
		p := post()
		answer(`{"n":1}`)
		want(`{"n":1} <nil>`)
		if p.Forget() {
			t.Error("an answered request is forgotten")
		}
		post()
		answer(`{"n":1,"n":"` + "\xff" + `"}`)
		if got := <-heard; !strings.Contains(got, "cannot be read") {
			t.Errorf("heard %q of an answer that cannot be read", got)
		}
		if p := post(); !p.Forget() || p.Forget() {
			t.Error("a request is not forgotten once")
		}
		answer(`{"n":2}`)
		post()
		<-requests
		end()
		want(" " + ErrClosed.Error())
		if err := a.Post(new(Pending), posted(nil)); !errors.Is(err, ErrClosed) {
			t.Errorf("a request on a closed connection: %v", err)
		}
		synctest.Wait()
		if len(heard) > 0 {
			t.Errorf("heard %q too", <-heard)
		}
	})
}

// A write error is returned by Post, and nobody else is told.
func TestPostToWhoDoesNotRead(t *testing.T) {
	c := NewConn(strings.NewReader(""), brokenWriter{}, Options{})
	if err := c.Post(new(Pending), posted(func(Message, error) { t.Error("it is told twice") })); err == nil {
		t.Error("no error")
	}
	if _, err := c.Request(context.Background(), "do", nil); err == nil {
		t.Error("no error of a request that waits")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

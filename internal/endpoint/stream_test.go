package endpoint

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func texts(s *stream, reader uint64) (all []string) {
	for {
		e, ok, _, _ := s.take(reader)
		if !ok {
			return all
		}
		all = append(all, string(e.message))
		s.gave(reader, e)
	}
}

// A reader that comes back gets what it has not seen, once, and nobody else reads meanwhile.
func TestStreamIsResumed(t *testing.T) {
	s := newStream("a")
	for i := range 4 {
		if err := s.put(fmt.Append(nil, i), i == 3, nil); err != nil {
			t.Fatal(err)
		}
	}
	first := s.attach(1, nil)
	for range 2 {
		e, _, _, _ := s.take(first)
		s.gave(first, e)
	}
	second := s.attach(2, nil) // it knows only the first event
	if _, ok, over, _ := s.take(first); ok || !over {
		t.Error("two readers of one stream")
	}
	if got := fmt.Sprint(texts(s, second)); got != "[1 2 3]" {
		t.Errorf("the second reader got %s", got)
	}
	if _, _, over, _ := s.take(second); !over || !s.finished() {
		t.Error("the stream has not ended")
	}
	if err := s.put([]byte("late"), false, nil); err == nil {
		t.Error("something follows the last message")
	}
	if got := fmt.Sprint(texts(s, s.attach(1, nil))); got != "[0 1 2 3]" {
		t.Errorf("what was kept is %s", got)
	}
}

// While nobody reads, the oldest messages are forgotten beyond a bound, and the newest never.
func TestStreamIsBounded(t *testing.T) {
	s := newStream("a")
	large := bytes.Repeat([]byte("x"), maxBacklog/4)
	for range 20 {
		if err := s.put(large, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s.bytes > maxBacklog {
		t.Errorf("%d bytes are kept", s.bytes)
	}
	huge := bytes.Repeat([]byte("y"), 3*maxBacklog)
	if err := s.put(huge, true, nil); err != nil {
		t.Fatal(err)
	}
	if got := texts(s, s.attach(s.unread(), nil)); len(got) != 1 || len(got[0]) != len(huge) {
		t.Errorf("%d messages are left", len(got))
	}
	if s.bytes > maxKept && len(s.kept) > 0 {
		t.Errorf("%d bytes are kept of what was read", s.bytes)
	}
}

// A writer waits for a slow reader, until it has read or is gone, or the session ends.
func TestStreamPushesBack(t *testing.T) {
	for name, free := range map[string]func(s *stream, reader uint64, done chan struct{}){
		"read":   func(s *stream, reader uint64, _ chan struct{}) { texts(s, reader) },
		"gone":   func(s *stream, reader uint64, _ chan struct{}) { s.detach(reader) },
		"closed": func(_ *stream, _ uint64, done chan struct{}) { close(done) },
		"ended":  func(s *stream, _ uint64, _ chan struct{}) { s.end() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s, done := newStream("a"), make(chan struct{})
			reader := s.attach(1, nil)
			large := bytes.Repeat([]byte("x"), maxBacklog+1)
			if err := s.put(large, false, done); err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			go func() { written <- s.put(large, false, done) }()
			synctest.Wait()
			select {
			case <-written:
				t.Errorf("%s: nobody waits for the reader", name)
			default:
			}
			free(s, reader, done)
			err := <-written
			if ends := name == "closed" || name == "ended"; (err != nil) != ends {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestStreamFirst(t *testing.T) {
	for _, c := range []struct {
		name  string
		do    func(s *stream)
		whole string
		none  bool
	}{
		{"a response", func(s *stream) { _ = s.put([]byte("r"), true, nil) }, "r", false},
		{"a notification", func(s *stream) { _ = s.put([]byte("n"), false, nil) }, "", false},
		{"both", func(s *stream) { _ = s.put([]byte("n"), false, nil); _ = s.put([]byte("r"), true, nil) }, "", false},
		{"none", (*stream).end, "", true},
		{"nothing yet", func(*stream) {}, "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStream("a")
			c.do(s)
			soon, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			whole, none := s.first(context.Background(), soon.Done())
			if string(whole) != c.whole || none != c.none {
				t.Errorf("%s: %q, %v", c.name, whole, none)
			}
		})
	}
}

func FuzzEventID(f *testing.F) {
	f.Add("a-0")
	f.Add("-")
	f.Add("x-18446744073709551615")
	f.Fuzz(func(t *testing.T, text string) {
		id, from, ok := parseEventID(text)
		if ok && from == 0 {
			t.Errorf("%q goes on before the first message", text)
		}
		if back := newStream(id).eventID(from - 1); ok && len(back) > len(text) {
			t.Errorf("%q became %q", text, back)
		}
	})
}

// A request of the stateless revision is refused with the same status, however long that takes.
func TestTheStatusOfARefusalDoesNotDependOnTime(t *testing.T) {
	for name, c := range map[string]struct {
		does   func(x *exchange)
		status int
	}{
		"refused at once": {func(x *exchange) {
			_ = x.Reject([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"no"}}`))
		}, 400},
		"refused late": {func(x *exchange) {
			time.Sleep(3 * time.Second)
			_ = x.Reject([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"no"}}`))
		}, 400},
		"unknown, late": {func(x *exchange) {
			time.Sleep(3 * time.Second)
			_ = x.Respond([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`))
		}, 404},
		"after a person, soon": {func(x *exchange) {
			x.Waits()
			_ = x.Respond([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`))
		}, 200},
		"after a person, late": {func(x *exchange) {
			x.Waits()
			time.Sleep(time.Second)
			_ = x.Respond([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`))
		}, 200},
		"it takes very long": {func(x *exchange) { time.Sleep(time.Minute); _ = x.Respond([]byte(`{}`)) }, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newExchange(httptest.NewRequest("POST", "/mcp", nil), reading{plain: true, stream: true}, func() {})
			go c.does(x)
			began := time.Now()
			whole, _ := x.first(t.Context())
			if got := x.status(whole); got != c.status {
				t.Errorf("%s: %d %s", name, got, whole)
			}
			if took := time.Since(began); name == "after a person, late" && took > 0 {
				t.Errorf("the event stream of a request that waits begins after %v", took)
			}
			time.Sleep(2 * time.Minute)
		})
	}
}

// A host whose request waits for a person gets the head of the response, and an event to resume from, at once.
func TestAWaitForAPersonBeginsTheEventStream(t *testing.T) {
	s := newSession(t.Context(), visit{who: Guest{Principal: "alice"}, room: &Room{}}, func() {})
	st, err := s.begin([]byte("1"), false, func() {})
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	st.more = func() { begun++ }
	if s.Waits([]byte("2")); begun != 0 {
		t.Error("another request began it")
	}
	if s.Waits([]byte("1")); begun != 1 {
		t.Error("the event stream did not begin")
	}
}

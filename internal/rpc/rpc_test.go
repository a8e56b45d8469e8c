package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/jsonx"
)

var parseCases = []struct{ name, line, want, err string }{
	{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `request id=1 ping`, ""},
	{"string id, params, unknown member", `{"x":[1.0],"params":{"a":1},"method":"tools/call","id":"a\"b","jsonrpc":"2.0"}`, `request id="a\"b" tools/call {"a":1}`, ""},
	{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `notification notifications/initialized`, ""},
	{"result", `{"jsonrpc":"2.0","id":"cg-1","result":{}}`, `response id="cg-1" {}`, ""},
	{"error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `response id=null {"code":-32700,"message":"x"}`, ""},
	{"second method", `{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`, "", "named like"},
	{"same member twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, "", "named like"},
	{"case variant alone", `{"jsonrpc":"2.0","id":1,"METHOD":"tools/call"}`, "", "spelled unlike"},
	{"request and response", `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, "", "no result"},
	{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, "", "neither"},
	{"no version", `{"id":1,"method":"ping"}`, "", `"jsonrpc"`},
	{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "", "neither a string nor a number"},
	{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "", "not a JSON object"},
	{"log line", `Server listening`, "", "not a JSON object"},
	{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, "", "needs a method"},
}

func describeMessage(m Message) string {
	switch {
	case m.IsRequest():
		return strings.TrimSpace(fmt.Sprintf("request id=%s %s %s", m.ID, m.Method, m.Params))
	case m.IsNotification():
		return strings.TrimSpace(fmt.Sprintf("notification %s %s", m.Method, m.Params))
	default:
		return fmt.Sprintf("response id=%s %s%s", m.ID, m.Result, m.Error)
	}
}

// Composed reads what Parse reads, whatever the order and spelling of the members.
func TestComposed(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","id":"cg-1","method":"tools/call","params":{"id":2,"method":"x"},"more":1}`,
		`{ "more" : {"id":3}, "id" : 1 , "m\u0065thod" : "a\u0062" , "params" : [] , "jsonrpc" : "2.0" }`,
		`{"jsonrpc":"2.0","id":1,"p\u0061rams":{"params":{}},"method":"ping"}`,
	}
	for _, c := range parseCases {
		lines = append(lines, c.line)
	}
	for _, line := range lines {
		want, wrong := Parse([]byte(line))
		got, err := Composed([]byte(line))
		if (err == nil) != (wrong == nil) || err == nil && (string(got.ID) != string(want.ID) || got.Method != want.Method || string(got.Raw) != line) {
			t.Errorf("%s: %s %v, and not %s %v", line, describeMessage(got), err, describeMessage(want), wrong)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range parseCases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse([]byte(c.line))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error = %v, want one that says %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := describeMessage(m); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestSplicedMessageKeepsItsBytes(t *testing.T) {
	m, err := Parse([]byte(`{ "extra":1.0 , "params": {"n":9007199254740993,"u":"\u0041"}, "id" : 7, "method":"m","jsonrpc":"2.0"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.WithID([]byte(`"x"`))), `{ "extra":1.0 , "params": {"n":9007199254740993,"u":"\u0041"}, "id" : "x", "method":"m","jsonrpc":"2.0"}`; got != want {
		t.Errorf("WithID = %s", got)
	}
	if got, want := string(WithParams(m, []byte(`8`), []byte(`{}`))), `{ "extra":1.0 , "params": {}, "id" : 8, "method":"m","jsonrpc":"2.0"}`; got != want {
		t.Errorf("WithParams = %s", got)
	}
}

func TestComposedMessagesParse(t *testing.T) {
	for want, b := range map[string][]byte{
		`request id=1 a"b {}`:     Request([]byte("1"), `a"b`, []byte("{}")),
		`notification n`:          Request(nil, "n", nil),
		`response id="x" {"a":1}`: Result([]byte(`"x"`), []byte(`{"a":1}`)),
		`response id=null {"code":-32700,"message":"bad \"x\""}`: Error(nil, CodeParse, `bad "x"`),
	} {
		m, err := Parse(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
		} else if got := describeMessage(m); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// pair returns two connections that talk to each other and a function that ends both.
func pair(a, b Options) (*Conn, *Conn, func()) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return NewConn(ar, aw, a), NewConn(br, bw, b), func() { aw.Close(); bw.Close() }
}

func TestRequestsCrossBothWays(t *testing.T) {
	a, b, end := pair(Options{}, Options{})
	answer := func(c *Conn) func(Message) {
		return func(m Message) { go c.Write(Result(m.ID, m.Params)) }
	}
	var wg sync.WaitGroup
	wg.Go(func() { a.Run(answer(a)) })
	wg.Go(func() { b.Run(answer(b)) })
	var calls sync.WaitGroup
	for i := range 50 {
		for _, c := range []*Conn{a, b} {
			calls.Go(func() {
				params := fmt.Sprintf(`{"n":%d}`, i)
				m, err := c.Request(context.Background(), "echo", []byte(params))
				if err != nil || string(m.Result) != params {
					t.Errorf("got %s, %v, want %s", m.Result, err, params)
				}
			})
		}
	}
	calls.Wait()
	end()
	wg.Wait()
	if _, err := a.Request(context.Background(), "late", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a request on a closed connection: %v", err)
	}
}

func TestWaitEndsWithItsContextAndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, end := pair(Options{}, Options{})
		late := make(chan Message, 1)
		go a.Run(func(m Message) { late <- m })
		requests := make(chan Message, 2)
		go b.Run(func(m Message) { requests <- m })

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Request(ctx, "slow", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error = %v, want a deadline", err)
		}
		first := <-requests
		if err := b.Write(Result(first.ID, []byte("{}"))); err != nil {
			t.Fatal(err)
		}
		if m := <-late; !m.IsResponse() || string(m.ID) != string(first.ID) {
			t.Errorf("the late answer was not handed on as unsolicited: %s", m.Raw)
		}

		failed := make(chan error, 1)
		go func() {
			_, err := a.Request(t.Context(), "never", nil)
			failed <- err
		}()
		<-requests
		end()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("error = %v, want ErrClosed", err)
		}
	})
}

func TestNoiseAndLimits(t *testing.T) {
	var noise []string
	c := NewConn(strings.NewReader("hello\n\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\r\n{\"jsonrpc\":\"2.0\",\"method\":\"last\"}"), io.Discard,
		Options{Noise: func(line []byte, err error) { noise = append(noise, string(line)) }})
	var got []string
	if err := c.Run(func(m Message) { got = append(got, m.Method) }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got, noise) != "[a last] [hello]" {
		t.Errorf("got %v, noise %v", got, noise)
	}

	long := NewConn(strings.NewReader(strings.Repeat("x", 1<<20)), io.Discard, Options{MaxMessage: 1 << 17})
	if err := long.Run(func(Message) {}); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error = %v, want one about the length", err)
	}
}

// Readdressed changes the id and no other byte, in short and long messages.
func TestReaddressed(t *testing.T) {
	for _, form := range []string{
		`{"result":{"text":"%s"},"id":%s,"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0", "id" : %[2]s, "result":{"text":"%[1]s"}}`,
		`{"result":{"text":"x"},"id":%[2]s,"jsonrpc":"2.0","more":"%[1]s"}`, `{"more":"%[1]s","id":%[2]s,"error":{"code":1,"message":"x"},"jsonrpc":"2.0"}`,
	} {
		for _, text := range []string{"short", strings.Repeat("long", long)} {
			for _, id := range []string{`7`, `"cg-1"`, `"of the host"`} {
				m, err := Parse(fmt.Appendf(nil, form, text, `"cg-1"`))
				if err != nil {
					t.Fatal(err)
				}
				body := string(m.Result) + string(m.Error)
				if got, want := string(m.Readdressed([]byte(id))), fmt.Sprintf(form, text, id); got != want {
					t.Errorf("got %.100s of %d bytes, want %.100s of %d", got, len(got), want, len(want))
				}
				if now := string(m.Result) + string(m.Error); now != body {
					t.Errorf("its result was %.100s, and is %.100s for who learns from it", body, now)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range parseCases {
		f.Add([]byte(c.line))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":1,"A":2}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":[{"a":1},{"a":` + strings.Repeat("[", jsonx.MaxDepth) + strings.Repeat("]", jsonx.MaxDepth) + `}]}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[\"\xff\"]}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		checked, again := ParseRequest(line)
		if (err == nil) != (again == nil) || err == nil && (m.Check() == nil) != (checked.Check() == nil) {
			t.Fatalf("parsed: %v, %v; with a check: %v, %v", err, m.Check(), again, checked.Check())
		}
		if err != nil || m.ID == nil {
			return
		}
		other, err := Parse(m.WithID([]byte(`"replaced"`)))
		if err != nil {
			t.Fatalf("a message with another id does not parse: %v", err)
		}
		if string(other.ID) != `"replaced"` || other.Method != m.Method || string(other.Params) != string(m.Params) {
			t.Fatalf("%s became %s", m.Raw, other.Raw)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":123,"method":"tools/call","params":{"name":"filesystem_read_text_file","arguments":{"path":"/home/user/project/README.md","head":10},"_meta":{"progressToken":12}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

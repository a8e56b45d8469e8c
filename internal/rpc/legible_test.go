package rpc

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// unreadableAnswers holds lines that Parse refuses, or that are not text, and the id that each answers.
var unreadableAnswers = []struct{ name, line, id string }{
	{"member twice", `{"jsonrpc":"2.0","id":"cg-1","result":{},"result":{}}`, `"cg-1"`},
	{"same id twice", `{"jsonrpc":"2.0","id":"cg-1","id":"cg-1","result":{}}`, `"cg-1"`},
	{"two ids", `{"jsonrpc":"2.0","id":"cg-1","id":"cg-2","result":{}}`, ""},
	{"result and error", `{"jsonrpc":"2.0","id":"cg-1","result":{},"error":{"code":1,"message":"x"}}`, `"cg-1"`},
	{"neither", `{"jsonrpc":"2.0","id":"cg-1"}`, `"cg-1"`},
	{"other case", `{"jsonrpc":"2.0","ID":"cg-1","Result":{}}`, `"cg-1"`},
	{"no version", `{"id":"cg-1","result":{}}`, `"cg-1"`},
	{"id last, too deep", `{"result":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `,"id":"cg-1","jsonrpc":"2.0"}`, `"cg-1"`},
	{"breaks off", `{"jsonrpc":"2.0","id":"cg-1","result":{"a":"b`, `"cg-1"`},
	{"escaped id", `{"jsonrpc":"2.0", "id" : "\u0063g-1","result":{},"result":{}}`, `"\u0063g-1"`},
	{"id within the result", `{"jsonrpc":"2.0","result":{"id":"cg-1"},"result":{}}`, ""},
	{"id in a text", `{"jsonrpc":"2.0","result":"\",\"id\":\"cg-1\"","result":{}}`, ""},
	{"number", `{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`, `7`},
	{"log line", `{"level":"info","id":"cg-1","message":"working"}`, ""},
	{"request", `{"jsonrpc":"2.0","id":"cg-1","method":"","result":{}}`, ""},
	{"no object", `[{"jsonrpc":"2.0","id":"cg-1","result":{}}]`, ""},
	{"empty", ``, ""},
}

func TestAnswered(t *testing.T) {
	for _, c := range unreadableAnswers {
		id, ok := answered([]byte(c.line))
		if ok != (c.id != "") || ok && string(id) != c.id {
			t.Errorf("%s: id %s, %v, want %s", c.name, id, ok, c.id)
		}
	}
}

func FuzzAnswered(f *testing.F) {
	for _, c := range unreadableAnswers {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		id, ok := answered(line)
		if ok && len(id) == 0 {
			t.Fatal("an id that is empty")
		}
		if m, err := Parse(line); err == nil && m.IsResponse() && line[0] == '{' && (!ok || string(id) != string(m.ID)) {
			t.Fatalf("the id of %s is read as %s", line, id)
		}
	})
}

// A request whose answer cannot be read ends with an error, at once.
func TestUnreadableAnswerEndsItsRequest(t *testing.T) {
	lines := []string{"{\"jsonrpc\":\"2.0\",\"id\":\"cg-1\",\"result\":{\"a\":\"\xff\"}}"}
	for _, c := range unreadableAnswers {
		if c.id == `"cg-1"` || c.name == "escaped id" {
			lines = append(lines, c.line)
		}
	}
	for _, line := range lines {
		in, w := io.Pipe()
		c := NewConn(in, io.Discard, Options{})
		p, err := c.Send(func(id []byte) []byte { return Request(id, "m", nil) })
		if err != nil {
			t.Fatal(err)
		}
		go c.Run(func(m Message) { t.Errorf("%s was handed on", m.Raw) })
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), waits.Limit)
		_, err = p.Wait(ctx)
		if unreadable := (*UnreadableError)(nil); !errors.As(err, &unreadable) {
			t.Errorf("%.80s: %v", line, err)
		}
		cancel()
		w.Close()
	}
}

// A line that the end of the stream cut off is not an answer.
func TestAnswerThatTheEndCutsOff(t *testing.T) {
	c := NewConn(strings.NewReader(`{"jsonrpc":"2.0","id":"cg-1","result":{"a":`), io.Discard, Options{})
	p, err := c.Send(func(id []byte) []byte { return Request(id, "m", nil) })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(func(Message) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("error = %v, want ErrClosed", err)
	}
}

func TestAsked(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`: "1",
		`{"jsonrpc":"2.0","id":"a","method":"ping","METHOD":"tools/call"}`:                                             `"a"`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":2`:                                                        "1",
		`[{"id":1,"method":"a"}]`:      "",
		`{"id":1,"id":2,"method":"m"}`: "",
		`{"id":1,"ID":1,"method":"m"}`: "1",
		`{"id":[1],"method":"m"}`:      "",
		`{"id":"\x01","method":"m"}`:   "",
		`{"id":1,"result":{}}`:         "",
		`{"method":"m"}`:               "",
		`"method" "id":1`:              "",
		"":                             "",
	} {
		if got := string(Asked([]byte(line))); got != want {
			t.Errorf("%.60s: %s, want %s", line, got, want)
		}
	}
}

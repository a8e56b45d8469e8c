package tasks

import (
	"testing"
	"time"
)

// requests holds "task" members, and what is passed on of them; "" means a refusal.
var requests = []struct{ raw, passed string }{
	{`{}`, `{}`},
	{`{"ttl":60000}`, `{"ttl":60000}`},
	{`{ "x" : {"path":".env"}, "ttl" : 0 }`, `{"ttl":0}`},
	{`{"ttl":null,"y":1}`, `{}`},
	{`{"\u0074tl":5}`, `{"ttl":5}`},
	{`{"ttl":999999999999999}`, `{"ttl":999999999999999}`},
	{`{"ttl":1000000000000000}`, ""},
	{`{"ttl":-1}`, ""}, {`{"ttl":1.5}`, ""}, {`{"ttl":1e9}`, ""}, {`{"ttl":1e999}`, ""}, {`{"ttl":"60"}`, ""},
	{`{"ttl":{}}`, ""}, {`{"ttl":true}`, ""}, {`{"TTL":1}`, ""}, {`[]`, ""}, {`null`, ""}, {`1`, ""},
}

func TestRequests(t *testing.T) {
	for _, c := range requests {
		passed, err := ReadRequest([]byte(c.raw))
		if string(passed) != c.passed || (err == nil) != (c.passed != "") {
			t.Errorf("%s: %s, %v; want %s", c.raw, passed, err, c.passed)
		}
	}
}

func FuzzRequests(f *testing.F) {
	for _, c := range requests {
		f.Add(c.raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if raw == "" {
			return
		}
		passed, err := ReadRequest([]byte(raw))
		if err != nil {
			return
		}
		if again, err := ReadRequest(passed); err != nil || string(again) != string(passed) {
			t.Errorf("%q is passed on as %s, which is read as %s, %v", raw, passed, again, err)
		}
	})
}

// A restarted server may use an id again. What it says is then about the new task.
func TestATaskWithAnIdOfBefore(t *testing.T) {
	server := new(int)
	b := &Calls{}
	var last *Call
	for range 2 {
		c := New([]byte("null"), time.Second, func() any { return server }, false, nil)
		if !b.Add(c) || !b.Become(c, server, Task{ID: "t-1", Raw: []byte(`{"taskId":"t-1"}`)}, []byte("{}")) {
			t.Fatal("it is no task")
		}
		if last == nil {
			b.End(c, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), "completed")
		}
		last = c
	}
	if c := b.Theirs(server, "t-1"); c != last {
		t.Errorf("%+v is meant", c)
	}
	b.Close()
}

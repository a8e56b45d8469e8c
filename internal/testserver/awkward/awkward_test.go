package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// peer is the client's end of a server that runs in the test.
type peer struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Reader
	done  chan error
	exits chan int
}

func start(t *testing.T, prepare func(*server)) *peer {
	t.Helper()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	p := &peer{t: t, in: in, lines: bufio.NewReader(out), done: make(chan error, 1), exits: make(chan int, 1)}
	s := newServer(serverOut, func(code int) {
		p.exits <- code
		serverOut.Close()
	})
	if prepare != nil {
		prepare(s)
	}
	go func() {
		p.done <- s.serve(serverIn)
		serverOut.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		if _, err := io.Copy(io.Discard, p.lines); err != nil {
			t.Error(err)
		}
		if err := <-p.done; err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) want(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func toolCall(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

// Every answer is JSON on one line and the same on every run.
func TestAnswersAreFixed(t *testing.T) {
	requests := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
		toolCall(9, "echo", `{"a":1.0}`), toolCall(9, "fail", `{}`), toolCall(9, "envelope", `{}`),
		toolCall(9, "big", `{}`), toolCall(9, "echo_env", `{}`), toolCall(9, "no such tool", `{}`),
	}
	for method := range fixedAnswers {
		requests = append(requests, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method))
	}
	for tool := range fixedResults {
		requests = append(requests, toolCall(1, tool, `{}`))
	}
	for _, request := range requests {
		var seen [2]string
		for i := range seen {
			p := start(t, nil)
			p.send(request)
			seen[i] = p.line()
		}
		if !json.Valid([]byte(seen[0])) {
			t.Errorf("%s\nanswers no JSON: %s", request, seen[0])
		}
		if seen[0] != seen[1] {
			t.Errorf("%s\nanswers %s\nand then %s", request, seen[0], seen[1])
		}
	}
}

// The awkward parts of an answer reach the wire.
func TestAwkwardBytesSurvive(t *testing.T) {
	p := start(t, nil)
	for _, test := range []struct {
		request string
		parts   []string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
			[]string{`"protocolVersion":"2025-06-18"`, `1e400,-0`, `\u0041wkward \/ \ud83d\ude80`, `{"b":1,"a":2}`}},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			[]string{`[1.0,-0,1e400,0.1e1]`, `"$dynamicRef":"#node"`, `"definitions":`, `"properties":{"zulu"`, `"unevaluatedItems":false`}},
		{toolCall(1, "numbers", `{}`), []string{`9007199254740993`, `18446744073709551616`, `"one":1.0`, `"zero":-0,`, `1e400`, `1E+2`}},
		{toolCall(1, "escapes", `{}`), []string{`\u0041 \u00e9 \u00E9 é \/ /`, `\u0000`, `"\u006bey"`, `<\/b>`}},
		{toolCall(1, "is_no_error", `{}`), []string{`"isError":false`}},
		{toolCall(1, "unknown_content", `{}`), []string{`"type":"hologram","payload":{"z":1,"a":[true,null]}`, `,{}]`}},
		{toolCall(1, "fail", `{}`), []string{`"code":-31999`, `"data":{"z":1,"a":{"n":9007199254740993,"one":1.0}`}},
		{`{"jsonrpc":"2.0","id":"\u0041","method":"tools/call","params":{"_meta":{"z":1.0},"name":"echo","x":[-0]}}`,
			[]string{`"id":"\u0041"`, `"structuredContent":{"_meta":{"z":1.0},"name":"echo","x":[-0]}`}},
	} {
		p.send(test.request)
		line := p.line()
		for _, part := range test.parts {
			if !strings.Contains(line, part) {
				t.Errorf("%s\nanswer lacks %s:\n%s", test.request, part, line)
			}
		}
	}
}

func TestProgressThenAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, nil)
		begun := time.Now()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"ms":200,"steps":2},"_meta":{"progressToken":9007199254740993}}}`)
		p.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"slow","data":{"z":1,"a":9007199254740993},"x-unknown":1.0}}`)
		for step := 1; step <= 2; step++ {
			p.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":%d.0,"total":2,"message":"step \u0041","x-unknown":{"z":1,"a":2}}}`, step))
		}
		p.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"took its time"}]}}`)
		if took := time.Since(begun); took != 200*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestCancelledCallDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, nil)
		p.send(toolCall(1, "slow", `{"ms":60000}`))
		p.line() // the log message
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"\u0041"}}`)
		time.Sleep(2 * time.Minute)
		p.send(toolCall(2, "cancelled", `{}`))
		p.want(`{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":[{"requestId":1,"reason":"\u0041"}]}}`)
	})
}

func TestAsksInMidCall(t *testing.T) {
	p := start(t, nil)
	for i, test := range []struct{ tool, method string }{
		{"ask_sampling", "sampling/createMessage"}, {"ask_elicitation", "elicitation/create"}, {"ask_roots", "roots/list"},
	} {
		id := 2*i + 1
		p.send(toolCall(id, test.tool, `{}`))
		if line := p.line(); !strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":"awkward-%d","method":%q,"params":{`, id, test.method)) {
			t.Errorf("asked %s", line)
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"awkward-%d","result":{"z":1.0}}`, id))
		p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"result":{"z":1.0}}}}`, id))

		p.send(toolCall(id+1, test.tool, `{}`))
		p.line()
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"awkward-%d","error":{"code":-1,"message":"no","data":{"z":1}}}`, id+1))
		p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":true,"structuredContent":{"error":{"code":-1,"message":"no","data":{"z":1}}}}}`, id+1))
	}
}

func TestChangedDefinition(t *testing.T) {
	p := start(t, nil)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	before := p.line()
	p.send(toolCall(2, "change_definition", `{}`))
	p.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x-unknown":1.0}}`)
	p.line()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if after := p.line(); strings.Replace(after, "CHANGED. ", "", 1) != before || after == before {
		t.Errorf("definitions differ in more, or in less, than echo:\n%s\n%s", before, after)
	}
}

func TestCrashLeavesHalfALine(t *testing.T) {
	p := start(t, nil)
	p.send(toolCall(1, "crash", `{}`))
	rest, err := io.ReadAll(p.lines)
	if err != nil || !bytes.Equal(rest, []byte(`{"jsonrpc":"2.0","id":1,"res`)) {
		t.Errorf("wrote %q, %v", rest, err)
	}
	if code := <-p.exits; code != 3 {
		t.Errorf("exit code %d", code)
	}
}

func TestNoiseStandsBetweenMessages(t *testing.T) {
	p := start(t, func(s *server) { s.noise = true })
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	p.want(`noise: handling ping`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

func TestStrictServerExitsOnAProbe(t *testing.T) {
	p := start(t, func(s *server) { s.strict = true })
	p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
	if code := <-p.exits; code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestNoJSON(t *testing.T) {
	p := start(t, nil)
	p.send(`{"jsonrpc"`)
	p.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}`)
}

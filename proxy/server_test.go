package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/rpc"
)

// If this variable holds a script, the test binary is the upstream.
const scriptVariable = "PROXY_TEST_SERVER"

// script is what the upstream says about itself. scriptedServer.call is what its tools do.
type script struct {
	Capabilities string            // raw; "" means only tools
	Instructions string            //
	Lists        map[string]string // raw results of methods other than tools/call; "" is never answered
	Info         string            // raw serverInfo; "" means a name and a version
	Version      string            // of the protocol; "" means 2025-06-18
}

// oneTool is the list that most tests need. No encoder would spell it like this.
const oneTool = `{ "tools": [ {"name":"do", "x-unknown": 1.0, "inputSchema":{"type":"object"}} ], "_meta": {"n": 9007199254740993} }`

func TestMain(m *testing.M) {
	if text := os.Getenv(scriptVariable); text != "" {
		var s script
		if file, found := strings.CutPrefix(text, "@"); found {
			whole, err := os.ReadFile(file)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			text = string(whole)
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		(&scriptedServer{script: s, out: os.Stdout}).run()
		return
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise an upstream built with -race sleeps for a second when it ends
	os.Exit(m.Run())
}

// scriptedServer is an MCP server with one thread.
type scriptedServer struct {
	script
	out           *os.File
	received      [][]byte // raw tools/call messages, and notifications about tasks
	hung          [][]byte // ids of calls that wait for their cancellation
	subscriptions []string // requests that say what the host wants to hear
}

func (s *scriptedServer) run() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := rpc.Parse(line[:len(line)-1])
		if err != nil {
			fmt.Fprintln(os.Stderr, "not a message:", err)
			os.Exit(2)
		}
		s.handle(m)
	}
}

func (s *scriptedServer) handle(m rpc.Message) {
	if strings.HasSuffix(m.Method, "subscribe") || m.Method == "logging/setLevel" {
		s.subscriptions = append(s.subscriptions, m.Method+" "+string(m.Params))
	}
	switch m.Method {
	case "initialize":
		capabilities, info := s.Capabilities, s.Info
		if capabilities == "" {
			capabilities = `{"tools":{}}`
		}
		if info == "" {
			info = `{"name":"scripted","version":"1"}`
		}
		instructions := ""
		if s.Instructions != "" {
			instructions = `,"instructions":` + strconv.Quote(s.Instructions)
		}
		version := s.Version
		if version == "" {
			version = "2025-06-18"
		}
		s.result(m.ID, `{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"serverInfo":`+info+instructions+`}`)
	case "tools/call":
		s.received = append(s.received, m.Raw)
		s.call(m)
	case "notifications/tasks/status":
		s.received = append(s.received, m.Raw)
	case "notifications/cancelled":
		var p struct{ RequestID json.RawMessage }
		if json.Unmarshal(m.Params, &p) == nil {
			s.hung = append(s.hung, p.RequestID)
		}
	case "":
		s.answered(m)
	default:
		if result, ok := s.Lists[m.Method]; ok && result == "" {
			return // it never answers
		} else if ok {
			s.result(m.ID, result)
		} else if m.IsRequest() {
			s.write(rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found"))
		}
	}
}

// call does what the argument "do" says, whichever tool is called.
func (s *scriptedServer) call(m rpc.Message) {
	var p struct {
		Name      string
		Arguments struct {
			Do, Text string
			Token    json.RawMessage
		}
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.write(rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error()))
		return
	}
	progress := func(token json.RawMessage, n int) {
		s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, n))
	}
	switch p.Arguments.Do {
	case "progress": // two before the response, one after it
		progress(p.Meta.ProgressToken, 1)
		progress(p.Meta.ProgressToken, 2)
		s.text(m.ID, "done")
		progress(p.Meta.ProgressToken, 3)
	case "meddle": // progress for a request that is not this server's
		progress(p.Arguments.Token, 66)
		s.text(m.ID, "meddled")
	case "fail":
		s.write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32042,"message":"no","data":{"n":1.0}}}`))
	case "hang":
		// The answer comes when "hung" is called, too late for anybody.
		s.hung = append(s.hung, nil)
	case "hung": // which calls were cancelled
		s.text(m.ID, fmt.Sprintf("%d", len(s.hung)))
	case "write": // the text itself, with the call's id for ID and an invalid UTF-8 byte for BYTE
		s.write([]byte(strings.NewReplacer("ID", string(m.ID), "BYTE", "\xff").Replace(p.Arguments.Text)))
	case "die":
		os.Exit(3)
	case "ask": // sends the method in text with the _meta in token; the answer to it answers the call
		meta := ""
		if p.Arguments.Token != nil {
			meta = `,"_meta":` + string(p.Arguments.Token)
		}
		s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"message":"Sure?"%s}}`, "for "+string(m.ID), p.Arguments.Text, meta))
		s.hung = append(s.hung, m.ID)
	case "request": // sends the method and params in text; the answer to it answers the call
		method, params, _ := strings.Cut(p.Arguments.Text, " ")
		s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, "for "+string(m.ID), method, params))
		s.hung = append(s.hung, m.ID)
	case "subscriptions":
		s.text(m.ID, strings.Join(s.subscriptions, ", "))
	case "received": // the raw call before this one
		s.text(m.ID, string(s.received[len(s.received)-2]))
	default:
		s.text(m.ID, p.Name+" "+p.Arguments.Text)
	}
}

// answered passes the host's answer to the call that asked.
func (s *scriptedServer) answered(m rpc.Message) {
	if len(s.hung) > 0 {
		s.text(s.hung[len(s.hung)-1], string(m.ID)+" "+string(m.Result)+string(m.Error))
	}
}

func (s *scriptedServer) text(id []byte, text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	s.result(id, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
}

func (s *scriptedServer) result(id []byte, result string) { s.write(rpc.Result(id, []byte(result))) }

func (s *scriptedServer) write(message []byte) {
	if _, err := s.out.Write(append(message, '\n')); err != nil {
		os.Exit(1)
	}
}

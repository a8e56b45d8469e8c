package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// serveHTTP prints its address and serves until the process is ended.
func serveHTTP(out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(echoHTTP))
}

// tools is the number of tools, which all do the same. changed is closed and replaced when one is added.
var (
	tools   int
	mu      sync.Mutex // guards both while the server runs
	changed = make(chan struct{})
)

// addTool adds a tool and tells all streams.
func addTool() {
	mu.Lock()
	defer mu.Unlock()
	tools++
	close(changed)
	changed = make(chan struct{})
}

func toolsNow() (n int, more <-chan struct{}) {
	mu.Lock()
	defer mu.Unlock()
	return tools, changed
}

// echoHTTP is the part of an MCP server that the measurement needs.
func echoHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments struct {
				Text json.RawMessage `json:"text"`
			} `json:"arguments"`
		} `json:"params"`
	}
	switch r.Method {
	case http.MethodGet: // a stream on which it reports changes of the tool list
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_, more := toolsNow()
		for {
			w.(http.Flusher).Flush()
			select {
			case <-more:
				_, more = toolsNow()
				fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			case <-r.Context().Done():
				return
			}
		}
	case http.MethodPost:
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body) // to its end: a relay that still writes it would take the answer for a refusal
	if err != nil || json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"echo","version":"1"}}}`, m.ID)
	case "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}`, m.ID)
		n, _ := toolsNow()
		for i := range n - 1 {
			fmt.Fprintf(w, `,{"name":"tool_%d","description":"Tool number %d, which nobody calls.","inputSchema":{"type":"object"}}`, i, i)
		}
		fmt.Fprint(w, "]}}")
	case "tools/call":
		if string(m.Params.Arguments.Text) == `"another tool"` {
			addTool()
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, m.ID, m.Params.Arguments.Text)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	}
}

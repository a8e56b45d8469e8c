package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// These cases show why this package carries messages, and not mcp-go's transport: each is a promise of a relay that the
// transport breaks today. A failing case shows that the transport now keeps it. When all fail, this package can go.
func TestWhatTheTransportOfMCPGoChanges(t *testing.T) {
	const arguments = `{"text":"<b>", "n":1.0, "big":9007199254740993}`
	for name, c := range map[string]struct {
		answer string // to the request
		broken func(sent []byte, got *transport.JSONRPCResponse, notified *mcp.JSONRPCNotification) bool
	}{
		"a server gets the very bytes that were judged": {
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			func(sent []byte, _ *transport.JSONRPCResponse, _ *mcp.JSONRPCNotification) bool {
				return !bytes.Contains(sent, []byte(arguments))
			},
		},
		"an answer with a member twice is refused": {
			`{"jsonrpc":"2.0","id":1,"result":{"isError":true},"result":{"isError":false}}`,
			func(_ []byte, got *transport.JSONRPCResponse, _ *mcp.JSONRPCNotification) bool { return got != nil },
		},
		"the data of an error arrives as it was": {
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":9007199254740993,"more":true}}`,
			func(_ []byte, got *transport.JSONRPCResponse, _ *mcp.JSONRPCNotification) bool {
				text, err := json.Marshal(got.Error)
				return err == nil && !bytes.Contains(text, []byte("9007199254740993")) && !bytes.Contains(text, []byte("more"))
			},
		},
		"a notification arrives as it was": {
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":9007199254740993}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
			func(_ []byte, _ *transport.JSONRPCResponse, notified *mcp.JSONRPCNotification) bool {
				text, err := json.Marshal(notified)
				return err == nil && !bytes.Contains(text, []byte("9007199254740993"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fromServer, server := io.Pipe()
			toServer, client := io.Pipe()
			way := transport.NewIO(fromServer, client, io.NopCloser(strings.NewReader("")))
			notified := make(chan mcp.JSONRPCNotification, 1)
			way.SetNotificationHandler(func(n mcp.JSONRPCNotification) { notified <- n })
			if err := way.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			sent := make(chan []byte, 1)
			go func() {
				line, err := bufio.NewReader(toServer).ReadBytes('\n')
				if err == nil {
					_, err = io.WriteString(server, c.answer+"\n")
				}
				if err != nil {
					t.Error(err)
				}
				sent <- line
			}()
			got, err := way.SendRequest(t.Context(), transport.JSONRPCRequest{
				JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "tools/call",
				Params: json.RawMessage(`{"name":"t","arguments":` + arguments + `}`),
			})
			if err != nil {
				got = nil
			}
			var note *mcp.JSONRPCNotification
			if strings.Contains(c.answer, `"method"`) {
				n := <-notified
				note = &n
			}
			if !c.broken(<-sent, got, note) {
				t.Error("mcp-go's transport keeps this promise now")
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			if err := way.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

package rpc

import (
	"errors"
	"io"
	"strings"
	"testing"

	"callgate/internal/budget"
)

// A message for which there is no room is reported to its caller, wherever its id is, and the next one is read.
func TestMessagesWithoutRoom(t *testing.T) {
	large := `"` + strings.Repeat("x", 3<<20) + `"`
	for name, line := range map[string]string{
		"id first":       `{"jsonrpc":"2.0","id":"cg-1","result":` + large + `}`,
		"id last":        `{"result":{"id":7,"a":` + large + `},"jsonrpc":"2.0","id":"cg-1"}`,
		"version last":   `{"result":` + large + `,"id":"cg-1","jsonrpc":"2.0"}`,
		"id between":     `{"result":{"a":` + large + `}, "id" : "cg-1" , "jsonrpc": "2.0" }`,
		"with nested id": `{"jsonrpc":"2.0","id":"cg-1","result":{"a":` + large + `,"id":"cg-2"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			in, out := io.Pipe()
			c := NewConn(in, io.Discard, Options{Budget: budget.New(budget.MinLimit)})
			p, err := c.Send(func(id []byte) []byte { return Request(id, "x", nil) })
			if err != nil {
				t.Fatal(err)
			}
			heard := make(chan Message, 1)
			go c.Run(func(m Message) { heard <- m })
			go io.WriteString(out, line+"\n"+`{"jsonrpc":"2.0","method":"next"}`+"\n")
			var full *budget.Error
			if _, err := p.Wait(t.Context()); !errors.As(err, &full) || !strings.Contains(err.Error(), budget.Key) {
				t.Errorf("the request ended with %v", err)
			}
			if m := <-heard; m.Method != "next" {
				t.Errorf("heard %s", m.Raw)
			}
			out.Close()
		})
	}
}

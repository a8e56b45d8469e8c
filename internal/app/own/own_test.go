package own

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/internal/testserver/waits"
)

// A request may be cancelled before it runs: right after it is sent, or while all slots are taken. Its slot is then
// free again, and a tool that has not begun does not begin.
func TestCallsAreCancelledBeforeTheyRun(t *testing.T) {
	const calls = 10 * maxCalls
	began, cancelled := make(chan struct{}, calls), make(chan struct{}, calls)
	s := server.NewMCPServer("own", "1")
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return mcp.NewToolResultText("cancelled"), nil
	})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := answerLines(t.Context(), s, in, out)
		ended <- errors.Join(err, out.Close())
	}()
	go func() {
		for id := range calls {
			fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"wait"}}`+"\n", id)
			fmt.Fprintf(toServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%d"}}`+"\n", id)
		}
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	}()
	defer time.AfterFunc(waits.Limit, func() { fromServer.Close() }).Stop()
	answers := bufio.NewScanner(fromServer)
	for answers.Scan() && !strings.Contains(answers.Text(), `"last"`) {
	}
	if !strings.Contains(answers.Text(), `"last"`) {
		t.Fatal("calls that were cancelled keep their places")
	}
	go func() {
		for answers.Scan() {
		}
	}()
	if err := errors.Join(toServer.Close(), <-ended); err != nil {
		t.Error(err)
	}
	if len(began) != len(cancelled) {
		t.Errorf("%d calls began and %d were cancelled", len(began), len(cancelled))
	}
}

package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
)

// serveMCPGo runs a real mcp-go server inside this program.
func serveMCPGo(ctx context.Context, in io.Reader, out io.Writer) error {
	s := mcpserver.NewMCPServer("inside", "1")
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	return mcpserver.NewStdioServer(s).Listen(ctx, in, out)
}

func TestServerInside(t *testing.T) {
	t.Parallel()
	u := open(t, Config{Name: "own", Serve: serveMCPGo}, Options{CacheDir: t.TempDir()})
	if list, err := u.Lists.Fresh(short(t), Tools); err != nil || keys(list) != "echo" {
		t.Fatalf("tools %q, %v", keys(list), err)
	}
	m, err := u.Request(short(t), "tools/call", []byte(`{"name":"echo","arguments":{"text":"hi"}}`))
	if err != nil || !strings.Contains(string(m.Result), `"text":"hi"`) {
		t.Fatalf("%s, %v", m.Raw, err)
	}
	if pid := u.Status().PID; pid != 0 {
		t.Errorf("it has process %d", pid)
	}
}

func TestServerInsideThatEnds(t *testing.T) {
	t.Parallel()
	greet := func(in io.Reader, out io.Writer) *bufio.Reader {
		lines := bufio.NewReader(in)
		line, _ := lines.ReadBytes('\n')
		m, err := rpc.Parse(line)
		if err != nil {
			return lines
		}
		_, _ = out.Write(append(rpc.Result(m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`)), '\n'))
		_, _ = lines.ReadBytes('\n')
		return lines
	}
	for name, c := range map[string]struct {
		serve func(ctx context.Context, in io.Reader, out io.Writer) error
		want  string
	}{
		"error": {func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = greet(in, out).ReadBytes('\n')
			return errors.New("no more paper")
		}, "no more paper"},
		"panic": {func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = greet(in, out).ReadBytes('\n')
			panic("out of ink")
		}, "out of ink"},
		"silence": {func(_ context.Context, in io.Reader, out io.Writer) error {
			_, _ = greet(in, out).ReadBytes('\n')
			return nil
		}, "it ended"},
	} {
		t.Run(name, func(t *testing.T) {
			u := open(t, Config{Name: "own", Serve: c.serve, terms: Terms{Era: Legacy}}, Options{})
			for range 2 { // the second time it has been restarted
				_, err := u.Request(short(t), "x", nil)
				var down *DownError
				if !errors.As(err, &down) || !strings.Contains(down.Reason, c.want) {
					t.Fatalf("%v, want %q", err, c.want)
				}
				time.Sleep(time.Until(down.RetryAt))
			}
		})
	}
}

func TestServerInsideThatDoesNotRead(t *testing.T) {
	t.Parallel()
	u := open(t, Config{Name: "own", StartTimeout: 200 * time.Millisecond, Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		<-ctx.Done()
		return nil
	}}, Options{})
	if _, err := u.Ready(short(t)); err == nil || !strings.Contains(err.Error(), "handshake was not finished") {
		t.Fatal(err)
	}
	began := time.Now()
	u.Close()
	if took := time.Since(began); took > waits.Limit {
		t.Errorf("closing took %v", took)
	}
}

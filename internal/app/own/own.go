// Package own is callgate's own MCP server: tools and prompts that a host sees beside those of the configured servers.
// Its calls go through the gate like those of any server.
package own

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/adrg/xdg"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy"
)

// Tool makes a tool for a session. At the server its name has no prefix; hosts and rules know it as callgate_{name}.
// The entry for the package "callgate" in the catalogue of gate/tools decides how it is judged. A tool without an entry
// asks.
type Tool func(*gate.Session) server.ServerTool

// Prompts makes the prompts for a session. They are named as tools are.
type Prompts func(*gate.Session) []server.ServerPrompt

// Server is callgate's own server. Tools and Prompts MUST be complete before the first session.
type Server struct {
	Version string
	Tools   []Tool
	Prompts Prompts // nil if there are none
	Here    bool    // judge calls as calls in the current directory, until a host names its folders
}

// Configured returns the server for the proxy, or nil if it has no tools.
func (s *Server) Configured() []proxy.Server {
	if len(s.Tools) == 0 {
		return nil
	}
	own := proxy.Server{
		Upstream: upstream.Config{Name: proxy.OwnName},
		Tools:    tools.Server{Name: proxy.OwnName, Packages: []string{proxy.OwnName}, Identity: proxy.OwnName, Trusted: true},
		Own:      s.serve,
	}
	if here, err := os.Getwd(); err == nil && s.Here {
		own.Place = tools.Place{Dir: here, Workspace: []string{here}, Home: xdg.Home}
	}
	return []proxy.Server{own}
}

// maxCalls bounds how many calls run at once in one session.
const maxCalls = 16

// serve returns a function that speaks MCP for one session, one message per line.
func (s *Server) serve(session *gate.Session) func(context.Context, io.Reader, io.Writer) error {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		mcp := server.NewMCPServer(proxy.OwnName, s.Version, server.WithToolCapabilities(false), server.WithRecovery())
		for _, tool := range s.Tools {
			mcp.AddTools(tool(session))
		}
		if s.Prompts != nil {
			mcp.AddPrompts(s.Prompts(session)...)
		}
		connection := server.NewInProcessSession(session.ID(), nil)
		if err := mcp.RegisterSession(ctx, connection); err != nil {
			return err
		}
		defer mcp.UnregisterSession(ctx, connection.SessionID())
		ctx, cancel := context.WithCancel(mcp.WithContext(ctx, connection))
		defer cancel()
		return answerLines(ctx, mcp, in, out)
	}
}

// answerLines answers each request on its own goroutine, so that a cancellation is read while the request runs. It
// returns when in has ended and nothing runs any more.
func answerLines(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, maxCalls)
	requests := runningRequests{cancel: map[string]context.CancelFunc{}}
	var writing sync.Mutex
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if m, malformed := rpc.Parse(bytes.TrimSpace(line)); malformed == nil {
			if m.IsNotification() {
				requests.heed(m)
				s.HandleMessage(ctx, m.Raw)
			} else {
				ctx, done := requests.begin(ctx, m.ID) // before reading the next line, which may cancel it
				running.Go(func() {
					defer done()
					slots <- struct{}{} // every request gives its slot back, at the latest when ctx ends
					defer func() { <-slots }()
					if ctx.Err() != nil { // nobody waits for the answer
						return
					}
					answer := answerTo(ctx, s, m)
					writing.Lock()
					defer writing.Unlock()
					_, _ = out.Write(append(answer, '\n')) // fails once the connection has ended
				})
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
	}
}

func answerTo(ctx context.Context, s *server.MCPServer, m rpc.Message) []byte {
	answer, err := json.Marshal(s.HandleMessage(ctx, m.Raw))
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, "the answer cannot be written: "+err.Error())
	}
	return answer
}

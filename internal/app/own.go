package app

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

// ownTool makes one of callgate's own tools for a session. Its name at the server has no prefix: hosts and rules
// know it as callgate_{name}. What it does is judged like a call of any server, by the entry that the catalogue
// in gate/tools has for the package "callgate"; a tool without one asks.
type ownTool func(*gate.Session) server.ServerTool

// ownPrompts makes callgate's own prompts for a session, named as own tools are.
type ownPrompts func(*gate.Session) []server.ServerPrompt

// ownServer returns callgate's own server, or nothing when it has no tools.
func (s *Sidecar) ownServer() []proxy.Server {
	if len(s.own) == 0 {
		return nil
	}
	own := proxy.Server{
		Upstream: upstream.Config{Name: proxy.OwnName},
		Tools:    tools.Server{Name: proxy.OwnName, Packages: []string{proxy.OwnName}, Identity: proxy.OwnName, Trusted: true},
		Own: func(session *gate.Session) func(context.Context, io.Reader, io.Writer) error {
			return serveOwn(session, s.own, s.prompts)
		},
	}
	if here, err := os.Getwd(); err == nil && s.config.Try { // doctor's calls may come before its roots
		own.Place = tools.Place{Dir: here, Workspace: []string{here}, Home: xdg.Home}
	}
	return []proxy.Server{own}
}

// maxOwnCalls bounds the calls of own tools that run at once in one session.
const maxOwnCalls = 16

// serveOwn speaks MCP for the tools and prompts of one session, a message a line. Prompts may be nil.
func serveOwn(session *gate.Session, own []ownTool, prompts ownPrompts) func(context.Context, io.Reader, io.Writer) error {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		s := server.NewMCPServer(proxy.OwnName, Version, server.WithToolCapabilities(false), server.WithRecovery())
		for _, tool := range own {
			s.AddTools(tool(session))
		}
		if prompts != nil {
			s.AddPrompts(prompts(session)...)
		}
		connection := server.NewInProcessSession(session.ID(), nil)
		if err := s.RegisterSession(ctx, connection); err != nil {
			return err
		}
		defer s.UnregisterSession(ctx, connection.SessionID())
		ctx, cancel := context.WithCancel(s.WithContext(ctx, connection))
		defer cancel()
		return answerLines(ctx, s, in, out)
	}
}

// answerLines answers each request on a goroutine of its own, so that the cancellation of one is read while it
// runs. It returns when in has ended and nothing runs any more.
func answerLines(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, maxOwnCalls)
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
				ctx, done := requests.begin(ctx, m.ID) // before the next line is read, which may cancel it
				running.Go(func() {
					defer done()
					slots <- struct{}{} // every one that has it gives it back, at the latest when ctx ends
					defer func() { <-slots }()
					if ctx.Err() != nil { // nobody waits for the answer
						return
					}
					answer := answerTo(ctx, s, m)
					writing.Lock()
					defer writing.Unlock()
					_, _ = out.Write(append(answer, '\n')) // fails when the connection has ended
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

package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate"
	"callgate/proxy"
)

const tryName = "try"

// tryTool returns a tool that does nothing. Its calls are judged as reading the file.
func tryTool(*gate.Session) server.ServerTool {
	return server.ServerTool{
		Tool: mcp.NewTool(tryName, mcp.WithDescription("Does nothing. callgate doctor asks for it."), mcp.WithString("path", mcp.Required())),
		Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("nothing was done"), nil
		},
	}
}

// Enter starts callgate in a folder with the command of a host's entry, and asks whether each file may be read. Each
// answer is the reason why not, or "" if it may. No person is asked.
func Enter(ctx context.Context, command, env []string, folder string, paths ...string) (answers []string, err error) {
	args := append(command[1:len(command):len(command)], "--try", "--mode="+gate.ModeNoPrompt.String())
	start := func(ctx context.Context, command string, env, args []string) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, command, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), env...), folder
		return cmd, nil
	}
	host := mcpclient.NewClient(transport.NewStdioWithOptions(command[0], env, args, transport.WithCommandFunc(start)), mcpclient.WithRootsHandler(onlyRoot(folder)))
	if err := host.Start(ctx); err != nil {
		return nil, err
	}
	words := make(chan string, 1)
	if stderr, ok := mcpclient.GetStderr(host); ok {
		go func() { words <- complaint(stderr) }()
	}
	defer host.Close()
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "callgate-doctor", Version: Version}
	if _, err := host.Initialize(ctx, hello); err != nil {
		host.Close()
		select {
		case said := <-words:
			if said != "" {
				return nil, errors.New(said)
			}
		case <-time.After(time.Second): // something that callgate started holds the pipe open
		}
		return nil, err
	}
	for _, path := range paths {
		var call mcp.CallToolRequest
		call.Params.Name, call.Params.Arguments = proxy.OwnName+"_"+tryName, map[string]any{"path": filepath.Join(folder, path)}
		if filepath.IsAbs(path) {
			call.Params.Arguments = map[string]any{"path": path}
		}
		result, err := host.CallTool(ctx, call)
		if err != nil {
			return nil, err
		}
		answers = append(answers, refusalIn(result))
	}
	return answers, nil
}

// complaint reads all that a callgate writes to standard error, and returns the last line in which it says why it ends.
func complaint(r io.Reader) (last string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "callgate: ") {
			last = lines.Text()
		}
	}
	_, _ = io.Copy(io.Discard, r) // after a line that is too long
	return last
}

// onlyRoot is the one folder that a host works in.
type onlyRoot string

func (r onlyRoot) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(string(r))}
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: address.String(), Name: filepath.Base(string(r))}}}, nil
}

// refusalIn returns the reason why a call did not run, or "" if it ran.
func refusalIn(result *mcp.CallToolResult) string {
	if !result.IsError {
		return ""
	}
	var text strings.Builder
	for _, content := range result.Content {
		if t, ok := content.(mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return cmp.Or(text.String(), "refused")
}

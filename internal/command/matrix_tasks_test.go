package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/testserver/features"
)

// asker sends a raw request and returns the raw result.
type asker func(id, method, params string) (result []byte, err error)

// into decodes the result of a request.
func (ask asker) into(result any, id, method, params string) error {
	raw, err := ask(id, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return json.Unmarshal(raw, result)
}

// tryTask calls a tool whose calls can be tasks, as hosts of that era do, and comes back for the result.
func tryTask(ctx context.Context, way sdk.Transport, prefix string, host, upstream end) error {
	tool := features.Deferred
	if upstream.era == features.Modern {
		tool = features.Promised
	}
	if http, ok := way.(*sdk.StreamableClientTransport); ok && host.era == features.Modern {
		return tryExtension(ctx, posting(ctx, http), prefix+tool)
	}
	conn, err := way.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ask := talking(ctx, conn)
	if host.era == features.Modern {
		return tryExtension(ctx, ask, prefix+tool)
	}
	var welcome struct{ Capabilities struct{ Tasks *struct{} } }
	if err := ask.into(&welcome, "hello", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"matrix","version":"1"}}`); err != nil {
		return err
	}
	if _, err := ask("", "notifications/initialized", ""); err != nil {
		return err
	}
	var result struct{ Content []struct{ Text string } }
	called := fmt.Sprintf(`{"name":%q,"arguments":{}`, prefix+tool)
	if welcome.Capabilities.Tasks == nil {
		return errors.New("tasks are not offered")
	}
	var made struct{ Task struct{ TaskID string } }
	if err := ask.into(&made, "call", "tools/call", called+`,"task":{"ttl":60000}}`); err != nil {
		return err
	}
	named := fmt.Sprintf(`{"taskId":%q}`, made.Task.TaskID)
	if err := ask.into(&result, "result", "tasks/result", named); err != nil {
		return err
	}
	var task struct{ Status string }
	if err := ask.into(&task, "get", "tasks/get", named); err != nil || task.Status != "completed" {
		return fmt.Errorf("the task is %q: %w", task.Status, err)
	}
	return isDone(result.Content)
}

// tryExtension does what tryTask does, for a host of the modern era.
func tryExtension(ctx context.Context, ask asker, tool string) error {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"matrix","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	var made struct{ ResultType, TaskID string }
	if err := ask.into(&made, "call", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{},%s}`, tool, meta)); err != nil {
		return err
	}
	if made.ResultType != "task" || made.TaskID == "" {
		return fmt.Errorf("the call was answered with %+v", made)
	}
	for i := 0; ; i++ {
		var task struct {
			Status string
			Result struct{ Content []struct{ Text string } }
		}
		err := ask.into(&task, fmt.Sprintf("get-%d", i), "tasks/get", fmt.Sprintf(`{"taskId":%q,%s}`, made.TaskID, meta))
		switch {
		case err != nil:
			return err
		case task.Status == "completed":
			return isDone(task.Result.Content)
		case task.Status != "working":
			return fmt.Errorf("the task is %q", task.Status)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("the task does not end")
		}
	}
}

func isDone(content []struct{ Text string }) error {
	if len(content) != 1 || content[0].Text != features.Done {
		return fmt.Errorf("the result of the task arrived as %+v", content)
	}
	return nil
}

// talking returns an asker over a connection. A request without an id is a notification.
func talking(ctx context.Context, conn sdk.Connection) asker {
	return func(id, method, params string) ([]byte, error) {
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
		if id == "" {
			text = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method)
		}
		m, err := jsonrpc.DecodeMessage([]byte(text))
		if err != nil {
			return nil, err
		}
		if err := conn.Write(ctx, m); err != nil || id == "" {
			return nil, err
		}
		for {
			m, err := conn.Read(ctx)
			if err != nil {
				return nil, err
			}
			if r, ok := m.(*jsonrpc.Response); ok && r.ID.Raw() == id {
				return r.Result, r.Error
			}
		}
	}
}

// posting returns an asker that sends each request with a POST, as hosts of the modern era do.
func posting(ctx context.Context, to *sdk.StreamableClientTransport) asker {
	return func(id, method, params string) ([]byte, error) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.Endpoint, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		var named struct{ Name, TaskID string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			return nil, err
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": method, "Mcp-Name": named.Name + named.TaskID,
		} {
			request.Header.Set(name, value)
		}
		response, err := to.HTTPClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			var m struct {
				ID     string
				Result json.RawMessage
				Error  *jsonrpc.Error
			}
			line := bytes.TrimPrefix(lines.Bytes(), []byte("data: ")) // of an event, or the whole body
			if json.Unmarshal(line, &m) != nil || m.ID != id {
				continue
			}
			if m.Error != nil {
				return nil, m.Error
			}
			return m.Result, nil
		}
		return nil, fmt.Errorf("HTTP %s without an answer: %w", response.Status, lines.Err())
	}
}

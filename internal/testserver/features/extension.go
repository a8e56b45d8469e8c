package features

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// ExtensionArg makes Main serve the extension. A file may follow, to which Main appends every line that arrives.
const ExtensionArg = "extension"

// Promised is the extension's tool that ends at once with Done. Its name is not Deferred because callgate identifies
// tools by their program, and would take this one for a changed Deferred.
const Promised = "promised"

// extension is a server of the modern era with the tasks extension. No Go SDK has it, so this server reads and writes
// raw messages. Its tools are those that the official conformance suite has for the extension.
type extension struct {
	mu    sync.Mutex
	tasks map[string]*job
	work  sync.WaitGroup
}

// job is one task. Its fields are guarded by the server's mu.
type job struct {
	id             string
	began, updated time.Time
	status         string
	ended          map[string]any        // "result" or "error", once there is one
	asks           map[string]any        // the open questions
	answers        map[string]chan reply // the channels for their answers
	cancel         context.CancelFunc
}

type reply struct {
	Action  string
	Content map[string]any
}

const tasksName = "io.modelcontextprotocol/tasks"

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name           string           `json:"name"`
		TaskID         string           `json:"taskId"`
		InputResponses map[string]reply `json:"inputResponses"`
		Arguments      struct {
			Name, Filename string
			Seconds        float64
		} `json:"arguments"`
		Meta struct {
			Version      string `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities struct {
				Extensions map[string]any `json:"extensions"`
			} `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	} `json:"params"`
}

// failure is a JSON-RPC error.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// serveExtension serves one client over a pair of streams.
func serveExtension(in io.Reader, out, record io.Writer) error {
	s := &extension{tasks: map[string]*job{}}
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err == nil && record != nil {
			_, err = record.Write(line)
		}
		if err != nil {
			s.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var r request
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		if _, err := out.Write(append(s.answer(r), '\n')); err != nil {
			return err
		}
	}
}

// ExtensionHandler serves the extension over Streamable HTTP.
func ExtensionHandler() http.Handler {
	s := &extension{tasks: map[string]*job{}}
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		var r request
		if hr.Method != http.MethodPost {
			http.Error(w, "POST alone", http.StatusMethodNotAllowed)
			return
		}
		if err := json.NewDecoder(hr.Body).Decode(&r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := s.answer(r)
		named := r.Params.Name + r.Params.TaskID // a request has only one of them
		if hr.Header.Get("Mcp-Method") != r.Method || slices.Contains(namedMethods, r.Method) && hr.Header.Get("Mcp-Name") != named {
			w.WriteHeader(http.StatusBadRequest)
			answer = respond(r, nil, &failure{Code: -32020, Message: "the headers say something else"})
		}
		_, _ = w.Write(answer) // a client that is gone needs no answer
	})
}

// namedMethods lists the methods whose requests also name their subject in a header.
var namedMethods = []string{"tools/call", "tasks/get", "tasks/update", "tasks/cancel"}

func (s *extension) end() {
	s.mu.Lock()
	for _, j := range s.tasks {
		j.cancel()
	}
	s.mu.Unlock()
	s.work.Wait()
}

func respond(r request, result map[string]any, fault *failure) []byte {
	whole := map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result}
	if fault != nil {
		delete(whole, "result")
		whole["error"] = fault
	}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err) // all of it came from JSON
	}
	return text
}

// answer handles one request; none of them takes time.
func (s *extension) answer(r request) []byte {
	_, declared := r.Params.Meta.Capabilities.Extensions[tasksName]
	lacks := &failure{Code: -32021, Message: "missing required client capability", Data: map[string]any{
		"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksName: map[string]any{}}}}}
	complete := map[string]any{"resultType": "complete"}
	switch r.Method {
	case "server/discover":
		return respond(r, map[string]any{
			"resultType": "complete", "supportedVersions": []string{Modern}, "ttlMs": 0, "cacheScope": "private",
			"capabilities": map[string]any{"tools": map[string]any{}, "extensions": map[string]any{tasksName: map[string]any{}}},
			"_meta":        map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "extension", "version": "1"}},
		}, nil)
	case "tools/list":
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(jobs)) {
			tool := map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}}
			if jobs[name] != nil { // for hosts of the older revisions
				tool["execution"] = map[string]any{"taskSupport": "optional"}
			}
			list = append(list, tool)
		}
		return respond(r, map[string]any{"resultType": "complete", "tools": list, "ttlMs": 0, "cacheScope": "private"}, nil)
	case "tools/call":
		return s.call(r, declared, lacks)
	case "tasks/get", "tasks/update", "tasks/cancel":
	default:
		return respond(r, nil, &failure{Code: -32601, Message: "method not found: " + r.Method})
	}
	if !declared {
		return respond(r, nil, lacks)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.tasks[r.Params.TaskID]
	if j == nil {
		return respond(r, nil, &failure{Code: -32602, Message: "there is no such task"})
	}
	switch r.Method {
	case "tasks/get":
		shown := j.describe("complete")
		maps.Copy(shown, j.ended)
		if j.status == "input_required" {
			shown["inputRequests"] = j.asks
		}
		return respond(r, shown, nil)
	case "tasks/update":
		for key, given := range r.Params.InputResponses {
			if to := j.answers[key]; to != nil {
				to <- given // has room
				delete(j.answers, key)
				delete(j.asks, key)
			}
		}
		if j.status == "input_required" && len(j.asks) == 0 {
			j.is("working")
		}
	default:
		j.is("cancelled")
		j.cancel()
	}
	return respond(r, complete, nil)
}

func (j *job) describe(kind string) map[string]any {
	return map[string]any{
		"resultType": kind, "taskId": j.id, "status": j.status, "statusMessage": "it is " + j.status, "ttlMs": 60000, "pollIntervalMs": 100,
		"createdAt": j.began.Format(time.RFC3339Nano), "lastUpdatedAt": j.updated.Format(time.RFC3339Nano),
	}
}

// is sets the job's status, unless it is final. It reports whether it did.
func (j *job) is(status string) bool {
	if j.status == "completed" || j.status == "failed" || j.status == "cancelled" {
		return false
	}
	j.status, j.updated = status, time.Now().UTC()
	return true
}

func said(format string, args ...any) map[string]any {
	return map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": fmt.Sprintf(format, args...)}}}
}

// jobs holds the tools, with what their tasks do; nil for the tool that makes no task.
var jobs = map[string]func(ctx context.Context, s *extension, j *job, r request) (result map[string]any, fault *failure){
	"greet": nil,
	Promised: func(context.Context, *extension, *job, request) (map[string]any, *failure) {
		return said(Done), nil
	},
	"slow_compute": func(ctx context.Context, _ *extension, _ *job, r request) (map[string]any, *failure) {
		select {
		case <-time.After(time.Duration(r.Params.Arguments.Seconds * float64(time.Second))):
		case <-ctx.Done():
		}
		return said("computed"), nil
	},
	"failing_job": func(context.Context, *extension, *job, request) (map[string]any, *failure) {
		result := said("it did not work")
		result["isError"] = true
		return result, nil
	},
	"protocol_error_job": func(context.Context, *extension, *job, request) (map[string]any, *failure) {
		return nil, &failure{Code: -32603, Message: "it broke", Data: map[string]any{"n": 1}}
	},
	"confirm_delete": func(ctx context.Context, s *extension, j *job, r request) (map[string]any, *failure) {
		given := s.ask(ctx, j, map[string]string{"confirm": "Delete '" + r.Params.Arguments.Filename + "'?"})
		return said("%s %v", given["confirm"].Action, given["confirm"].Content["confirm"]), nil
	},
	"multi_input": func(ctx context.Context, s *extension, j *job, _ request) (map[string]any, *failure) {
		given := s.ask(ctx, j, map[string]string{"name": "Your name?", "confirm": "Sure?"})
		return said("%v %v", given["name"].Content["name"], given["confirm"].Content["confirm"]), nil
	},
	"test_tool_with_task": func(_ context.Context, _ *extension, _ *job, r request) (map[string]any, *failure) {
		return said("Hello, %v!", r.Params.InputResponses["user_name"].Content["name"]), nil
	},
}

func (s *extension) call(r request, declared bool, lacks *failure) []byte {
	work, known := jobs[r.Params.Name]
	_, told := r.Params.InputResponses["user_name"]
	switch {
	case !known:
		return respond(r, nil, &failure{Code: -32602, Message: "unknown tool: " + r.Params.Name})
	case work == nil:
		return respond(r, said("Hello, %s!", r.Params.Arguments.Name), nil)
	case !declared && r.Params.Name == "slow_compute": // it works without
		return respond(r, said("computed at once"), nil)
	case !declared:
		return respond(r, nil, lacks)
	case r.Params.Name == "test_tool_with_task" && !told:
		return respond(r, map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"user_name": question("Your name?")}}, nil)
	}
	ctx, cancel := context.WithCancel(context.Background())
	now := time.Now().UTC()
	j := &job{id: rand.Text(), began: now, updated: now, status: "working", cancel: cancel}
	s.mu.Lock()
	s.tasks[j.id] = j
	created := j.describe("task")
	s.mu.Unlock()
	s.work.Go(func() {
		defer cancel()
		result, fault := work(ctx, s, j, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case fault != nil && j.is("failed"):
			j.ended = map[string]any{"error": fault}
		case fault == nil && j.is("completed"):
			j.ended = map[string]any{"result": result}
		}
	})
	return respond(r, created, nil)
}

func question(message string) map[string]any {
	return map[string]any{"method": "elicitation/create", "params": map[string]any{
		"mode": "form", "message": message, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
	}}
}

// ask puts questions to the client and waits for all the answers.
func (s *extension) ask(ctx context.Context, j *job, questions map[string]string) map[string]reply {
	given := map[string]reply{}
	waiting := map[string]chan reply{}
	s.mu.Lock()
	j.asks, j.answers = map[string]any{}, map[string]chan reply{}
	for key, message := range questions {
		waiting[key] = make(chan reply, 1)
		j.asks[key], j.answers[key] = question(message), waiting[key]
	}
	j.is("input_required")
	s.mu.Unlock()
	for key, answer := range waiting {
		select {
		case given[key] = <-answer:
		case <-ctx.Done():
		}
	}
	return given
}

// extensionMain is Main for the server of the extension.
func extensionMain(files []string) error {
	var record io.Writer
	if len(files) > 0 {
		file, err := os.OpenFile(files[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		record = file
	}
	return serveExtension(os.Stdin, os.Stdout, record)
}

package upstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/periodic"
	"callgate/internal/rpc"
)

// extensionTasks is the modern era's extension with which a server answers a call with a task, and gives the result
// later, when asked.
const extensionTasks = "io.modelcontextprotocol/tasks"

// Task is a task that a server has made of a call, as the server describes it.
type Task struct {
	Message string        // what it is doing, for people; may be ""
	Poll    time.Duration // how long the server wants to be left alone between two questions, within our limits

	id, status    string
	ttl           time.Duration // 0 means none
	result, fault []byte        // nil if absent
	raw           []byte
}

// Limits of tasks.
const (
	minPoll, usualPoll, maxPoll = 100 * time.Millisecond, time.Second, 30 * time.Second

	lookPatience = 30 * time.Second // for one answer
	maxLost      = 3                // consecutive questions without an answer
	overtime     = time.Minute      // beyond the time to live
	maxAsked     = 256              // questions of one task
	maxSaid      = 4 << 10          // bytes of its message for people
	lastWord     = time.Second      // for the server to hear that nobody wants the task
)

var errOvertime = errors.New("the task's time to live is over, and the server has not said how it ended; it was told to stop")

// IsTask reports whether the result of a call is a task. Upstreams return one only if Hello.Tasks is set. Follow
// returns what comes of it.
func IsTask(result []byte) bool {
	return jsonx.MayHold(result, "task") && resultType(result) == "task"
}

// Follow waits for the end of the task that the server has made of a call, and returns what would have answered the
// call. The server's questions meanwhile go where questions during a request go. seen is called with the task at once,
// and each time the server reports it as running, on this goroutine. When ctx ends, the server is told that nobody
// wants the task any more.
func (u *Upstream) Follow(ctx context.Context, made []byte, seen func(Task)) (rpc.Message, error) {
	in, err := u.acquire(ctx)
	if err != nil {
		return rpc.Message{}, err
	}
	if in.modern == nil || !in.usage.begin() {
		return rpc.Message{}, fmt.Errorf("server %q is no longer the one that made the task", u.cfg.Name)
	}
	defer in.usage.end()
	t, err := readTask(made)
	if err != nil {
		return rpc.Message{}, fmt.Errorf("server %q answered with a task, but %w", u.cfg.Name, err)
	}
	seen(t)
	f := &following{in: in, id: t.id, began: time.Now(), asked: map[string]context.CancelFunc{}, news: make(chan struct{}, 1)}
	asking, end := context.WithCancelCause(ctx)
	answer, err := f.toItsEnd(asking, end, t, seen)
	end(nil)
	f.asking.Wait()
	if !f.over {
		f.giveUp(ctx)
	}
	return answer, err
}

// following is the state of one Follow.
type following struct {
	in    *incarnation
	id    string
	began time.Time
	over  bool // the server has reported the task's end

	asking sync.WaitGroup
	asked  map[string]context.CancelFunc // by key: cancels every question so far
	news   chan struct{}                 // buffered; signals that a question was answered
}

// fault is the error in a host's answer. The call ends with it.
type fault []byte

func (f fault) Error() string { return "the host refused what the server asks: " + excerpt(f) }

// toItsEnd follows the task to its end. end ends ctx, under which the questions run.
func (f *following) toItsEnd(ctx context.Context, end context.CancelCauseFunc, t Task, seen func(Task)) (rpc.Message, error) {
	for lost := 0; ; {
		if lost == 0 {
			switch t.status {
			case "completed", "failed", "cancelled":
				f.over = true
				return t.answer()
			}
			seen(t)
			if err := f.askAll(ctx, end, t); err != nil {
				return rpc.Message{}, err
			}
		}
		if t.ttl > 0 && time.Since(f.began) > t.ttl+overtime {
			return rpc.Message{}, errOvertime
		}
		f.wait(ctx, t.Poll)
		if ctx.Err() != nil {
			return f.ended(ctx)
		}
		next, err := f.look(ctx)
		var gone *goneError
		switch {
		case err == nil:
			t, lost = next, 0
			continue
		case ctx.Err() != nil:
			return f.ended(ctx)
		case errors.As(err, &gone):
			f.over = true
			return rpc.Message{}, err
		}
		if lost++; lost == maxLost || f.in.isDown() {
			return rpc.Message{}, fmt.Errorf("callgate lost track of the task: %w", err)
		}
	}
}

// ended returns the outcome if nobody waits for the task any more, or if the host has refused a question.
func (f *following) ended(ctx context.Context) (rpc.Message, error) {
	if refused, ok := errors.AsType[fault](context.Cause(ctx)); ok {
		return rpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"cg","error":%s}`, []byte(refused)))
	}
	return rpc.Message{}, context.Cause(ctx)
}

// isDown reports whether the incarnation is over.
func (in *incarnation) isDown() bool {
	select {
	case <-in.over:
		return true
	default:
		return false
	}
}

// wait leaves the server alone for d, or until it has news to act on.
func (f *following) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.news:
		periodic.Sleep(ctx, minPoll)
	case <-f.in.over:
	case <-ctx.Done():
	}
}

// goneError is returned if the server does not know the task.
type goneError struct{ says string }

func (e *goneError) Error() string { return "the server no longer knows the task: " + e.says }

// look asks the server for the task's state.
func (f *following) look(ctx context.Context) (Task, error) {
	answer, err := f.request(ctx, "tasks/get", nil)
	if err != nil {
		return Task{}, err
	}
	t, err := readTask(answer.Result)
	if err == nil && t.id != f.id {
		err = errors.New("it speaks of another task")
	}
	return t, err
}

// request sends a request about the task. more holds further members of its params, with a leading comma.
func (f *following) request(ctx context.Context, method string, more []byte) (rpc.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	params := append(append(append([]byte(`{"taskId":`), jsonx.Quote(f.id)...), more...), '}')
	if f.in.modern != nil {
		params = f.in.modern.describe(params)
	}
	answer, err := f.in.send(ctx, func(id []byte) []byte { return rpc.Request(id, method, params) })
	if err != nil || answer.Error == nil {
		return answer, err
	}
	if codeOf(answer.Error) == rpc.CodeInvalidParams {
		return answer, &goneError{excerpt(answer.Error)}
	}
	return answer, fmt.Errorf("the server refuses %s: %s", method, excerpt(answer.Error))
}

func codeOf(fault []byte) int {
	n, _ := strconv.Atoi(string(jsonx.At(fault, "code"))) // 0 is not an error code
	return n
}

// askAll puts new questions to the host, and withdraws those that the server no longer asks.
func (f *following) askAll(ctx context.Context, end context.CancelCauseFunc, t Task) error {
	var inputs []input
	if t.status == "input_required" {
		var err error
		if inputs, _, err = readInputs(t.raw); err != nil {
			return fmt.Errorf("server %q asks for more input, but %w", f.in.u.cfg.Name, err)
		}
	}
	open := map[string]bool{}
	for _, q := range inputs {
		open[q.key] = true
		if _, again := f.asked[q.key]; again {
			continue
		}
		if len(f.asked) == maxAsked {
			return fmt.Errorf("server %q asks more than %d questions in one task", f.in.u.cfg.Name, maxAsked)
		}
		one, cancel := context.WithCancel(ctx)
		f.asked[q.key] = cancel
		f.asking.Go(func() {
			defer cancel()
			if err := f.ask(one, q); err != nil && one.Err() == nil {
				end(err)
			}
		})
	}
	for key, cancel := range f.asked {
		if !open[key] {
			cancel()
		}
	}
	return nil
}

// ask puts one question to the host and gives the answer to the server.
func (f *following) ask(ctx context.Context, q input) error {
	answer, err := f.in.put(ctx, q)
	if err != nil {
		return err
	}
	result := answer.Result
	switch {
	case result == nil && q.method != "elicitation/create":
		return fault(answer.Error)
	case result == nil: // the modern era has no error for this
		result = []byte(`{"action":"cancel"}`)
	}
	more := fmt.Appendf(nil, `,"inputResponses":{%s:%s}`, jsonx.Quote(q.key), result)
	var gone *goneError
	if _, err := f.request(ctx, "tasks/update", more); err != nil && !errors.As(err, &gone) { // if it is gone, the next look finds out
		return err
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
	return nil
}

// giveUp tells the server that nobody wants the task any more. Even if the session is ending, it allows lastWord for
// that.
func (f *following) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	if _, err := f.request(ctx, "tasks/cancel", nil); err != nil {
		f.in.u.log.Warn("a server's task was not stopped", "error", err)
	}
}

// readTask reads a server's description of a task.
func readTask(raw []byte) (t Task, err error) {
	var m [7]jsonx.Member
	if err := jsonx.Check(raw); err != nil { // its parts go out with other questions and answers
		return t, err
	}
	if err := jsonx.Members(raw, []string{"taskId", "status", "statusMessage", "ttlMs", "pollIntervalMs", "result", "error"}, m[:]); err != nil {
		return t, err
	}
	var named bool
	if t.id, named = jsonx.String(m[0].Value); !named || t.id == "" {
		return t, errors.New("it has no taskId")
	}
	t.status, _ = jsonx.String(m[1].Value)
	if t.Message, _ = jsonx.String(m[2].Value); len(t.Message) > maxSaid {
		t.Message = strings.ToValidUTF8(t.Message[:maxSaid], "")
	}
	t.Poll = usualPoll
	if poll := milliseconds(m[4].Value); poll > 0 {
		t.Poll = min(max(poll, minPoll), maxPoll)
	}
	t.ttl, t.result, t.fault, t.raw = milliseconds(m[3].Value), m[5].Value, m[6].Value, raw
	switch t.status {
	case "working", "input_required", "completed", "failed", "cancelled":
		return t, nil
	}
	return t, fmt.Errorf("its status is %.40q", t.status)
}

// milliseconds reads a duration from a message; 0 means none.
func milliseconds(raw []byte) time.Duration {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 1e12)) * time.Millisecond
}

// answer returns what the server would have answered the call that became the task.
func (t Task) answer() (rpc.Message, error) {
	switch {
	case t.status == "completed" && len(t.result) > 0 && t.result[0] == '{':
		return rpc.Parse(rpc.Result([]byte(`"cg"`), t.result))
	case t.status == "failed" && len(t.fault) > 0 && t.fault[0] == '{':
		return rpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"cg","error":%s}`, t.fault))
	case t.status == "cancelled":
		return rpc.Message{}, errors.New("the server has stopped the task")
	}
	return rpc.Message{}, fmt.Errorf("the server says that the task is %s, and gives neither a result nor an error", t.status)
}

package hosthooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// Options assemble a Desk. Gate, Log, Proof and Sanitize are required.
type Options struct {
	Gate     *gate.Gate
	Log      *slog.Logger
	Proof    *Proof
	Agent    string // the profile of the sessions
	Home     string
	Shell    *tools.ShellSetup
	Audit    string // folder of the audit trail, with decisions of other processes
	Sanitize func(string) string
	// Own returns the names of callgate's own entries among a host's MCP servers in a project. Their calls pass the
	// gate there. May be nil.
	Own func(host, project string) []string
	// Before, if not nil, runs the user's hooks on a call and returns the call with their results.
	Before func(context.Context, *gate.Session, gate.Call) gate.Call
	// Keep, if not nil, takes a snapshot of the files that an allowed call may change. The desk calls end after the
	// call.
	Keep func(context.Context, *gate.Session, gate.Call, *gate.Verdict) (end func(context.Context), err error)
	// Prompted, if not nil, is called with the person's prompts. It does not get prompts that arrive while a call runs,
	// because that call could have sent them.
	Prompted func(s *gate.Session, text string)
	// Alarm, if not nil, shows people what is wrong with a host.
	Alarm func(host string, texts ...string)
}

// Desk judges the calls of hosts. It has a session of the gate for each session of a host.
type Desk struct {
	o      Options
	prefix string // for call ids
	calls  atomic.Uint64
	tools  sync.Map // by toolKey: *tools.Tool

	mu     sync.Mutex
	visits map[string]*visit // by host and the host's session
	busy   int               // requests in progress
	last   time.Time
}

// NewDesk returns a desk without sessions. The caller MUST Close it.
func NewDesk(o Options) *Desk {
	var b [5]byte
	rand.Read(b[:])
	return &Desk{o: o, prefix: hex.EncodeToString(b[:]), visits: map[string]*visit{}, last: time.Now()}
}

// visit is one session of a host, with its session of the gate.
type visit struct {
	dialect *Dialect
	session *gate.Session
	project string // the workspace; it stays when the host changes its working folder, because rules open the workspace

	began time.Time

	mu      sync.Mutex
	last    time.Time
	version string
	told    map[string]bool      // recorded modes
	asked   map[string]questions // calls that have not ended, by the host's id, if it has ids, and by what they are
	running map[string][]*ran    // allowed calls that are not known to have ended, by key
	denied  map[string]string    // denied calls: key → tool
	reading reading              // how far the host's transcript was read
	turn    turn
}

func clientOf(d *Dialect, version string) gate.Client {
	return gate.Client{Name: d.Client, Version: version}
}

// questions are by what they are about.
type questions = map[[sha256.Size]byte]*question

// question is a call that the host asks about. The desk judges it once, however often the host asks.
type question struct {
	done  chan struct{}
	reply Reply
}

// ran is a call that the host may run.
type ran struct {
	call    gate.Call
	verdict gate.Verdict
	began   time.Time
	end     func(context.Context)
}

// Handle answers one request. It returns in time for the host, and at the latest when ctx ends.
func (d *Desk) Handle(ctx context.Context, host, name string, body []byte, env map[string]string) Reply {
	dialect, err := Find(host)
	if err != nil {
		return Reply{Stderr: err.Error(), Exit: 2}
	}
	d.mu.Lock()
	d.busy++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.busy--
		d.last = time.Now()
		d.mu.Unlock()
	}()
	e, err := dialect.Read(name, body, env)
	if errors.Is(err, errUnknownEvent) {
		return Reply{Stderr: fmt.Sprintf("%v: %s", err, e.Name), Exit: 1}
	}
	if e.Role == End {
		d.leave(dialect, e.Session)
		return Reply{}
	}
	v, failed := d.visit(dialect, &e)
	if failed != nil {
		return dialect.Fail(name, body, failed.Error())
	}
	if err != nil {
		return d.refuse(v, &e, err)
	}
	if e.Session == trying || e.Session == Showing {
		defer d.leave(dialect, e.Session)
		if e.Role == Before {
			q := &question{}
			d.judge(ctx, v, &e, q)
			d.forget(v) // doctor's call, not the host's
			return q.reply
		}
		return Reply{}
	}
	d.o.Proof.Seen(dialect.ID, v.version, e.Name)
	d.noteMode(v, &e)
	switch e.Role {
	case Before:
		return d.before(ctx, v, &e)
	case Permission:
		return d.permission(ctx, v, &e)
	case After, Failed:
		return d.after(v, &e)
	case Done:
		return d.done(v, &e)
	case Reported:
		d.match(v, &e, true, "as its session says")
	case Prompt:
		d.prompt(v, &e)
		return dialect.say(Prompt, "allow", "")
	case Start:
		return d.start(v)
	case Idle:
		d.checkTranscript(v)
		d.settle(v)
		d.tellChanged(v)
	case Subagent:
		d.note(v, fmt.Sprintf("%s: %s %s.", dialect.Name, e.Name, tools.Visible(e.Agent)))
	}
	return Reply{}
}

// visit returns the visit for the host's session, and starts one for a new session.
func (d *Desk) visit(dialect *Dialect, e *Event) (*visit, error) {
	key := dialect.ID + "\x00" + e.Session
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.visits[key]
	if v == nil {
		session, err := d.o.Gate.OpenSession(d.o.Agent, func() {}) // only waiting calls can be withdrawn
		if err != nil {
			return nil, fmt.Errorf("callgate cannot begin a session: %w", err)
		}
		v = &visit{dialect: dialect, session: session, began: time.Now(), told: map[string]bool{}, asked: map[string]questions{}, running: map[string][]*ran{}, denied: map[string]string{}}
		d.visits[key] = v
		v.project = e.Cwd
		if len(e.Workspace) > 0 {
			v.project = e.Workspace[0]
		}
		session.SetOrigin(gate.Origin{Folder: tools.Visible(v.project)})
		session.SetClient(clientOf(dialect, e.Version))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last = time.Now(); e.Version != "" && e.Version != v.version {
		v.version = e.Version
		v.session.SetClient(clientOf(dialect, e.Version))
	}
	if e.Transcript == "" && e.Named != "" {
		e.Transcript = filepath.Join(d.o.Home, strings.ReplaceAll(dialect.Transcript.At, "{name}", e.Named))
	}
	v.follow(e.Transcript)
	return v, nil
}

// callOf returns the call that an event is about.
func (d *Desk) callOf(v *visit, e *Event) (gate.Call, error) {
	call := gate.Call{
		ID:        fmt.Sprintf("call_%x%s_%x", time.Now().Unix(), d.prefix, d.calls.Add(1)),
		SessionID: v.session.ID(), Principal: "hook:" + v.dialect.ID, Agent: v.session.Agent(), Arguments: e.Arguments,
		Tool: d.tool(v.dialect, e), Fixed: true,
		Place: tools.Place{Dir: e.Cwd, Workspace: []string{v.project}, Home: d.o.Home, Shell: d.o.Shell},
	}
	if e.Agent != "" && d.o.Gate.HasAgent(e.Agent) {
		call.Agent = e.Agent
	}
	call.Place.Dir = cmp.Or(call.Place.Dir, v.project)
	if v.project == "" {
		call.Place.Workspace = nil
	}
	call.Place.Roots = []string{call.Place.Dir}
	var err error
	call.Digest, err = jsonx.Digest(call.Arguments, call.Agent)
	return call, err
}

// tool describes a tool of the host. Built-in tools are in the catalogue, bound to the host. Tools of MCP servers are
// judged by name; rules for the same tool behind callgate can only make them stricter.
func (d *Desk) tool(dialect *Dialect, e *Event) *tools.Tool {
	key := toolKey{dialect.ID, e.Server, e.Tool, e.Foreign}
	if t, ok := d.tools.Load(key); ok {
		return t.(*tools.Tool)
	}
	name := e.Tool
	if e.Server != "" {
		name = e.Server + "_" + e.Tool
	}
	t := tools.Describe(dialect.server(!e.Foreign), e.Tool, d.o.Sanitize(dialect.ID+"_"+name), nil)
	if plain := dialect.plainName(e); plain != "" && !t.Bound {
		t.Plain = d.o.Sanitize(plain)
	}
	if len(e.Server)+len(e.Tool) < 200 { // the model chooses the names: long ones must not fill the memory
		d.tools.Store(key, t)
	}
	return t
}

// server stands for the host among servers. The catalogue knows its built-in tools.
func (d *Dialect) server(builtIn bool) tools.Server {
	s := tools.Server{Name: "host", Identity: "host:" + d.ID}
	if builtIn {
		s.Packages = []string{"callgate-host-" + d.ID}
	}
	return s
}

// BuiltIn describes a built-in tool of a host by the name that calls have on record, such as claude_Bash. It returns
// nil if the catalogue does not know the tool.
func BuiltIn(name string) *tools.Tool {
	host, tool, _ := strings.Cut(name, "_")
	dialect := Dialects()[host]
	if dialect == nil {
		return nil
	}
	if t := tools.Describe(dialect.server(true), tool, name, nil); t.Bound {
		return t
	}
	return nil
}

// toolKey is all that the description of a host's tool depends on.
type toolKey struct {
	host, server, tool string
	foreign            bool // as Event.Foreign
}

// margin is how long before its timeout the host gets an answer.
const margin = 10 * time.Second

// before judges a call once, however often the host asks.
func (d *Desk) before(ctx context.Context, v *visit, e *Event) Reply {
	if call, err := d.callOf(v, e); err == nil {
		v.hear(keyOf(e, call))
	}
	if d.ours(v, e) {
		v.mu.Lock()
		v.turn.opaque = true
		v.mu.Unlock()
		return d.yes(v, e, "callgate judges this call when it arrives over MCP") // else hosts ask again or refuse
	}
	if e.Call == "" {
		q := &question{}
		d.judge(ctx, v, e, q)
		return q.reply
	}
	what := sha256.Sum256(fmt.Appendf(nil, "%q %q %t %q %s", e.Server, e.Tool, e.Foreign, e.Cwd, e.Arguments))
	v.mu.Lock()
	q, asked := v.asked[e.Call][what]
	if !asked {
		if v.asked[e.Call] == nil {
			v.asked[e.Call] = questions{}
		}
		q = &question{done: make(chan struct{})}
		v.asked[e.Call][what] = q
	}
	v.mu.Unlock()
	if !asked {
		d.judge(ctx, v, e, q)
		close(q.done)
		return q.reply
	}
	select {
	case <-q.done:
		return q.reply
	case <-ctx.Done():
		return v.dialect.say(Before, "deny", "The host cancelled the call.")
	}
}

// permission answers a host that is about to ask its person. It allows a call that before has just allowed.
func (d *Desk) permission(ctx context.Context, v *visit, e *Event) Reply {
	if d.ours(v, e) { // so that the host does not ask a second time
		return d.yes(v, e, "callgate judges this call when it arrives over MCP")
	}
	call, err := d.callOf(v, e)
	if err != nil {
		return d.refuse(v, e, err)
	}
	v.mu.Lock()
	for _, list := range v.running {
		for _, r := range list {
			if r.call.Tool == call.Tool && r.call.Digest == call.Digest && r.call.Place.Dir == call.Place.Dir {
				v.mu.Unlock()
				return d.yes(v, e, r.verdict.Reason)
			}
		}
	}
	v.mu.Unlock()
	q := &question{}
	d.judge(ctx, v, e, q)
	return q.reply
}

// judge asks the gate and fills in the answer.
func (d *Desk) judge(ctx context.Context, v *visit, e *Event, q *question) {
	call, err := d.callOf(v, e)
	if err != nil {
		q.reply = d.refuse(v, e, err)
		return
	}
	if d.o.Before != nil {
		call = d.o.Before(ctx, v.session, call)
	}
	if d.o.Proof.isCanary(e.Arguments) {
		call.Before.DeniedBy, call.Before.Reason = "canary", fmt.Sprintf("This was callgate's test of whether %s obeys it. The call was refused as expected. Do not repeat it; go on with the user's task.", v.dialect.Name)
	}
	call.HandOver, call.Unasked = v.dialect.Limit-margin, e.Session == trying
	verdict, call := d.o.Gate.Decide(ctx, v.session, call)
	key := keyOf(e, call)
	if verdict.Action != permissions.Allow {
		v.mu.Lock()
		v.denied[key] = e.Tool
		v.mu.Unlock()
		q.reply = v.dialect.say(e.Role, "deny", "callgate: "+verdict.Reason)
		return
	}
	r := &ran{call: call, verdict: verdict, began: time.Now(), end: func(context.Context) {}}
	if d.o.Keep != nil {
		end, err := d.o.Keep(ctx, v.session, call, &verdict)
		if err != nil {
			d.o.Gate.Finish(v.session, call, nil, true, err.Error(), 0)()
			v.mu.Lock()
			v.denied[key] = e.Tool
			v.mu.Unlock()
			q.reply = v.dialect.say(e.Role, "deny", "callgate: "+err.Error())
			return
		}
		r.end = end
	}
	v.mu.Lock()
	v.running[key] = append(v.running[key], r)
	v.turn.ran(call)
	delete(v.denied, key)
	v.mu.Unlock()
	q.reply = d.yes(v, e, verdict.Reason)
}

// yes lets the call run. It gives no answer while the host is in plan mode, so that callgate does not allow more than
// the host would.
func (d *Desk) yes(v *visit, e *Event, reason string) Reply {
	if slices.Contains(v.dialect.Planning, e.Mode) {
		return Reply{}
	}
	return v.dialect.say(e.Role, "allow", reason)
}

// refuse denies an unreadable call, and records that.
func (d *Desk) refuse(v *visit, e *Event, why error) Reply {
	if !e.Role.Decides() {
		if e.Role != "" {
			return Reply{Stderr: why.Error(), Exit: 1}
		}
		e.Role = Before
	}
	call, err := d.callOf(v, e)
	if err != nil {
		call.Digest = ""
	}
	verdict := d.o.Gate.Refuse(v.session, call, why.Error())
	return v.dialect.say(e.Role, "deny", "callgate: "+verdict.Reason)
}

// keyOf identifies a call when the host mentions it again.
func keyOf(e *Event, call gate.Call) string {
	if e.Call != "" {
		return "id\x00" + e.Call
	}
	return "digest\x00" + call.Tool.Qualified + "\x00" + call.Digest
}

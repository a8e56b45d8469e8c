package tui

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"callgate/internal/companion/wire"
)

const (
	restTimeout = 3 * time.Second
	records     = 200 // from the audit trail
)

// asker asks over REST for what frames do not contain. Every method takes the address that the client is connected to.
type asker interface {
	status(ctx context.Context, address string, history bool) status
	changes(ctx context.Context, address, call string) ([]wire.FileChange, error)
	tools(ctx context.Context, address, session string) (wire.ToolsView, error)
	accept(ctx context.Context, address, session, tool, hash string) error
	freeze(ctx context.Context, address string, end bool) error
	own(ctx context.Context, address, dir string, c ownCommand) error
}

// rest asks the companion with the client's credential.
type rest struct {
	ask      Ask
	sessions []string // that the client follows; nil means all
}

var _ asker = (*rest)(nil)

// status is the state of the companion.
type status struct {
	servers []server
	records []entry // oldest first
	err     error
}

// server is an MCP server behind callgate.
type server = wire.UpstreamState

// status asks for the servers and, if history is set, for records from before this screen started to follow.
func (r *rest) status(ctx context.Context, address string, history bool) (s status) {
	var info struct{ Upstreams []server }
	if err := r.within(ctx, address, "GET", "/api/info", nil, &info); err != nil {
		return status{err: err}
	}
	s.servers = together(info.Upstreams)
	if !history {
		return s
	}
	var audit struct{ Records []entry }
	if err := r.within(ctx, address, "GET", fmt.Sprintf("/api/audit?limit=%d", records), nil, &audit); err != nil {
		return status{err: err}
	}
	for _, e := range slices.Backward(audit.Records) {
		if e.Event == "decision" && (r.sessions == nil || slices.Contains(r.sessions, e.SessionID)) {
			s.records = append(s.records, e)
		}
	}
	return s
}

// together merges the servers of the same name behind different hosts. The worst state wins.
func together(servers []server) []server {
	worse := map[string]int{wire.UpstreamUp: 1, wire.UpstreamIdle: 0, wire.UpstreamStarting: 2, wire.UpstreamDown: 3}
	var all []server
	for _, one := range servers {
		at := slices.IndexFunc(all, func(s server) bool { return s.Name == one.Name })
		if at < 0 {
			all = append(all, one)
			continue
		}
		if worse[one.State] > worse[all[at].State] {
			all[at].State, all[at].Error = one.State, one.Error
		}
		all[at].Tools = max(all[at].Tools, one.Tools)
	}
	return all
}

// own records the person's own command.
func (r *rest) own(ctx context.Context, address, dir string, c ownCommand) error {
	body := wire.OwnCommand{Command: c.command, Dir: dir}
	if c.ended {
		took := c.took.Milliseconds()
		body.Outcome, body.Duration = c.outcome(), &took
	}
	return r.within(ctx, address, "POST", "/api/commands", body, nil)
}

// changes asks how a pending call would change files.
func (r *rest) changes(ctx context.Context, address, call string) ([]wire.FileChange, error) {
	var answer struct{ Changes []wire.FileChange }
	err := r.within(ctx, address, "GET", "/api/approvals/"+url.PathEscape(call)+"/changes", nil, &answer)
	return answer.Changes, err
}

// tools asks which tools are offered to a session.
func (r *rest) tools(ctx context.Context, address, session string) (view wire.ToolsView, err error) {
	err = r.within(ctx, address, "GET", "/api/tools?sessionId="+url.QueryEscape(session), nil, &view)
	return view, err
}

// accept accepts the definition of a tool with that hash.
func (r *rest) accept(ctx context.Context, address, session, tool, hash string) error {
	body := map[string]string{"tool": tool, "hash": hash}
	return r.within(ctx, address, "POST", "/api/tools/accept?sessionId="+url.QueryEscape(session), body, nil)
}

// freeze freezes or unfreezes all sessions.
func (r *rest) freeze(ctx context.Context, address string, end bool) error {
	method := "PUT"
	if end {
		method = "DELETE"
	}
	return r.within(ctx, address, method, "/api/freeze", wire.FreezeRequest{}, nil)
}

// within asks with a time limit.
func (r *rest) within(ctx context.Context, address, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	return r.ask(ctx, address, method, path, body, answer)
}

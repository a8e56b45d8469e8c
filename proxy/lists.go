package proxy

import (
	"bytes"
	"context"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

func (h *host) listTools(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	return h.list(ctx, m, upstream.Tools)
}

func (h *host) listPrompts(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	return h.list(ctx, m, upstream.Prompts)
}

func (h *host) listResources(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	return h.list(ctx, m, upstream.Resources)
}

func (h *host) listTemplates(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	return h.list(ctx, m, upstream.Templates)
}

// list answers with what is known. Lists are never cut into pages, so no cursor of a host is one of ours.
func (h *host) list(ctx context.Context, m rpc.Message, k upstream.Kind) []byte {
	if hasCursor(m) {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
	}
	h.awaitLists(ctx, patience, nil, k)
	h.rebuild() // a list may be known a moment before its change is told
	result := h.table.Load().results[k]
	h.served[k].Store(&result)
	return rpc.Result(m.ID, result)
}

// hasCursor reports whether a request for a list wants another page than the first.
func hasCursor(m rpc.Message) bool {
	var cursor [1]jsonx.Member
	return m.Params != nil && jsonx.Members(m.Params, []string{"cursor"}, cursor[:]) == nil && cursor[0].Value != nil && string(cursor[0].Value) != "null"
}

// listChanged takes over a new list and tells the host, if it has been given another one.
func (h *host) listChanged(k upstream.Kind) {
	h.rebuild()
	h.touch()
	if served := h.served[k].Load(); served == nil || bytes.Equal(*served, h.table.Load().results[k]) || !h.initialized.Load() {
		return
	}
	switch k {
	case upstream.Tools:
		h.notify(nil, rpc.Request(nil, "notifications/tools/list_changed", nil))
	case upstream.Prompts:
		h.notify(nil, rpc.Request(nil, "notifications/prompts/list_changed", nil))
	case upstream.Resources, upstream.Templates:
		h.notify(nil, rpc.Request(nil, "notifications/resources/list_changed", nil))
	}
}

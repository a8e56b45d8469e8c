package proxy

import (
	"context"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// metaPrefix is of the names in "_meta" that are callgate's to use.
const metaPrefix = "callgate/"

// forward sends a request to the server. What the answer says in callgate's name is the server's: nothing but
// callgate itself speaks to the host under names that begin with "callgate/", and what an error asks is signed.
func (s *server) forward(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	answer, err := s.bounded(ctx, compose)
	if err != nil || s.own {
		return answer, err
	}
	return s.heard(answer)
}

// heard returns an answer of the server as hosts may hear it.
func (s *server) heard(answer rpc.Message) (rpc.Message, error) {
	answer, err := disowned(answer)
	if err != nil {
		return answer, err
	}
	return s.required(answer)
}

// disowned returns the message with such names marked as the server's; nothing else of it changes.
func disowned(m rpc.Message) (rpc.Message, error) {
	edits := jsonx.MetaNames(m.Raw, metaPrefix)
	if len(edits) == 0 {
		return m, nil
	}
	for i, e := range edits {
		name, _ := jsonx.String(m.Raw[e.Start:e.End])
		edits[i].With = jsonx.Quote("server:" + name)
	}
	return rpc.Parse(jsonx.Splice(m.Raw, edits...))
}

package upstream

import (
	"bytes"
	"errors"
	"log/slog"
	"unicode/utf8"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// handle takes what the server sends, except answers to our requests, on the reading goroutine.
func (in *incarnation) handle(m rpc.Message, of []byte) {
	switch {
	case m.IsResponse():
		in.u.log.Debug("answer dropped: nobody waits for it", "id", string(m.ID))
	case !utf8.Valid(m.Raw): // a host with a strict decoder would end at it
		in.noise(m.Raw, errors.New("it is not valid UTF-8"))
		if m.IsRequest() && utf8.Valid(m.ID) {
			in.answer(rpc.Error(m.ID, rpc.CodeInvalidRequest, "the request is not valid UTF-8"))
		}
	case m.IsNotification() && m.Method == "notifications/subscriptions/acknowledged":
		in.acknowledged(m, of)
	case m.IsNotification():
		in.notified(m, in.cause(of))
	case m.Method == "ping":
		in.answer(rpc.Result(m.ID, []byte("{}")))
	default:
		in.asked(m, in.cause(of))
	}
}

func (in *incarnation) asked(m rpc.Message, cause any) {
	u := in.u
	if u.events.Request == nil || in.greeted.Load() && in.modern != nil {
		in.answer(rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found"))
		return
	}
	own, ok := u.asks.add(in, m.ID)
	if !ok {
		in.log.write(slog.LevelWarn, "request of the server refused: its id is in use, or too many wait", "method", excerpt([]byte(m.Method)))
		in.answer(rpc.Error(m.ID, rpc.CodeInvalidRequest, "the id is in use, or too many requests wait for an answer"))
		return
	}
	renamed, err := rpc.Parse(m.WithID(own))
	if err != nil {
		u.asks.take(own)
		in.answer(rpc.Error(m.ID, rpc.CodeInternal, err.Error()))
		return
	}
	u.events.Request(u, renamed, cause)
}

// answer answers the server on callgate's behalf.
func (in *incarnation) answer(response []byte) {
	if err := in.conn.Write(response); err != nil {
		in.u.log.Debug("answer to the server not sent", "error", err)
	}
}

func (in *incarnation) notified(m rpc.Message, cause any) {
	u := in.u
	switch m.Method {
	case "notifications/tools/list_changed":
		u.Lists.announced(in, Tools)
		return
	case "notifications/prompts/list_changed":
		u.Lists.announced(in, Prompts)
		return
	case "notifications/resources/list_changed":
		u.Lists.announced(in, Resources)
		u.Lists.announced(in, Templates)
		return
	case "notifications/cancelled":
		var ok bool
		if m, ok = in.renameCancel(m); !ok {
			return
		}
	}
	if u.events.Notification != nil {
		u.events.Notification(u, in.untagged(m), cause)
	}
}

// subscriptionID is the member of _meta that names the subscription request behind a notification.
const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// untagged removes the id of the subscription, which is ours, from a notification.
func (in *incarnation) untagged(m rpc.Message) rpc.Message {
	var meta, id [1]jsonx.Member
	if !in.greeted.Load() || in.modern == nil || m.Params == nil || !bytes.Contains(m.Params, []byte(subscriptionID)) ||
		jsonx.Members(m.Params, []string{"_meta"}, meta[:]) != nil || meta[0].Value == nil ||
		jsonx.Members(meta[0].Value, []string{subscriptionID}, id[:]) != nil || id[0].Value == nil {
		return m
	}
	edit := jsonx.Delete(meta[0].Value, id[0])
	edit.Start, edit.End = edit.Start+meta[0].Start, edit.End+meta[0].Start
	untagged, err := rpc.Parse(rpc.Request(nil, m.Method, jsonx.Splice(m.Params, edit)))
	if err != nil {
		return m
	}
	return untagged
}

// renameCancel puts our id into the server's cancellation of its request. ok is false if there is no such request.
func (in *incarnation) renameCancel(m rpc.Message) (_ rpc.Message, ok bool) {
	var id [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"requestId"}, id[:]) != nil {
		return m, false
	}
	own, ok := in.u.asks.find(in, id[0].Value)
	if !ok {
		return m, false
	}
	in.u.asks.take([]byte(own))
	params := jsonx.Splice(m.Params, jsonx.Edit{Start: id[0].Start, End: id[0].End(), With: []byte(own)})
	renamed, err := rpc.Parse(rpc.Request(nil, m.Method, params))
	return renamed, err == nil
}

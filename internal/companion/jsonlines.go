package companion

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// Relay is Watch for programs: every frame of the server goes to out as one line of JSON, and every line
// of in is a tool_approve, set_autonomy, cancel, agent_add or agent_remove frame (v may be left out). A line that is none gets an
// error frame on out. The end of in ends only the answers; in is read until the process ends.
func Relay(ctx context.Context, client *Client, in io.Reader, out io.Writer, once bool) (Outcome, error) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxMessage)
		for scanner.Scan() {
			select {
			case lines <- append([]byte(nil), scanner.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
	}()
	pending := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return Ended, nil
		case event, ok := <-client.Events():
			if !ok {
				return Ended, ctx.Err()
			}
			if event.Raw != nil {
				if _, err := out.Write(append(event.Raw, '\n')); err != nil {
					return Ended, err
				}
			}
			switch f := event.Frame.(type) {
			case Connected:
				clear(pending)
			case Disconnected:
				if f.Final {
					return Ended, f.Err
				}
			case *ToolApproveRequest:
				pending[f.ToolCallID] = true
			case *ToolApproveResolved:
				if once && pending[f.ToolCallID] {
					return outcomeOf(f.Decision), nil
				}
			}
		case data, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			if len(data) == 0 {
				continue
			}
			if refused := client.relay(data); refused != nil {
				frame, err := encode(errorFrame(refused, "", ""))
				if err == nil {
					_, err = out.Write(append(frame, '\n'))
				}
				if err != nil {
					return Ended, err
				}
			}
		}
	}
}

// relay sends what one line of JSON asks for.
func (c *Client) relay(data []byte) *refusal {
	var head Head
	if refused := decode(data, &head); refused != nil {
		return refused
	}
	if head.V != 0 && head.V != Version {
		return refuse(CodeProtocolMismatch, "this is protocol version %d", Version)
	}
	var err error
	switch head.Type {
	case TypeToolApprove:
		var f ToolApprove
		if refused := decode(data, &f); refused != nil {
			return refused
		}
		err = c.Answer(f)
	case TypeSetAutonomy:
		var f SetAutonomy
		if refused := decode(data, &f); refused != nil {
			return refused
		}
		err = c.SetAutonomy(f.SessionID, f.Level)
	case TypeCancel:
		err = c.Cancel(head.SessionID)
	case TypeAgentAdd:
		var f AgentAdd
		if refused := decode(data, &f); refused != nil {
			return refused
		}
		err = c.AddAgent(f)
	case TypeAgentRemove:
		var f AgentRemove
		if refused := decode(data, &f); refused != nil {
			return refused
		}
		err = c.RemoveAgent(f.SessionID, f.AgentID)
	default:
		return refuse(CodeBadMessage, "type must be tool_approve, set_autonomy, cancel, agent_add or agent_remove")
	}
	switch {
	case errors.Is(err, ErrClosed):
		return refuse(CodeInternal, "there is no connection; nothing was sent")
	case err != nil:
		return refuse(CodeInternal, "the frame may not have arrived: %v", err)
	}
	return nil
}

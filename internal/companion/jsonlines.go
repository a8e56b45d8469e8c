package companion

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// Relay is Watch for programs: every frame of the server goes to out as one line of JSON, and every line
// of in is one of lineFrames (v may be left out). A line that is none gets an
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
			case Notice:
				for _, problem := range f.Problems {
					frame, err := encode(Error{Head: head(TypeError, ""), Code: CodeProblem, Message: problem})
					if err == nil {
						_, err = out.Write(append(frame, '\n'))
					}
					if err != nil {
						return Ended, err
					}
				}
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

// clientFrame is a frame of a client.
type clientFrame interface{ self() *Head }

// lineFrames are the frames that a line may be.
var lineFrames = map[string]func() clientFrame{
	TypeToolApprove: func() clientFrame { return new(ToolApprove) },
	TypeCancel:      func() clientFrame { return new(Cancel) },
	TypeSetAutonomy: func() clientFrame { return new(SetAutonomy) },
	TypeAgentAdd:    func() clientFrame { return new(AgentAdd) },
	TypeAgentRemove: func() clientFrame { return new(AgentRemove) },
	TypeChat:        func() clientFrame { return new(Chat) },
	TypeChatReset:   func() clientFrame { return new(ChatReset) },
	TypeKBAdd:       func() clientFrame { return new(KBAdd) },
	TypeKBSearch:    func() clientFrame { return new(KBSearch) },
	TypeKBList:      func() clientFrame { return new(KBList) },
	TypeKBRemove:    func() clientFrame { return new(KBRemove) },
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
	make, ok := lineFrames[head.Type]
	if !ok {
		return refuse(CodeBadMessage, "type must be one of %s", strings.Join(slices.Sorted(maps.Keys(lineFrames)), ", "))
	}
	frame := make()
	if refused := decode(data, frame); refused != nil {
		return refused
	}
	frame.self().V = Version
	var err error
	if answer, ok := frame.(*ToolApprove); ok {
		err = c.Answer(*answer)
	} else {
		err = c.send(frame)
	}
	switch {
	case errors.Is(err, ErrNotBack):
		return refuse(CodeInternal, "%v; nothing was sent, try again in a moment", err)
	case errors.Is(err, ErrClosed):
		return refuse(CodeInternal, "there is no connection; nothing was sent")
	case err != nil:
		return refuse(CodeInternal, "the frame may not have arrived: %v", err)
	}
	return nil
}

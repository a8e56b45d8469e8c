package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"callgate/internal/companion/client"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Relay is Watch for programs. It writes every frame of the server to out as one line of JSON. Every line of in must be
// one of lineFrames, where v may be left out; any other line gets an error frame on out. It takes lines once there is a
// connection. After the end of in it still writes frames. in is read until the process ends.
func Relay(ctx context.Context, client *client.Client, in io.Reader, out io.Writer, once bool) (wire.Outcome, error) {
	lines := linesOf(ctx, in)
	var taken <-chan []byte // lines, or nil before the first connection
	pending := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return wire.Ended, nil
		case event, ok := <-client.Events():
			if !ok {
				return wire.Ended, ctx.Err()
			}
			if event.Raw != nil {
				if _, err := out.Write(append(event.Raw, '\n')); err != nil {
					return wire.Ended, err
				}
			}
			switch f := event.Frame.(type) {
			case wire.Connected:
				taken = lines
				clear(pending)
			case wire.Notice:
				if err := writeProblems(out, f.Problems); err != nil {
					return wire.Ended, err
				}
			case wire.Disconnected:
				if f.Final {
					return wire.Ended, f.Err
				}
			case *wire.ToolApproveRequest:
				pending[f.ToolCallID] = true
			case *wire.ToolApproveResolved:
				if once && pending[f.ToolCallID] {
					return wire.OutcomeOf(f.Decision), nil
				}
			}
		case data, ok := <-taken:
			if !ok {
				lines, taken = nil, nil
				continue
			}
			if err := answerLine(client, data, out); err != nil {
				return wire.Ended, err
			}
		}
	}
}

// linesOf reads lines until in or ctx ends, and then closes the channel.
func linesOf(ctx context.Context, in io.Reader) chan []byte {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, wire.MaxMessage)
		for scanner.Scan() {
			select {
			case lines <- append([]byte(nil), scanner.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// answerLine sends a line to the server. If that fails, it writes why. It ignores empty lines.
func answerLine(client *client.Client, data []byte, out io.Writer) error {
	if len(data) == 0 {
		return nil
	}
	if refused := relayLine(client, data); refused != nil {
		return writeLine(out, wire.ErrorFrame(refused, "", ""))
	}
	return nil
}

// writeProblems writes the problems that the server reports as error frames.
func writeProblems(out io.Writer, problems []string) error {
	for _, problem := range problems {
		problem := wire.Error{Head: wire.NewHead(wire.TypeError, ""), Code: wire.CodeProblem, Message: problem}
		if err := writeLine(out, problem); err != nil {
			return err
		}
	}
	return nil
}

// writeLine writes an error frame that does not come from the server.
func writeLine(out io.Writer, problem wire.Error) error {
	frame, err := wire.Encode(problem)
	if err != nil {
		return err
	}
	_, err = out.Write(append(frame, '\n'))
	return err
}

// clientFrame is a frame that a client sends.
type clientFrame interface{ Self() *wire.Head }

// lineFrames makes the frames that a line may hold, by type.
var lineFrames = map[string]func() clientFrame{
	wire.TypeToolApprove: func() clientFrame { return new(wire.ToolApprove) },
	wire.TypeCancel:      func() clientFrame { return new(wire.Cancel) },
	wire.TypeSetAutonomy: func() clientFrame { return new(wire.SetAutonomy) },
	wire.TypeAgentAdd:    func() clientFrame { return new(wire.AgentAdd) },
	wire.TypeAgentRemove: func() clientFrame { return new(wire.AgentRemove) },
	wire.TypeChat:        func() clientFrame { return new(wire.Chat) },
	wire.TypeChatReset:   func() clientFrame { return new(wire.ChatReset) },
	wire.TypeKBAdd:       func() clientFrame { return new(wire.KBAdd) },
	wire.TypeKBSearch:    func() clientFrame { return new(wire.KBSearch) },
	wire.TypeKBList:      func() clientFrame { return new(wire.KBList) },
	wire.TypeKBRemove:    func() clientFrame { return new(wire.KBRemove) },
}

// relayLine sends the frame in one line of JSON.
func relayLine(c *client.Client, data []byte) *wire.Refusal {
	var head wire.Head
	if refused := rest.Decode(data, &head); refused != nil {
		return refused
	}
	if head.V != 0 && head.V != wire.Version {
		return wire.Refuse(wire.CodeProtocolMismatch, "this is protocol version %d", wire.Version)
	}
	make, ok := lineFrames[head.Type]
	if !ok {
		return wire.Refuse(wire.CodeBadMessage, "type must be one of %s", strings.Join(slices.Sorted(maps.Keys(lineFrames)), ", "))
	}
	frame := make()
	if refused := rest.Decode(data, frame); refused != nil {
		return refused
	}
	frame.Self().V = wire.Version
	var err error
	if answer, ok := frame.(*wire.ToolApprove); ok {
		err = c.Answer(*answer)
	} else {
		err = c.Send(frame)
	}
	switch {
	case errors.Is(err, wire.ErrNotBack):
		return wire.Refuse(wire.CodeInternal, "%v; nothing was sent, try again in a moment", err)
	case errors.Is(err, wire.ErrClosed):
		return wire.Refuse(wire.CodeInternal, "there is no connection; nothing was sent")
	case err != nil:
		return wire.Refuse(wire.CodeInternal, "the frame may not have arrived: %v", err)
	}
	return nil
}

package rulebook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
)

// past is one line about a session: what its user said, or a call and its result.
type past struct {
	Prompt    string         `json:"prompt,omitzero"`
	Tool      string         `json:"tool,omitzero"`
	Arguments jsontext.Value `json:"arguments,omitzero"`
	Result    jsontext.Value `json:"result,omitzero"`
}

// Remember makes the checker judge as in a session that saw what the lines say: {"prompt"} or {"tool", "arguments",
// "result"}, one JSON object per line.
func (ch *Checker) Remember(in io.Reader) error {
	ch.Judge.Remember()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := ch.remember(line, n); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	return lines.Err()
}

func (ch *Checker) remember(line []byte, n int) error {
	var p past
	if err := json.Unmarshal(line, &p, json.RejectUnknownMembers(true)); err != nil {
		return jsonx.Explain(err)
	}
	switch {
	case (p.Prompt == "") == (p.Tool == ""):
		return errors.New(`it needs "prompt", or "tool" with "arguments" and "result"`)
	case p.Prompt != "":
		ch.Judge.Prompted(p.Prompt)
		return nil
	case p.Result == nil:
		return errors.New(`it needs the "result" of the call`)
	}
	call, err := ch.call(Request{Tool: p.Tool, Arguments: p.Arguments})
	if err != nil {
		return err
	}
	call.ID = fmt.Sprint("past-", n)
	judge, err := ch.judge(Request{})
	if err != nil {
		return err
	}
	judge.Returned(call, p.Result)
	return nil
}

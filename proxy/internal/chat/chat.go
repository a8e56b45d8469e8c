// Package chat makes the requests that put a person's questions to a host's model, and reads the answers.
package chat

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/internal/jsonx"
)

const (
	// Patience is how long a host's model may take once no person is waited for. Some hosts that declare sampling never
	// answer.
	Patience  = 3 * time.Minute
	maxTokens = 4096
)

// Turn is one message of a conversation with a host's model.
type Turn struct {
	Role string // user or assistant
	Text string
}

// Answer is what the model says.
type Answer struct {
	Text  string
	Model string // as the host names it, or ""
	Usage *Usage // nil if the host does not report it
}

// Usage is what an answer cost, if the host reports it. MCP has no member for it; hosts use "usage", in the result or
// in its _meta.
type Usage struct {
	Tokens int
	Cost   float64
}

func Params(turns []Turn) []byte {
	b := []byte(`{"messages":[`)
	for i, t := range turns {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"role":%s,"content":{"type":"text","text":%s}}`, jsonx.Quote(t.Role), jsonx.Quote(t.Text))
	}
	return fmt.Appendf(b, `],"maxTokens":%d}`, maxTokens)
}

// Read reads the model's message: its text, in one block or several, and its cost. It returns gate.ErrUnavailable if
// there is no text.
func Read(result []byte) (Answer, error) {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var message struct {
		Content jsontext.Value `json:"content"`
		Model   string         `json:"model"`
		Usage   usage          `json:"usage"`
		Meta    struct {
			Usage usage `json:"usage"`
		} `json:"_meta"`
	}
	var blocks []block
	err := json.Unmarshal(result, &message)
	if err == nil && json.Unmarshal(message.Content, &blocks) != nil {
		blocks = make([]block, 1)
		err = json.Unmarshal(message.Content, &blocks[0])
	}
	answer := Answer{Model: message.Model}
	for _, b := range blocks {
		if b.Type == "text" {
			answer.Text += b.Text
		}
	}
	if err != nil || answer.Text == "" {
		return Answer{}, fmt.Errorf("%w: the host answered without any text", gate.ErrUnavailable)
	}
	if answer.Usage = message.Usage.normalize(); answer.Usage == nil {
		answer.Usage = message.Meta.Usage.normalize()
	}
	return answer, nil
}

// usage is the member as hosts write it, with the names of several model providers. Unreadable values are ignored.
type usage map[string]jsontext.Value

func (u *usage) UnmarshalJSON(data []byte) error {
	var members map[string]jsontext.Value
	if json.Unmarshal(data, &members) == nil {
		*u = members
	}
	return nil
}

// normalize returns the usage in our terms, or nil if no known name is there.
func (u usage) normalize() *Usage {
	number := func(names ...string) (n float64, ok bool) {
		for _, name := range names {
			if json.Unmarshal(u[name], &n) == nil && n >= 0 {
				return n, true
			}
		}
		return 0, false
	}
	tokens, ok := number("totalTokens", "total_tokens", "tokens")
	if !ok {
		in, a := number("inputTokens", "input_tokens", "promptTokens", "prompt_tokens")
		out, b := number("outputTokens", "output_tokens", "completionTokens", "completion_tokens")
		tokens, ok = in+out, a || b
	}
	cost, priced := number("cost", "totalCost", "total_cost")
	if !ok && !priced {
		return nil
	}
	return &Usage{Tokens: int(min(tokens, 1<<52)), Cost: cost}
}

package stateless

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// openQuestion is a question that the host has not answered.
type openQuestion struct {
	key    string
	id     []byte // of the request that asks, as we assigned it
	method string
	params []byte
}

// ApprovalLabel is the key of the question about an approval.
const ApprovalLabel = "approval"

// ask puts a question to the host. It ends the waiting round, after a moment for further questions. An empty label
// means a new one.
func (e *Request) ask(label string, m rpc.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return errNoWay
	}
	for taken := func(q openQuestion) bool { return q.key == label }; label == "" || slices.ContainsFunc(e.questions, taken); {
		e.asked++
		label = "question-" + strconv.Itoa(e.asked)
	}
	e.questions = append(e.questions, openQuestion{key: label, id: m.ID, method: m.Method, params: m.Params})
	e.asksOther()
	if e.gathering == nil {
		e.gathering = time.AfterFunc(gathered, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.gathering = nil
			e.park()
		})
	}
	return nil
}

// asksOther notes that the open questions have changed. The caller holds mu.
func (e *Request) asksOther() {
	if e.task != nil && !e.task.began.IsZero() {
		e.task.changed()
	}
}

// answer passes the answers to whoever asked. The caller holds mu.
func (e *Request) answer(answers map[string][]byte) {
	open := len(e.questions)
	e.questions = slices.DeleteFunc(e.questions, func(q openQuestion) bool {
		result, ok := answers[q.key]
		if !ok {
			return false
		}
		m, err := rpc.Parse(rpc.Result(q.id, result))
		return err == nil && e.client.asked.Answer(m)
	})
	if len(e.questions) < open {
		e.asksOther()
	}
}

// readResponses reads the answers by the keys of the questions. It skips answers that are not objects.
func readResponses(object []byte) (map[string][]byte, error) {
	answers := map[string][]byte{}
	if object == nil {
		return answers, nil
	}
	rest, err := jsonx.Others(object, nil)
	if err != nil {
		return nil, fmt.Errorf("inputResponses: %w", err)
	}
	var raw map[string]jsontext.Value
	if err := json.Unmarshal(rest, &raw); err != nil {
		return nil, fmt.Errorf("inputResponses: %w", err)
	}
	for key, value := range raw {
		if len(value) > 0 && value[0] == '{' {
			answers[key] = value
		}
	}
	return answers, nil
}

// withdraw removes a question that was decided elsewhere. The caller holds mu.
func (e *Request) withdraw(m rpc.Message) {
	var id [1]jsonx.Member
	if jsonx.Members(m.Params, []string{"requestId"}, id[:]) == nil {
		e.questions = slices.DeleteFunc(e.questions, func(q openQuestion) bool { return string(q.id) == string(id[0].Value) })
		e.asksOther()
	}
}

// inputRequired returns the result that asks the host.
func inputRequired(questions []openQuestion, state string) []byte {
	b := []byte(`{"resultType":"input_required","inputRequests":`)
	b = appendQuestions(b, questions)
	return append(append(append(b, `,"requestState":`...), jsonx.Quote(state)...), '}')
}

func appendQuestions(b []byte, questions []openQuestion) []byte {
	b = append(b, '{')
	for i, q := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonx.Quote(q.key)...), `:{"method":`...)
		b = append(b, jsonx.Quote(q.method)...)
		params := q.params
		if params == nil {
			params = []byte(`{}`) // a server may omit them; hosts on the official Go SDK cannot read a question without
		}
		b = append(append(append(b, `,"params":`...), params...), '}')
	}
	return append(b, '}')
}

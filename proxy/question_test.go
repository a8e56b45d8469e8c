package proxy

import "testing"

// Every question has params, also where the server has left them out: the official Go SDK reads none without.
func TestQuestionsHaveParams(t *testing.T) {
	got := string(inputRequired([]openQuestion{
		{key: "question-1", method: "roots/list"},
		{key: "question-2", method: "sampling/createMessage", params: []byte(`{"maxTokens":1.0}`)},
	}, "sealed"))
	const want = `{"resultType":"input_required","inputRequests":{"question-1":{"method":"roots/list","params":{}},` +
		`"question-2":{"method":"sampling/createMessage","params":{"maxTokens":1.0}}},"requestState":"sealed"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

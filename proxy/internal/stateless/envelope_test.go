package stateless

import "testing"

// A server cannot ask the host with what it writes into its result, however that is spelled. It asks through callgate.
func TestResultsAskNothing(t *testing.T) {
	for _, all := range []struct{ result, want string }{
		{`{"content":[],"x":1.0}`, `{"content":[],"x":1.0}`},
		{`{"resultType":"complete","content":[]}`, `{"resultType":"complete","content":[]}`},
		{`{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"}},"requestState":"s","content":[]}`, `{"content":[]}`},
		{`{"content":[], "inputRequests" : {} , "resultType":"complete"}`, `{"content":[],  "resultType":"complete"}`},
		{`{"content":[],"requestState":"s"}`, `{"content":[]}`},
		{`{"re\u0073ultType":"task","taskId":"t"}`, `{"taskId":"t"}`},
		{`{"resultType":["complete"]}`, `{}`},
		{`{"resultType":"complete","resultType":"input_required"}`, ""},
		{`{"ResultType":"input_required"}`, ""},
		{`{"inputrequests":{}}`, ""},
		{`[]`, ""},
	} {
		got, err := completed([]byte(all.result))
		if (err != nil) != (all.want == "") || string(got) != all.want {
			t.Errorf("%s: %s, %v", all.result, got, err)
		}
	}
}

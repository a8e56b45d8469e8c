package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// The four APIs, each with a request that shows the tool and the results of the calls so far.
var apis = []struct {
	name, path, request string
	result              func(text string) string // one message of the request
	calls               string                   // pattern of a call of the tool
}{
	{
		"Anthropic", "/v1/messages", `{"model":"m","stream":true,"tools":[{"name":"mcp__callgate__features_echo"}],"messages":[{"role":"user","content":"go"}RESULTS]}`,
		func(text string) string {
			return `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"` + text + `"}]}]}`
		},
		`"name":"mcp__callgate__features_echo".*"type":"tool_use"(?s:.*)partial_json":"{\\"text\\":\\"WANT\\"}`,
	},
	{
		"Chat Completions", "/v1/chat/completions", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"features_echo"}}],"messages":[{"role":"user","content":"go"}RESULTS]}`,
		func(text string) string { return `,{"role":"tool","tool_call_id":"x","content":"` + text + `"}` },
		`"arguments":"{\\"text\\":\\"WANT\\"}","name":"features_echo"`,
	},
	{
		"Responses", "/v1/responses", `{"model":"m","stream":true,"tools":[{"type":"namespace","name":"mcp__callgate","tools":[{"name":"features_echo"}]}],"input":[{"type":"message"}RESULTS]}`,
		func(text string) string {
			return `,{"type":"function_call_output","call_id":"x","output":"` + text + `"}`
		},
		`"arguments":"{\\"text\\":\\"WANT\\"}".*"name":"features_echo","namespace":"mcp__callgate"`,
	},
	{
		"Gemini", "/v1beta/models/gemini:streamGenerateContent", `{"tools":[{"functionDeclarations":[{"name":"mcp_callgate_features_echo"}]}],"contents":[{"role":"user","parts":[{"text":"go"}]}RESULTS]}`,
		func(text string) string {
			return `,{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"` + text + `"}}}]}`
		},
		`"functionCall":{"args":{"text":"WANT"},"id":"call_\d","name":"mcp_callgate_features_echo"}`,
	},
}

// In every API, the model makes the calls of its script in order, repeats a pending one, and then says its last word.
func TestModelFollowsItsScript(t *testing.T) {
	const waits = "Approval call_1 is pending. " + pending + ", unchanged, once it is decided."
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			m := &model{script: []step{
				{tool: "echo", arguments: object{"text": "one"}}, {tool: "echo", arguments: object{"text": "two"}},
			}}
			server := httptest.NewServer(m)
			defer server.Close()
			said := func(results ...string) string {
				t.Helper()
				var messages strings.Builder
				for _, r := range results {
					messages.WriteString(api.result(r))
				}
				response, err := http.Post(server.URL+api.path, "application/json", strings.NewReader(strings.Replace(api.request, "RESULTS", messages.String(), 1)))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil || response.StatusCode != http.StatusOK {
					t.Fatalf("%s %v: %s", response.Status, err, body)
				}
				return string(body)
			}
			wants := func(got, want string) {
				t.Helper()
				pattern := strings.Replace(api.calls, "WANT", want, 1)
				if want == lastWord {
					pattern = regexp.QuoteMeta(lastWord)
				}
				if !regexp.MustCompile(pattern).MatchString(got) {
					t.Errorf("no %s in %s", pattern, got)
				}
			}
			wants(said(), "one")
			wants(said(waits), "one")
			wants(said(waits, "one"), "two")
			wants(said(waits, "one", "two"), lastWord)
			turns := m.shown()
			if len(turns) != 4 || len(turns[3].Results) != 3 || turns[3].Asked != "" || !strings.HasSuffix(turns[0].Asked, "features_echo") {
				t.Errorf("it remembers %+v", turns)
			}
		})
	}
}

// A host that shows no tools wants a title or the like, and gets no call.
func TestModelCallsNothingWithoutTools(t *testing.T) {
	m := &model{script: []step{{tool: "echo"}}, hidden: "mcp__callgate__features_"}
	if c := m.next(nil, nil); c.Name != "" {
		t.Errorf("it called %+v", c)
	}
	if c := m.next([]offer{{Name: "read_file"}}, nil); c.Name != "mcp__callgate__features_echo" {
		t.Errorf("it called %+v", c)
	}
}

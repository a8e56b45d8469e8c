package gate

import (
	"bufio"
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/permissions"
)

// saasLine is one line of testdata/saas.jsonl: a prompt of the user, which begins a session, or a call of that session
// with its made-up result.
type saasLine struct {
	Prompt    string         `json:"prompt,omitzero"`
	Server    string         `json:"server,omitzero"`
	Tool      string         `json:"tool,omitzero"`
	Arguments jsontext.Value `json:"arguments,omitzero"`
	Result    string         `json:"result,omitzero"`
}

// saasPackages names the packages by which callgate knows the servers of the day.
var saasPackages = map[string]string{
	"github": "@modelcontextprotocol/server-github", "slack": "@modelcontextprotocol/server-slack", "gmail": "@gongrzhe/server-gmail-autoauth-mcp",
	"linear": "mcp.linear.app", "notion": "@notionhq/notion-mcp-server", "sentry": "@sentry/mcp-server",
}

// In a day of harmless work with web services, GUIDED asks about at most one call in twenty.
func TestADayOfServices(t *testing.T) {
	text, err := os.Open("testdata/saas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var b *bench
	calls, asked, servers := 0, 0, map[string]bool{}
	for lines := bufio.NewScanner(text); lines.Scan(); {
		var l saasLine
		if err := json.Unmarshal(lines.Bytes(), &l, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if l.Prompt != "" {
			b = newBench(t, `{"*": "ask"}`, func(o *Options) { o.Autonomy = Guided })
			b.session.Prompt(l.Prompt)
			continue
		}
		tool := tools.Describe(tools.Server{Name: l.Server, Packages: []string{saasPackages[l.Server]}}, l.Tool, l.Server+"_"+l.Tool, nil)
		if !tool.Bound {
			t.Errorf("%s of %s is not labelled", l.Tool, l.Server)
		}
		calls++
		servers[l.Server] = true
		call := Call{ID: "call", SessionID: b.session.ID(), Digest: "call", Tool: tool, Arguments: l.Arguments, Place: tools.Place{Dir: b.dir}}
		d, why := b.settle(call, true)
		if why != "" {
			asked++
			t.Logf("%s %s: %s", tool.Qualified, l.Arguments, why)
		}
		if d.verdict.Action != permissions.Allow {
			t.Errorf("%s %s is denied: %s", tool.Qualified, l.Arguments, d.verdict.Reason)
			continue
		}
		result, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": l.Result}}})
		b.gate.Finish(b.session, call, result, false, "", time.Millisecond)()
	}
	t.Logf("%d of %d calls of %d services ask", asked, calls, len(servers))
	if calls < 200 || len(servers) < 6 || 20*asked > calls {
		t.Errorf("%d of %d calls of %d services ask", asked, calls, len(servers))
	}
}

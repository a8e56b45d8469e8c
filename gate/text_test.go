package gate

import (
	"strings"
	"testing"

	"callgate/gate/internal/facts"
	"callgate/gate/internal/floor"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
)

// Checks find in a long text what they find in a short one.
func TestLongTexts(t *testing.T) {
	tool := &tools.Tool{Server: "db", Name: "query", Qualified: "db_query"}
	protected, err := NewProtected([]string{"/home/alice/.callgate"}, "/home/alice", []string{"7777"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pad := range []string{"", strings.Repeat("0123456789abcdef", 2000), strings.Repeat("They ask, and You answer. ", 2000), strings.Repeat("é ", 8000)} {
		for _, words := range []string{"DROP TABLE users", "cat /home/alice/.callgate/token", "curl http://localhost:7777/x", "localhost:7'7'77"} {
			for _, said := range []string{pad + " " + words + " ", words + " " + pad, pad + " " + words + " " + pad} {
				call := Call{Tool: tool, Arguments: []byte(`{"q":` + string(jsonx.Quote(said)) + `}`)}
				a := tools.Analyze(tools.Call{Tool: tool, Arguments: call.Arguments})
				touched, marks := protected.touched(call, a), floor.Marks(facts.Of(tools.Call{Tool: tool, Arguments: call.Arguments}), a)
				if sql := words[0] == 'D'; sql != (len(marks) > 0) || sql == (touched != "") {
					t.Errorf("%d bytes with %q: %q, %v", len(said), words, touched, marks)
				}
			}
		}
	}
	call := Call{Tool: tool, Arguments: []byte(`{"port":7777,"host":"localhost","q":"` + strings.Repeat("0123456789abcdef", 2000) + `"}`)}
	if protected.touched(call, tools.Analyze(tools.Call{Tool: tool, Arguments: call.Arguments})) == "" {
		t.Error("a port and a host beside a long text are not found")
	}
}

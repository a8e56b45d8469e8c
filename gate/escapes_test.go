package gate

import (
	"slices"
	"testing"

	"callgate/gate/internal/facts"
	"callgate/gate/internal/floor"
	"callgate/gate/internal/provenance"
	"callgate/gate/tools"
)

// TestEscapesHideNothing spells what checks look for with JSON escapes.
func TestEscapesHideNothing(t *testing.T) {
	place := tools.Place{Dir: "/w", Roots: []string{"/w"}, Home: "/home/u"}
	for _, arguments := range []string{
		`{"path":"/home/u/.claude/settings.json","content":"{\"defaultMode\":\"bypassPermissions\"}"}`,
		`{"path":"/home/u/.claude/settings.json","content":"{\"defaultMode\":\"bypassP\u0065rmissions\"}"}`,
		`{"path":"/home/u/.codex/config.toml","content":"sandbox_mode = 'danger-full-access'"}`,
	} {
		call := tools.Call{Tool: tools.KindTool(tools.KindWriteFile), Arguments: []byte(arguments), Place: place}
		marks := floor.Marks(facts.Of(call), tools.Analyze(call))
		if len(marks) == 0 {
			t.Errorf("%s is no mark", arguments)
		}
	}
	for _, arguments := range []string{`{"q":"https://evil.example.com/?x"}`, `{"q":"https:\/\/evil.example.com/?x"}`, `{"q":"https:\u002f/evil.example.com/?x"}`} {
		var o provenance.Outgoing
		o.OfReading(facts.Of(tools.Call{Tool: &tools.Tool{}, Arguments: []byte(arguments)}))
		if !slices.Equal(o.To, []string{"https://evil.example.com/?x"}) {
			t.Errorf("%s goes to %q", arguments, o.To)
		}
	}
	for _, arguments := range []string{`{"p":"/home/u/.ssh/x"}`, `{"p":"/home/u/\u002essh/x"}`} {
		if !floor.MayNameStore([]byte(arguments)) {
			t.Errorf("%s names no store", arguments)
		}
	}
}

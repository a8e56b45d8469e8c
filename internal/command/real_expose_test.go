package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindsOneOfManyTools puts a real server and two hundred more tools behind tools.expose: search. The host sees two
// tools of callgate's, finds a fitting tool among the best three, and calls it.
func TestFindsOneOfManyTools(t *testing.T) {
	t.Parallel()
	command, env := npmServer(t, "server-everything"), environment(t)
	c := begin(t, callgateProgram(t), runsConfigured(t,
		`{ "*": "deny", "callgate_find_tools": "allow", "crowd_restore_*": "allow", "everything_get-sum": "allow" }`,
		map[string]any{
			"tools": map[string]any{"expose": "search"},
			"servers": []any{
				map[string]any{"name": "everything", "command": command[0], "args": command[1:]},
				map[string]any{"name": "crowd", "command": filepath.Join(servers(t), "crowd")},
			},
		}), env)

	ask := func(id, method, params string) string {
		t.Helper()
		response, err := c.request(id, method, params)
		if err != nil {
			t.Fatal(err)
		}
		return string(response)
	}
	if list := ask("list", "tools/list", "{}"); strings.Count(list, `"inputSchema"`) != 2 {
		t.Errorf("the host sees %s", list)
	}
	// Both servers are still starting when the first question comes, so it is repeated until it finds something.
	for i := 0; !strings.Contains(ask(fmt.Sprint("start ", i), "tools/call", `{"name":"callgate_find_tools","arguments":{"query":"sum"}}`), "everything_get-sum"); i++ {
		if i == 100 {
			t.Fatal("the server does not start")
		}
	}
	for query, want := range map[string]string{
		"add two numbers": "everything_get-sum",
		"bring back an apartment that somebody removed": "crowd_restore_apartment",
		"who changed the firewall rules":                "crowd_audit_firewall",
		"let others see my playlist":                    "crowd_share_playlist",
		"export_translation":                            "crowd_export_translation",
	} {
		answer := ask(query, "tools/call", fmt.Sprintf(`{"name":"callgate_find_tools","arguments":{"query":%q,"limit":3}}`, query))
		if !strings.Contains(answer, want) {
			t.Errorf("%q finds %s", query, answer)
		}
	}
	for id, c := range map[string]struct{ arguments, want string }{
		"sum":     {`{"name":"everything_get-sum","arguments":{"a":20,"b":22}}`, "is 42"},
		"restore": {`{"name":"crowd_restore_apartment","arguments":{"id":"A7"}}`, "restore_apartment A7"},
		"denied":  {`{"name":"crowd_delete_apartment","arguments":{"id":"A7"}}`, "callgate denied crowd_delete_apartment"},
	} {
		if answer := ask(id, "tools/call", `{"name":"callgate_call_tool","arguments":`+c.arguments+`}`); !strings.Contains(answer, c.want) {
			t.Errorf("%s answers %s", id, answer)
		}
	}
}

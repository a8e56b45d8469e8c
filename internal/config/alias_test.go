package config

import (
	"strings"
	"testing"
)

// A server's name says which program it is, even if an interpreter runs it.
func TestAliasOf(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem@2026.8.31 .": "filesystem",
		"python3 /srv/notes.py":              "notes",
		"python3 -u /srv/mail/server.py":     "mail",
		"python -m mcp_server_git":           "git",
		"node /srv/notes/dist/index.js":      "notes",
		"node --import x /srv/a/main.mjs":    "a",
		"uv run /srv/weather/server.py":      "weather",
		"uv --directory /srv run a.py":       "a",
		"deno run -A /srv/b.ts":              "b",
		"npx tsx /srv/mcp-tickets/server.ts": "tickets",
		"bash /srv/run.sh":                   "srv",
		"java -jar /srv/x.jar":               "x",
		"python3":                            "python3",
		"/usr/local/bin/notes-mcp":           "notes",
	} {
		words := strings.Fields(command)
		if got := AliasOf(words[0], words[1:]); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

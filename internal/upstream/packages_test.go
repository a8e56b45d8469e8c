package upstream

import (
	"strings"
	"testing"
)

var packageCases = []struct{ name, command, want string }{
	{"npx", "npx -y @modelcontextprotocol/server-filesystem /data", "@modelcontextprotocol/server-filesystem"},
	{"npx with a version", "npx -y @scope/name@1.2.3 --flag", "@scope/name"},
	{"npx with a range", "npx name@^1.2", "name"},
	{"npx by path", "/opt/node/bin/npx --yes name", "name"},
	{"npx on Windows", `C:\node\npx.cmd -y name`, "name"},
	{"npx behind cmd", "cmd /c npx -y @scope/name", "@scope/name"},
	{"npx with the package named", "npx -y --package=@scope/name -y tool arg", "@scope/name"},
	{"npx with two packages", "npx -p @scope/name -p other tool", ""},
	{"npx end of options", "npx -y -- name", "name"},
	{"npx from another registry", "npx --registry https://example.com @scope/name", ""},
	{"npx shell text", "npx -c name", ""},
	{"npx alias is what it stands for, or nothing", "npx -y name@npm:evil", ""},
	{"npx address", "npx -y @scope/name@https://example.com/x.tgz", ""},
	{"npx repository", "npx -y github:user/name", ""},
	{"npx folder", "npx -y ./name", ""},
	{"npx nothing", "npx -y", ""},
	{"bridge", "npx -y mcp-remote https://mcp.example.com/sse --header X:y", "mcp-remote mcp.example.com"},
	{"bridge with a version", "npx mcp-remote@latest https://mcp.example.com/sse", "mcp-remote mcp.example.com"},
	{"bridge to what is behind an option", "npx mcp-remote --x https://mcp.example.com/sse", "mcp-remote"},
	{"bridge without TLS", "npx mcp-remote http://mcp.example.com/sse", "mcp-remote"},
	{"no bridge", "npx mcp-remote-x https://mcp.example.com/sse", "mcp-remote-x"},
	{"npm exec", "npm exec -y -- @scope/name", "@scope/name"},
	{"npm start", "npm start", ""},
	{"pnpm dlx", "pnpm dlx name", "name"},
	{"bun x", "bun x name@latest", "name"},
	{"node", "node /srv/node_modules/@scope/name/dist/index.js /data", "@scope/name"},
	{"node, nested", "node a/node_modules/x/node_modules/y/i.js", "y"},
	{"node with options", "node --no-warnings --max-old-space-size=4096 node_modules/name/i.js", "name"},
	{"node leaves the package", "node node_modules/@scope/name/../../evil.js", ""},
	{"node own script", "node server.js", ""},
	{"node with a preload", "node --require ./x.js node_modules/name/i.js", ""},
	{"node code", "node -e 1", ""},
	{"folder that only ends like node_modules", "node my_node_modules/name/i.js", ""},
	{"binary of a package", "/srv/node_modules/.bin/mcp-server-filesystem /data", "mcp-server-filesystem"},
	{"deno", "deno run -A --allow-read=/x npm:@scope/name@1", "@scope/name"},
	{"deno file", "deno run -A main.ts", ""},
	{"uvx", "uvx mcp-server-git --repository /r", "mcp-server-git"},
	{"uvx spelled otherwise", "uvx MCP_Server.Git==1.0", "mcp-server-git"},
	{"uvx with extras", "uvx name[cli]@2.0", "name"},
	{"uvx from", "uvx --from mcp-server-git tool", "mcp-server-git"},
	{"uvx from a repository", "uvx --from git+https://example.com/x tool", ""},
	{"uvx other index", "uvx --index-url https://example.com name", ""},
	{"uv tool run", "uv tool run --python 3.12 name", "name"},
	{"uv run", "uv run server.py", ""},
	{"pipx", "pipx run name", "name"},
	{"python module", "python3.11 -u -m mcp_server_git --repository /r", "mcp-server-git"},
	{"python script", "python3 server.py", ""},
	{"docker", "docker run -i --rm -e TOKEN -v /a:/b ghcr.io/github/github-mcp-server:1.0 stdio", "ghcr.io/github/github-mcp-server"},
	{"docker other program", "docker run -i --entrypoint sh mcp/git", ""},
	{"podman", "podman run -i --rm mcp/git@sha256:00ff", "mcp/git"},
	{"binary", "/usr/local/bin/github-mcp-server stdio", "github-mcp-server"},
	{"binary on Windows", `C:\tools\Server.EXE`, "Server"},
	{"shell", "bash -c npx", ""},
	{"nothing", "", ""},
}

func split(command string) (string, []string) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

func TestPackages(t *testing.T) {
	t.Parallel()
	for _, c := range packageCases {
		t.Run(c.name, func(t *testing.T) {
			command, args := split(c.command)
			if got := strings.Join(Packages(command, args, ""), " "); got != c.want {
				t.Errorf("Packages(%q) = %q, want %q", c.command, got, c.want)
			}
		})
	}
}

func TestPackagesOfAnAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://API.example.com:8443/mcp/":   "api.example.com",
		"https://user@example.com@evil.test/": "evil.test",
		"not an address":                      "",
		"://":                                 "",
	} {
		if got := strings.Join(Packages("", nil, address), " "); got != want {
			t.Errorf("Packages of %q = %q, want %q", address, got, want)
		}
	}
}

func FuzzPackages(f *testing.F) {
	for _, c := range packageCases {
		f.Add(c.command)
	}
	f.Fuzz(func(t *testing.T, text string) {
		command, args := split(text)
		for _, name := range Packages(command, args, "") {
			if name == "" || !strings.Contains(flat(text), flat(name)) {
				t.Errorf("Packages(%q) = %q, which it does not name", text, name)
			}
		}
	})
}

// flat spells names alike that a package index treats as the same.
func flat(s string) string { return strings.ToLower(pythonDash.ReplaceAllString(slashed(s), "-")) }

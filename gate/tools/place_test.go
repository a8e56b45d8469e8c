package tools

import (
	"runtime"
	"slices"
	"testing"

	"callgate/gate/tools/workspace"
)

func TestProtectedPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table is in Unix paths")
	}
	const home = "/home/u"
	for path, want := range map[string]string{
		"/ws/main.go":                               "",
		"/ws/git/x":                                 "",
		"/ws/.gitignore":                            "",
		"/ws/.github/workflows/ci.yml":              "",
		"/ws/bin/x":                                 "",
		"/ws/docs/claude.md.bak":                    "",
		"/ws/.mcp.json":                             "host-config",
		"/ws/.MCP.json":                             "host-config",
		"/ws/.cursor/mcp.json":                      "host-config",
		"/ws/.vscode/settings.json":                 "host-config",
		"/ws/.claude/settings.local.json":           "host-config",
		"/ws/.claude":                               "host-config",
		"/home/u/.claude.json":                      "host-config",
		"/ws/callgate.yaml":                         "host-config",
		"/ws/sub/CLAUDE.md":                         "agent-file",
		"/ws/.callgateignore":                       "search-list",
		"/ws/AGENTS.md":                             "agent-file",
		"/ws/.roomodes":                             "agent-file",
		"/ws/AGENTS.override.md":                    "agent-file",
		"/ws/.agent/rules/a.md":                     "agent-file",
		"/ws/.rules":                                "agent-file",
		"/ws/rules/a":                               "",
		"/ws/.amp/settings.json":                    "host-config",
		"/ws/testdata/x/HEAD":                       "git-folder",
		"/ws/headers/x":                             "",
		"/ws/components/head/index.ts":              "",
		"/ws/.junie/guidelines.md":                  "host-config",
		"/ws/.trae/rules/a.md":                      "host-config",
		"/home/u/.kimi/mcp.json":                    "host-config",
		"/home/u/.config/crush/crushrc":             "host-config",
		"/ws/.nvim.lua":                             "start-up-file",
		"/ws/lisp/.dir-locals.el":                   "start-up-file",
		"/ws/.github/copilot-instructions.md":       "agent-file",
		"/home/u/.bashrc":                           "start-up-file",
		"/ws/.envrc":                                "start-up-file",
		"/etc/profile.d/x.sh":                       "start-up-file",
		"/ws/etc/profile":                           "",
		"/home/u/.config/fish/config.fish":          "start-up-file",
		"/ws/.git/hooks/pre-commit":                 "git-folder",
		"/ws/.git":                                  "git-folder",
		"/ws/.git./hooks/x":                         "git-folder",
		"/ws/.git::$INDEX_ALLOCATION/hooks/x":       "git-folder",
		"/ws/.g\u200cit/hooks/x":                    "git-folder",
		"/ws/GIT~1/hooks/x":                         "git-folder",
		"/ws/.husky/pre-commit":                     "git-folder",
		"/home/u/.ssh/authorized_keys":              "ssh-folder",
		"/home/u/.config/autostart/x.desktop":       "autostart",
		"/home/u/Library/LaunchAgents/x.plist":      "autostart",
		"/etc/cron.d/x":                             "autostart",
		"/home/u/.config/systemd/user/x.service":    "autostart",
		"/home/u/Start Menu/Programs/Startup/x.cmd": "autostart",
		"/home/u/bin/git":                           "program-folder",
		"/home/u/.local/bin/git":                    "program-folder",
		"/usr/local/bin/git":                        "program-folder",
		"/home/u/.config/other":                     "",
		"/home/u/.config/Code/User/settings.json":   "host-config",
		"/home/u/.config/Cursor/User/tasks.json":    "host-config",
		"/ws/code/user/settings.json":               "",
		"/Users/u/Library/Application Support/Code - Insiders/User/settings.json": "host-config",
		"/home/u/.shrc":                                 "start-up-file",
		"/usr/local/share/ca-certificates/x.crt":        "system-file",
		"/etc/rsyslog.d/x.conf":                         "system-file",
		"/etc/update-motd.d/00-x":                       "autostart",
		"/usr/local/etc/rc.d/x":                         "autostart",
		"/Library/StartupItems/x":                       "autostart",
		"/var/log/auth.log":                             "system-file",
		"/var/log/app.log":                              "",
		"/etc/nginx/nginx.conf":                         "",
		"/home/u/.cargo/config.toml":                    "start-up-file",
		"/ws/Cargo.toml":                                "",
		"/home/u/.gradle/init.gradle":                   "start-up-file",
		"/home/u/.gradle/gradle.properties":             "start-up-file",
		"/ws/gradle.properties":                         "",
		"/home/u/.m2/settings.xml":                      "start-up-file",
		"/home/u/.ipython/profile_default/startup/x.py": "start-up-file",
		"/ws/.venv/lib/python3.12/site-packages/x.pth":  "start-up-file",
		"/ws/model.pth":                                 "",
		"/home/u/.config/sway/config":                   "start-up-file",
		"/home/u/.config/i3/config":                     "start-up-file",
		"/home/u/.config/hypr/hyprland.conf":            "start-up-file",
		"/home/u/.config/kitty/kitty.conf":              "start-up-file",
		"/home/u/.tmux.conf":                            "start-up-file",
		"/ws/mise.toml":                                 "start-up-file",
		"/home/u/.docker/config.json":                   "credential-file",
		"/ws/.docker/Dockerfile":                        "",
		"/home/u/.kube/config":                          "credential-file",
		"/home/u/.aws/credentials":                      "credential-file",
		"/home/u/.netrc":                                "credential-file",
		"/ws/.env":                                      "", // projects have their own, and the shipped rules deny them
		"/ws/testdata/id_rsa":                           "",
		"/ws/node_modules/.bin/tsc":                     "program-folder",
		"/ws/node_modules/x/index.js":                   "",
		"/home/u/.nvm/versions/node/v22/bin/node":       "program-folder",
	} {
		got := ""
		if p := workspace.MatchPlace(path, home); p != nil {
			got = p.Code
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A protected place needs a person for writing, whichever way the write takes, but not for reading.
func TestWritesToProtectedPlacesAreMarked(t *testing.T) {
	p := project(t, map[string]string{".git/config": "x", "CLAUDE.md": "x", "notes": "-> .git", "x.txt": "x"})
	filesystem := Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	for _, c := range []struct {
		name string
		a    *Analysis
		want string
	}{
		{"write", analyze(t, KindWriteFile, p, "path", ".git/hooks/x", "content", ""), "git-folder"},
		{"edit", analyze(t, KindEditFile, p, "path", "CLAUDE.md"), "agent-file"},
		{"delete", analyze(t, KindDeleteFile, p, "path", "CLAUDE.md"), "agent-file"},
		{"through a link", analyze(t, KindWriteFile, p, "path", "notes/hooks/x"), "git-folder"},
		{"in capitals", analyze(t, KindWriteFile, p, "path", ".GIT/hooks/x"), "git-folder"},
		{"percent", analyze(t, KindWriteFile, p, "path", "%2egit/hooks/x"), "git-folder"},
		{"with .. ", analyze(t, KindWriteFile, p, "path", "src/../.git/config"), "git-folder"},
		{"home", analyze(t, KindWriteFile, p, "path", "~/.ssh/authorized_keys"), "ssh-folder"},
		{"move to", Analyze(Call{Tool: Describe(filesystem, "move_file", "fs_move_file", nil), Place: p,
			Arguments: object(t, "source", "x.txt", "destination", ".git/hooks/pre-commit")}), "git-folder"},
		{"redirect", analyze(t, KindShell, p, "command", "echo x >> ~/.bashrc"), "start-up-file"},
		{"tee", analyze(t, KindShell, p, "command", "echo x | tee .git/hooks/pre-commit"), "git-folder"},
		{"a tool nobody knows", Analyze(Call{Tool: Describe(Server{}, "do_thing", "x_do_thing", nil), Place: p,
			Arguments: object(t, "to", ".mcp.json")}), "host-config"},
	} {
		if !slices.Contains(codes(c.a), c.want) {
			t.Errorf("%s: marks %v, want %s", c.name, c.a.Marks, c.want)
		}
		if len(Offers(Call{Tool: KindTool(KindWriteFile), Place: p}, c.a)) > 0 {
			t.Errorf("%s: a marked call has offers", c.name)
		}
	}
	for _, a := range []*Analysis{
		analyze(t, KindReadFile, p, "path", "CLAUDE.md"),
		analyze(t, KindReadFile, p, "path", ".git/config"),
		analyze(t, KindWriteFile, p, "path", "src/main.go"),
		analyze(t, KindShell, p, "command", "cat CLAUDE.md"),
	} {
		if len(a.Marks) > 0 {
			t.Errorf("%s: marks %v", a.Summary, a.Marks)
		}
	}
}

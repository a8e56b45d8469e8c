package hosthooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ManagedFile is what an administrator puts on machines so that neither users nor agents can take callgate out of a host.
type ManagedFile struct {
	Host string `json:"host"`
	Path string `json:"path"` // where the host looks for it
	Text string `json:"-"`
	Note string `json:"note"` // what it enforces, and what it does not
}

// managedFolders are where hosts look for what administrators say, by system.
var managedFolders = map[string]map[string]string{
	"claude": {"linux": "/etc/claude-code", "darwin": "/Library/Application Support/ClaudeCode", "windows": "C:/Program Files/ClaudeCode"},
	"codex":  {"linux": "/etc/codex", "darwin": "/etc/codex", "windows": "C:/ProgramData/OpenAI/Codex"},
	"vscode": {"linux": "/etc/vscode"},
}

// Managed returns the files for the hosts (all for none) of a system. program is where callgate is on the machines. Nothing
// in them names a user's folder.
func Managed(hosts []string, system, program string) ([]ManagedFile, error) {
	all := []struct {
		id    string
		files func(folder, program string) ([]ManagedFile, error)
	}{{"claude", managedClaude}, {"codex", managedCodex}, {"vscode", managedVSCode}}
	var out []ManagedFile
	for _, one := range all {
		if len(hosts) > 0 && !slices.Contains(hosts, one.id) {
			continue
		}
		folder, ok := managedFolders[one.id][system]
		if !ok {
			continue
		}
		files, err := one.files(folder, program)
		if err != nil {
			return nil, err
		}
		for i := range files {
			files[i].Host = one.id
		}
		out = append(out, files...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no managed settings are known of these hosts on %s: use claude, codex or vscode", system)
	}
	return out, nil
}

func managedClaude(folder, program string) ([]ManagedFile, error) {
	d := Dialects()["claude"]
	events := ordered{}
	for _, name := range slices.Sorted(maps.Keys(d.Events)) {
		events = append(events, member{name, []json.RawMessage{json.RawMessage(d.hookEvent(d.Install[0], name, program, nil).Text)}})
	}
	settings, err := json.MarshalIndent(ordered{
		{"allowManagedHooksOnly", true},
		{"permissions", ordered{{"disableBypassPermissionsMode", "disable"}, {"allow", []string{"mcp__callgate"}}}},
		{"hooks", events},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	servers, err := json.MarshalIndent(ordered{{"mcpServers", ordered{{"callgate", ordered{{"command", program}, {"args", []string{"run"}}}}}}}, "", "  ")
	if err != nil {
		return nil, err
	}
	return []ManagedFile{
		{Path: folder + "/managed-settings.json", Text: string(settings) + "\n", Note: "Claude Code runs these hooks and no others, and nobody can switch them or its permissions off."},
		{Path: folder + "/managed-mcp.json", Text: string(servers) + "\n", Note: "Claude Code starts callgate and no other MCP server; people list theirs under servers in callgate.yaml."},
	}, nil
}

func managedCodex(folder, program string) ([]ManagedFile, error) {
	d := Dialects()["codex"]
	var b strings.Builder
	b.WriteString("# Codex: callgate's hooks run, no others do, and no MCP server but callgate starts.\nallow_managed_hooks_only = true\n\n[features]\nhooks = true\n\n[mcp_servers.callgate.identity]\n")
	fmt.Fprintf(&b, "command = %s\n\n[hooks]\nmanaged_dir = %s\n", tomlString(program), tomlString(folder))
	for _, name := range slices.Sorted(maps.Keys(d.Events)) {
		if d.Events[name].Role == Failed { // Codex has no such event
			continue
		}
		fmt.Fprintf(&b, "\n[[hooks.%s]]\n", name)
		switch d.Events[name].Role {
		case Before, Permission, After:
			b.WriteString("matcher = \"*\"\n")
		}
		fmt.Fprintf(&b, "[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n", name, tomlString(quote(program)+" hook codex"), int(d.Limit.Seconds()))
	}
	return []ManagedFile{{Path: folder + "/requirements.toml", Text: b.String(), Note: "Codex runs these hooks without asking for trust and no others, and starts no MCP server but callgate."}}, nil
}

func managedVSCode(folder, _ string) ([]ManagedFile, error) {
	text, err := json.MarshalIndent(ordered{{"ChatToolsAutoApprove", false}}, "", "  ")
	if err != nil {
		return nil, err
	}
	return []ManagedFile{{Path: folder + "/policy.json", Text: string(text) + "\n", Note: "VS Code cannot be told to run every tool unasked. It has no hooks: its own tools are not gated."}}, nil
}

// tomlString is a basic string of TOML: what JSON escapes, TOML reads.
func tomlString(s string) string {
	text, _ := json.Marshal(s) // strings always can
	return string(text)
}

package hosthooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ManagedFile is a file that an administrator installs so that users and agents cannot remove callgate from a host.
type ManagedFile struct {
	Host string `json:"host"`
	Path string `json:"path"` // where the host looks for it
	Text string `json:"-"`
	Note string `json:"note"` // what it enforces and what it does not
}

// managedFolders lists the folders for administrators' settings, by host and operating system.
var managedFolders = map[string]map[string]string{
	"claude": {"linux": "/etc/claude-code", "darwin": "/Library/Application Support/ClaudeCode", "windows": "C:/Program Files/ClaudeCode"},
	"codex":  {"linux": "/etc/codex", "darwin": "/etc/codex", "windows": "C:/ProgramData/OpenAI/Codex"},
	"vscode": {"linux": "/etc/vscode", "darwin": "/Library/Managed Preferences", "windows": "C:/ProgramData/callgate"},
}

// Managed returns the files for hosts (all if none are named) on an operating system. program is the path of callgate
// on the machines. The files name no user's folder.
func Managed(hosts []string, system, program string) ([]ManagedFile, error) {
	all := []struct {
		id    string
		files func(system, folder, program string) ([]ManagedFile, error)
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
		files, err := one.files(system, folder, program)
		if err != nil {
			return nil, err
		}
		for i := range files {
			files[i].Host = one.id
		}
		out = append(out, files...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("callgate knows no managed settings for these hosts on %s: use claude, codex or vscode", system)
	}
	return out, nil
}

func managedClaude(_, folder, program string) ([]ManagedFile, error) {
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

func managedCodex(_, folder, program string) ([]ManagedFile, error) {
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

// managedVSCode forbids VS Code to run every tool without asking. No policy can enforce its hooks.
func managedVSCode(system, folder, _ string) ([]ManagedFile, error) {
	const policy = "ChatToolsAutoApprove"
	f := ManagedFile{Note: "Users cannot tell VS Code to run every tool without asking. Its built-in tools are not gated."}
	switch system {
	case "darwin":
		f.Path, f.Note = folder+"/com.microsoft.VSCode.plist", f.Note+" Roll it out in a configuration profile."
		f.Text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>` + policy + `</key><false/></dict></plist>
`
	case "windows":
		f.Path, f.Note = folder+"/vscode-policies.reg", f.Note+" Import it, or set the value by Group Policy."
		f.Text = "Windows Registry Editor Version 5.00\r\n\r\n[HKEY_LOCAL_MACHINE\\SOFTWARE\\Policies\\Microsoft\\VSCode]\r\n\"" + policy + "\"=dword:00000000\r\n"
	default:
		text, err := json.MarshalIndent(ordered{{policy, false}}, "", "  ")
		if err != nil {
			return nil, err
		}
		f.Path, f.Text = folder+"/policy.json", string(text)+"\n"
	}
	return []ManagedFile{f}, nil
}

// tomlString writes a TOML basic string. TOML accepts JSON's escapes.
func tomlString(s string) string {
	text, _ := json.Marshal(s) // strings always can
	return string(text)
}

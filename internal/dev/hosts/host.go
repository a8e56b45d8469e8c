package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// host is an LLM host as a command that works through one prompt without a person.
type host struct {
	name    string
	id      string // for callgate connect
	program string // on the PATH; prints its version with --version
	hidden  string // prefix of the tools that models call without having been shown them; "" if they are shown
	secret  string // how its configuration refers to the token in tokenVariable; "" if it only takes the token itself
	eras    bool   // it speaks 2026-07-28, and 2025-11-25 if that is refused

	// configure writes the host's files and returns its command and its variables. The run says what model and which
	// callgate to use.
	configure func(r *run) (command, env []string, err error)
}

// entry is the name of callgate in every host's configuration.
const entry = "callgate"

// called returns the name of the MCP server in the host's configuration.
func (r *run) called() string {
	if r.tools {
		return alias
	}
	return entry
}

const prompt = "Run the script"

// tokenVariable is the variable with callgate's token, for hosts that need not have the token in their files.
const tokenVariable = "CALLGATE_MCP_TOKEN"

var hosts = []host{
	{name: "Claude Code", id: "claude", program: "claude", secret: "${" + tokenVariable + "}", eras: true, configure: claude},
	{name: "Copilot CLI", id: "copilot", program: "copilot", secret: "${" + tokenVariable + "}", eras: true, configure: copilot},
	{name: "opencode", id: "opencode", program: "opencode", secret: "{env:" + tokenVariable + "}", configure: opencode},
	{name: "Qwen Code", id: "qwen", program: "qwen", secret: "$" + tokenVariable, hidden: "mcp__" + entry + "__" + alias + "_", configure: qwen},
	{name: "Codex", id: "codex", program: "codex", configure: codex},
	{name: "Gemini CLI", id: "gemini", program: "gemini", secret: "$" + tokenVariable, configure: gemini},
	{name: "Cline", id: "cline", program: "cline", configure: cline},
	{name: "Continue", id: "continue", program: "cn", secret: "${{ secrets." + tokenVariable + " }}", configure: continued},
}

// silent turns off telemetry, updates and the search for models, as far as hosts have variables for that.
var silent = []string{
	"DO_NOT_TRACK=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1",
	"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "GEMINI_TELEMETRY_ENABLED=false", "QWEN_TELEMETRY_ENABLED=false",
	"CONTINUE_TELEMETRY_ENABLED=0", "CLINE_TELEMETRY_DISABLED=1",
}

// door returns callgate's entry for most hosts: a command, with the members of local, or an address in the named
// member, with the members of remote.
func (r *run) door(address string, local, remote object) object {
	if r.url == "" {
		return merge(object{"command": r.command[0], "args": r.command[1:]}, local)
	}
	return merge(object{address: r.url, "headers": object{"Authorization": "Bearer " + r.secret}}, remote)
}

func merge(a, b object) object {
	for name, value := range b {
		a[name] = value
	}
	return a
}

// limited returns the timeout member in units, if the run has a limit.
func (r *run) limited(unit time.Duration) object {
	if r.limit == 0 {
		return object{}
	}
	return object{"timeout": int(r.limit / unit)}
}

// write writes a file into the run's folder, which is the host's home and working folder. A string is written as it is,
// anything else as JSON.
func (r *run) write(name string, content any) error {
	text, ok := content.(string)
	if !ok {
		whole, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return err
		}
		text = string(whole)
	}
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// accepting is a hook that accepts every elicitation in place of a person: Claude Code asks its hooks first.
const accepting = `echo '{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"name":"` + answeredName + `"}}}'`

func claude(r *run) (command, env []string, err error) {
	door := r.door("url", nil, object{"type": "http"})
	command = []string{"claude", "-p", prompt, "--output-format", "json", "--model", "claude-sonnet-4-5"}
	if r.tools {
		err = r.write(".claude.json", object{"mcpServers": object{alias: merge(object{"type": "stdio"}, door)}})
		if err == nil {
			err = r.write(".claude/settings.json", object{"skipWebFetchPreflight": true})
		}
		return command, claudeModel(r), err
	}
	command = append(command, "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__"+entry)
	if err := r.write("mcp.json", object{"mcpServers": object{entry: door}}); err != nil {
		return nil, nil, err
	}
	hook := object{"hooks": object{"Elicitation": []any{object{"hooks": []any{object{"type": "command", "command": accepting}}}}}}
	if err := r.write(".claude/settings.json", hook); err != nil {
		return nil, nil, err
	}
	env = claudeModel(r)
	if r.limit > 0 {
		env = append(env, fmt.Sprintf("MCP_TOOL_TIMEOUT=%d", r.limit.Milliseconds()))
	}
	return command, env, nil
}

func claudeModel(r *run) []string {
	return []string{"ENABLE_TOOL_SEARCH=false", "ANTHROPIC_BASE_URL=" + r.modelURL, "ANTHROPIC_API_KEY=none"}
}

func copilot(r *run) (command, env []string, err error) {
	door := r.door("url", object{"type": "local", "tools": []string{"*"}}, object{"type": "http", "tools": []string{"*"}})
	file, more := "mcp.json", []string{"--additional-mcp-config", "@mcp.json"}
	if r.tools {
		file, more = ".copilot/mcp-config.json", nil
	}
	err = r.write(file, object{"mcpServers": object{r.called(): merge(door, r.limited(time.Millisecond))}})
	env = []string{"COPILOT_PROVIDER_BASE_URL=" + r.modelURL + "/v1", "COPILOT_MODEL=" + modelName, "COPILOT_PROVIDER_API_KEY=none"}
	return append([]string{"copilot", "-p", prompt, "--allow-all-tools", "--disable-builtin-mcps", "--no-color"}, more...), env, err
}

func opencode(r *run) (command, env []string, err error) {
	door := object{"type": "local", "command": r.command, "enabled": true}
	if r.url != "" {
		door = r.door("url", nil, object{"type": "remote", "oauth": false, "enabled": true})
	}
	file := "opencode.json"
	if r.tools {
		file = ".config/opencode/opencode.json"
	}
	err = r.write(file, object{
		"autoupdate": false, "share": "disabled", "model": "scripted/" + modelName, "small_model": "scripted/" + modelName,
		"provider": object{"scripted": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": object{"baseURL": r.modelURL + "/v1", "apiKey": "none"},
			"models": object{modelName: object{"name": "Scripted", "tool_call": true}},
		}},
		"mcp": object{r.called(): merge(door, r.limited(time.Millisecond))},
	})
	return []string{"opencode", "run", "--format", "json", prompt}, nil, err
}

func qwen(r *run) (command, env []string, err error) {
	err = r.geminiSettings(".qwen/settings.json", "openai")
	env = []string{"OPENAI_BASE_URL=" + r.modelURL + "/v1", "OPENAI_API_KEY=none", "OPENAI_MODEL=" + modelName, "QWEN_CODE_SUPPRESS_YOLO_WARNING=1"}
	return []string{"qwen", "-p", prompt, "--yolo", "--output-format", "text"}, env, err
}

func gemini(r *run) (command, env []string, err error) {
	err = r.geminiSettings(".gemini/settings.json", "gemini-api-key")
	env = []string{"GOOGLE_GEMINI_BASE_URL=" + r.modelURL, "GEMINI_API_KEY=none"}
	return []string{"gemini", "-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"}, env, err
}

// geminiSettings writes the settings of Gemini CLI or of a host derived from it.
func (r *run) geminiSettings(name, auth string) error {
	door := r.door("httpUrl", object{"trust": true}, object{"trust": true})
	return r.write(name, object{
		"general":    object{"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false},
		"privacy":    object{"usageStatisticsEnabled": false},
		"telemetry":  object{"enabled": false},
		"security":   object{"auth": object{"selectedType": auth}, "folderTrust": object{"enabled": false}},
		"mcpServers": object{r.called(): merge(door, r.limited(time.Millisecond))},
	})
}

func codex(r *run) (command, env []string, err error) {
	door := fmt.Sprintf("url = %q\nbearer_token_env_var = %q", r.url, tokenVariable)
	if r.url == "" {
		var arguments []string
		for _, a := range r.command[1:] {
			arguments = append(arguments, fmt.Sprintf("%q", a))
		}
		door = fmt.Sprintf("command = %q\nargs = [%s]", r.command[0], strings.Join(arguments, ", "))
	}
	if r.limit > 0 {
		door += fmt.Sprintf("\ntool_timeout_sec = %d", int(r.limit.Seconds()))
	}
	model := modelName
	if r.tools {
		model = "gpt-5.5" // a model for which Codex has all its tools
	}
	err = r.write(".codex/config.toml", fmt.Sprintf(`model = %q
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = %q
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[mcp_servers.%s]
%s
`, model, r.modelURL+"/v1", r.called(), door))
	env = []string{"CODEX_HOME=" + filepath.Join(r.dir, ".codex"), "SCRIPTED_KEY=none"}
	command = []string{"codex", "exec", "--skip-git-repo-check", "--json", prompt}
	if r.tools { // in place of a person who trusts callgate's hooks
		command = append(command, "--dangerously-bypass-hook-trust")
	}
	return command, env, err
}

func cline(r *run) (command, env []string, err error) {
	trusting := object{"disabled": false, "autoApprove": []string{"*"}}
	door := r.door("url", trusting, merge(object{"type": "streamableHttp"}, trusting))
	if err := r.first("cline", "auth", "-p", "openai", "-k", "none", "-m", modelName, "-b", r.modelURL+"/v1"); err != nil {
		return nil, nil, err
	}
	err = r.write(".cline/data/settings/cline_mcp_settings.json", object{"mcpServers": object{r.called(): merge(door, r.limited(time.Second))}})
	return []string{"cline", "--json", prompt}, nil, err
}

func continued(r *run) (command, env []string, err error) {
	door := r.door("url", object{"name": r.called()}, object{"name": r.called(), "type": "streamable-http"})
	if headers := door["headers"]; headers != nil {
		door["requestOptions"] = object{"headers": headers}
		delete(door, "headers")
	}
	file := "config.yaml"
	if r.tools {
		file = ".continue/config.yaml"
	}
	text, err := yaml.Marshal(object{
		"name": "scripted", "version": "1.0.0", "schema": "v1",
		"models": []any{object{
			"name": "Scripted", "provider": "openai", "model": modelName, "apiBase": r.modelURL + "/v1", "apiKey": "none",
			"roles": []string{"chat"}, "capabilities": []string{"tool_use"},
		}},
		"mcpServers": []any{merge(door, r.limited(time.Millisecond))},
	})
	if err == nil {
		err = r.write(file, string(text))
	}
	return []string{"cn", "-p", prompt, "--config", filepath.Join(r.dir, file), "--auto"}, nil, err
}

package main

import "path/filepath"

// kit describes how a model uses a host's built-in tools. A tool that the host does not have is nil.
type kit struct {
	shell func(r *toolRun, command string) step
	read  func(r *toolRun, path string) []step
	edit  func(r *toolRun, path string) []step // replaces old by new
	write func(r *toolRun, path string) []step // creates a file
	fetch func(r *toolRun, url string) []step

	echo     offer  // the server's tool, if the host does not show it
	fetching string // its answer to an address on this machine, which it refuses to fetch; "" if it fetches it

	ends bool // a denial ends the turn
	tls  bool // it fetches only over HTTPS
}

// one returns a call that needs nothing before it.
func one(tool string, arguments object) []step { return []step{{tool: tool, arguments: arguments}} }

// unshown returns a call of a tool that the host may not show.
func unshown(tool string, arguments object) []step {
	return []step{{tool: tool, unshown: offer{Name: tool}, arguments: arguments}}
}

const written = "new\n"

var kits = map[string]kit{
	"claude": {
		shell: func(_ *toolRun, command string) step {
			return step{tool: "Bash", arguments: object{"command": command, "description": "runs a command"}}
		},
		read: func(_ *toolRun, path string) []step { return one("Read", object{"file_path": path}) },
		edit: func(_ *toolRun, path string) []step {
			return append(one("Read", object{"file_path": path}), step{tool: "Edit", arguments: object{"file_path": path, "old_string": "old", "new_string": "new"}})
		},
		write: func(_ *toolRun, path string) []step {
			return one("Write", object{"file_path": path, "content": written})
		},
		fetch: func(_ *toolRun, url string) []step {
			return one("WebFetch", object{"url": url, "prompt": "What does it say?"})
		},
		tls: true,
	},
	"codex": {
		echo: offer{Namespace: "mcp__" + entry, Name: alias + "_echo"},
		shell: func(_ *toolRun, command string) step {
			return step{tool: "exec_command", arguments: object{"cmd": command}}
		},
		edit: func(_ *toolRun, path string) []step {
			return one("apply_patch", object{freeInput: "*** Begin Patch\n*** Update File: " + path + "\n@@\n-old\n+new\n*** End Patch\n"})
		},
		write: func(_ *toolRun, path string) []step {
			return one("apply_patch", object{freeInput: "*** Begin Patch\n*** Add File: " + path + "\n+new\n*** End Patch\n"})
		},
	},
	"gemini": {
		shell: func(_ *toolRun, command string) step {
			return step{tool: "run_shell_command", arguments: object{"command": command, "description": "runs a command"}}
		},
		read: func(_ *toolRun, path string) []step { return one("read_file", object{"file_path": path}) },
		edit: func(_ *toolRun, path string) []step {
			return one("replace", object{"file_path": path, "instruction": "write new", "old_string": "old", "new_string": "new"})
		},
		write: func(_ *toolRun, path string) []step {
			return one("write_file", object{"file_path": path, "content": written})
		},
		fetch: func(_ *toolRun, url string) []step {
			return one("web_fetch", object{"prompt": "Say what is in " + url})
		},
		fetching: "[Blocked Host] ",
	},
	"qwen": {
		echo: offer{Name: "mcp__" + entry + "__" + alias + "_echo"},
		shell: func(_ *toolRun, command string) step {
			return step{tool: "run_shell_command", arguments: object{"command": command, "description": "runs a command", "is_background": false}}
		},
		read: func(_ *toolRun, path string) []step { return one("read_file", object{"file_path": path}) },
		edit: func(_ *toolRun, path string) []step {
			return append(one("read_file", object{"file_path": path}), step{tool: "edit", arguments: object{"file_path": path, "old_string": "old", "new_string": "new"}})
		},
		write: func(_ *toolRun, path string) []step {
			return one("write_file", object{"file_path": path, "content": written})
		},
		fetch: func(_ *toolRun, url string) []step {
			return unshown("web_fetch", object{"url": url, "prompt": "What does it say?"})
		},
	},
	"copilot": {
		shell: func(_ *toolRun, command string) step {
			return step{tool: "bash", arguments: object{"command": command, "description": "runs a command"}}
		},
		read: func(_ *toolRun, path string) []step { return one("view", object{"path": path}) },
		edit: func(_ *toolRun, path string) []step {
			return one("edit", object{"path": path, "old_str": "old", "new_str": "new"})
		},
		write: func(_ *toolRun, path string) []step {
			return one("create", object{"path": path, "file_text": written})
		},
	},
	"opencode": {
		shell: func(_ *toolRun, command string) step {
			return step{tool: "bash", arguments: object{"command": command, "description": "runs a command"}}
		},
		read: func(_ *toolRun, path string) []step { return one("read", object{"filePath": path}) },
		edit: func(_ *toolRun, path string) []step {
			return append(one("read", object{"filePath": path}), step{tool: "edit", arguments: object{"filePath": path, "oldString": "old", "newString": "new"}})
		},
		write: func(_ *toolRun, path string) []step {
			return one("write", object{"filePath": path, "content": written})
		},
		fetch: func(_ *toolRun, url string) []step { return one("webfetch", object{"url": url, "format": "text"}) },
	},
	"cline": {
		shell: func(_ *toolRun, command string) step {
			return step{tool: "run_commands", arguments: object{"commands": []string{command}}}
		},
		read: func(_ *toolRun, path string) []step {
			return one("read_files", object{"files": []any{object{"path": path}}})
		},
		edit: func(_ *toolRun, path string) []step {
			return one("editor", object{"path": path, "old_text": "old", "new_text": "new"})
		},
		write: func(_ *toolRun, path string) []step { return one("editor", object{"path": path, "new_text": written}) },
		fetch: func(_ *toolRun, url string) []step {
			return one("fetch_web_content", object{"requests": []any{object{"url": url, "prompt": "What does it say?"}}})
		},
		ends: true,
	},
	"continue": {}, // it calls no hooks: only its MCP server passes the gate
}

// deeds returns all uses of all tools that the host has.
func (r *toolRun) deeds() (list []deed) {
	in := func(name string) string { return filepath.Join(r.work(), name) }
	for _, word := range words {
		if r.kit.shell != nil {
			mark := "shell-" + word
			list = append(list, deed{what: "shell", word: word, mark: mark, steps: []step{r.kit.shell(r, "touch "+mark)}, ran: func() bool { return exists(in(mark)) }})
		}
		if r.kit.read != nil {
			mark := "read-" + word + ".txt"
			list = append(list, deed{what: "read", word: word, mark: mark, steps: r.kit.read(r, in(mark)), ran: func() bool { return r.wasTold(secretText + word) }})
		}
		if r.kit.edit != nil {
			mark := "edit-" + word + ".txt"
			list = append(list, deed{what: "edit", word: word, mark: mark, steps: r.kit.edit(r, in(mark)), ran: func() bool { return holds(in(mark), "new") }})
		}
		if r.kit.write != nil {
			mark := "write-" + word + ".txt"
			list = append(list, deed{what: "write", word: word, mark: mark, steps: r.kit.write(r, in(mark)), ran: func() bool { return exists(in(mark)) }})
		}
		if r.kit.fetch != nil {
			mark := "/fetch-" + word
			list = append(list, deed{what: "fetch", word: word, mark: mark, steps: r.kit.fetch(r, r.web.URL+mark), ran: func() bool {
				return r.fetched(mark) || r.kit.fetching != "" && r.wasTold(r.kit.fetching+r.web.URL+mark)
			}})
		}
		mark := word + "-mcp"
		list = append(list, deed{what: "MCP", word: word, mark: mark, steps: []step{{tool: "_echo", unshown: r.kit.echo, arguments: object{"text": mark}}}, ran: func() bool { return r.served(mark) }})
	}
	return list
}

package config

import (
	"time"
)

// ServerConfig is one entry of "servers". Names are values, never keys, so that their case counts.
type ServerConfig struct {
	Name       string
	Type       string // stdio, sse or http; if missing, command and url decide
	Command    string
	Args       []string
	Env        []string // NAME=value
	InheritEnv bool
	Cwd        string
	URL        string
	Headers    []string // Name: value
	Era        string   // auto, legacy or modern
	OAuth      oauthConfig
	Trusted    bool
	Enabled    *bool
	Guard      string   // on, require or off; "" means the configuration's value
	Grants     []string // sockets that stay reachable behind the guard
	Sandbox    string   // off, workspace or strict
	Read       []string // what the sandbox can also read
	Write      []string // what it can also change
	Network    string   // of the sandbox: none, proxy or open
	Limits     sandboxLimits
	Intercept  bool   // callgate's proxy terminates TLS to the hosts of secrets
	Package    string // what the command runs, if the command does not name it
	Tools      []toolConfig
	AllowTools []string // globs over the server's own names
	HideTools  []string

	Timeout        time.Duration // of one request; 0 means none
	MaxResultBytes int           // 0 means none
	Shared         bool          // one process for all sessions
	IdleTimeout    time.Duration // after which an unused server is stopped; 0 means never

	Source string `mapstructure:"-"` // file and entry, for messages
	File   string `mapstructure:"-"` // the file that configures it; "" for a command line

	tenant string // whose server it is; "" without tenants
}

// sandboxLimits bounds each process of a server in a sandbox. 0 means no bound.
type sandboxLimits struct {
	MemoryBytes, FileBytes int64
	Processes, OpenFiles   int
	CPU                    time.Duration
}

// toolConfig maps a tool to a kind.
type toolConfig struct {
	Name  string
	As    string // name for hosts and rules; "" means Name
	Kind  string // "" if the tool has none of the kinds
	Risk  string // class of its calls; the content of a call can only raise it
	Roles []roleConfig

	// The labels of a tool that callgate does not know. See docs/flow.md.
	Returns     []string // private, untrusted, secret, public
	Fields      []fieldConfig
	Effect      string   // none, own, outside, money, deletes, access
	Destination []string // arguments that name a destination
	Content     []string // arguments that carry text there
	Undo        string   // the tool that undoes it
}

// fieldConfig labels one field of JSON results, instead of toolConfig.Returns.
type fieldConfig struct {
	Field   string // a.b is a nested member, also in each element of a list
	Returns []string
}

type roleConfig struct {
	Argument string
	Role     string
}

package config

import (
	"time"
)

// ServerConfig is one entry of "servers". Names are values, never keys, so that their case counts.
type ServerConfig struct {
	Name       string
	Type       string // stdio, sse, http; told from command and url when it is missing
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
	Guard      string   // on, require or off; "" is that of the configuration
	Grants     []string // sockets that the guard leaves reachable
	Sandbox    string   // off, workspace or strict
	Read       []string // added to what the sandbox can read
	Write      []string // added to what it can change
	Network    string   // of the sandbox: none, proxy or open
	Limits     sandboxLimits
	Intercept  bool   // TLS to the hosts of secrets ends in callgate's proxy
	Package    string // what the command runs, when the command does not name it
	Tools      []toolConfig
	AllowTools []string // globs over the server's own names
	HideTools  []string

	Timeout        time.Duration // of one request; 0 is none
	MaxResultBytes int           // 0 is none
	Shared         bool          // one for all sessions
	IdleTimeout    time.Duration // after which a server that nobody uses is stopped; 0 is never

	Source string `mapstructure:"-"` // file and entry, for messages
	File   string `mapstructure:"-"` // that configures it; "" is a command line

	tenant string // whose it is; "" for none
}

// sandboxLimits bound each process of a server in a sandbox; 0 is no bound.
type sandboxLimits struct {
	MemoryBytes, FileBytes int64
	Processes, OpenFiles   int
	CPU                    time.Duration
}

// toolConfig maps a tool to a kind.
type toolConfig struct {
	Name  string
	As    string // what hosts and rules call it; "" is Name
	Kind  string // "" for a tool that is none of the kinds
	Risk  string // class of its calls; what a call holds can only raise it
	Roles []roleConfig

	// The labels of a tool that callgate does not know, see docs/flow.md.
	Returns     []string // private, untrusted, secret, public
	Fields      []fieldConfig
	Effect      string   // none, own, outside, money, deletes, access
	Destination []string // arguments that name where things go
	Content     []string // arguments that carry text there
	Undo        string   // the tool that takes it back
}

// fieldConfig labels one field of results in JSON, in place of toolConfig.Returns.
type fieldConfig struct {
	Field   string // a.b is a member within, also of each element of a list
	Returns []string
}

type roleConfig struct {
	Argument string
	Role     string
}

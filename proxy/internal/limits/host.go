package limits

import (
	"slices"
	"strings"
	"time"

	"callgate/gate"
)

// Host is how long a host lets a tool call run.
type Host struct {
	Name    string        // prefix of clientInfo.name
	Idle    time.Duration // without progress; 0 means no limit
	Total   time.Duration // with progress; 0 means no limit
	Extends bool          // progress restarts Idle
}

// hosts holds limits measured on the hosts themselves, see docs/hosts.md.
var hosts = []Host{
	{Name: "claude-code"},
	{Name: "opencode", Idle: 60 * time.Second, Extends: true},
	{Name: "copilot-cli", Idle: 180 * time.Second, Extends: true},
	{Name: "qwen-cli", Idle: 300 * time.Second, Total: 600 * time.Second, Extends: true},
	{Name: "codex", Idle: 300 * time.Second},
	{Name: "gemini-cli", Idle: 600 * time.Second},
	{Name: "@cline/", Idle: 60 * time.Second},
	{Name: "continue-cli", Idle: 60 * time.Second},
}

// unknownHost is used for hosts that are not in the table. It has the limit of the most common SDK, which progress
// extends.
var unknownHost = Host{Idle: 60 * time.Second, Extends: true}

// margin is how long before a host's limit callgate hands the call over.
const margin = 10 * time.Second

// Patience returns how long a call may take before callgate hands it over, by the host's name; 0 means no limit. What
// users know of their hosts goes before what was measured. progress says that the host listens to progress on the call.
func Patience(known []Host, c gate.Client, progress bool) time.Duration {
	limit := unknownHost
	named := func(l Host) bool { return strings.HasPrefix(c.Name, l.Name) }
	if i := slices.IndexFunc(known, named); i >= 0 {
		limit = known[i]
	} else if i := slices.IndexFunc(hosts, named); i >= 0 {
		limit = hosts[i]
	}
	wait := limit.Idle
	if progress && limit.Extends {
		wait = limit.Total
	}
	if wait == 0 {
		return 0
	}
	return max(wait-margin, wait/2)
}

package main

import (
	"fmt"
	"time"

	"callgate/gate"
	"callgate/internal/guard"
)

// policySettings are those of subcommands that judge calls.
var policySettings = []setting{
	{"agent", "agent", "`name` of the profile that sessions run under: explore, general, or a file in {dataDir}/agents", ""},
	{"auditAnchor", "audit-anchor", "where heads of the audit trail are kept besides: syslog, or a `file` out of reach; empty for nowhere", ""},
	{"mode", "mode", "what happens to calls that would ask: ask, auto-approve, auto-deny or no-prompt", "ask"},
	{"autonomy", "autonomy", "`level` of every new session: FULL_AUTO, SUPERVISED, GUIDED, CAUTIOUS, MANUAL, always-ask, ask-on-write, ask-on-external, allow-safe-readonly; empty means that rules alone decide", ""},
	{"escalation", "escalation", "calls that gain privileges: reject, or ask a person", "reject"},
	{"timeout", "timeout", "how long an approval waits for a person", 120 * time.Second},
	{"handOver", "hand-over", "how long a call waits before the host hears that its approval is pending; 0s goes by the host's own limit, -1s never", time.Duration(0)},
	{"claimWithin", "claim-within", "how long the decision on a call that was handed over waits for its repetition", 15 * time.Minute},
	{"maxPending", "max-pending", "approvals that may wait at once in one session", 64},
	{"remember", "remember", "where an \"always\" for the worker is kept: storage, or memory until callgate ends", "storage"},
	{"terminal", "terminal", "open, or allowlist: shells run one plain command of a short list, and reading needs no question", "open"},
	{"allowTerminalWrite", "allow-terminal-write", "with terminal allowlist: build tools and interpreters are asked about instead of denied", false},
	{"tools.expose", "expose-tools", "what hosts see: all tools, or search: pinned ones, and tools to find and call the others", "all"},
	{"gate", "gate", "on, or off to let every call run that does not touch callgate itself: for throw-away sandboxes only", "on"},
	{"flow", "flow", "on, or off to forget where the values in arguments came from", "on"},
	{"guard", "guard", "on, require or off: a wall of the kernel that keeps servers, hooks and checks from callgate's own files and memory", "on"},
	{"metrics", "metrics", "count what happens, for Prometheus, at /metrics of the side server", false},
	{"traces", "traces", "tell OpenTelemetry of calls, where OTEL_EXPORTER_OTLP_ENDPOINT says", false},
	{"mcpConfig", "mcp-config", "`file` with mcpServers, as hosts have them; repeatable", []string{}},
}

// validateGate checks what says how calls are judged and how long they wait for a person.
func (c *config) validateGate() (err error) {
	if c.mode, err = gate.ParseMode(c.Mode); err != nil {
		return invalid("mode", err)
	}
	if c.autonomy, err = gate.ParseAutonomy(c.Autonomy); err != nil {
		return invalid("autonomy", err)
	}
	switch c.Escalation {
	case "reject":
	case "ask":
		c.askEscalat = true
	default:
		return invalid("escalation", fmt.Errorf("%q: use reject or ask", c.Escalation))
	}
	switch c.Remember {
	case "storage":
	case "memory":
		c.inMemory = true
	default:
		return invalid("remember", fmt.Errorf("%q: use storage or memory", c.Remember))
	}
	switch c.Flow {
	case "on", "true":
	case "off", "false", "0":
		c.noFlow = true
	default:
		return invalid("flow", fmt.Errorf("%q: use on or off", c.Flow))
	}
	switch c.Gate {
	case "on", "true": // YAML reads a bare on and off as true and false
	case "off", "false", "0":
		c.gateOff = true
	default:
		return invalid("gate", fmt.Errorf("%q: use on or off", c.Gate))
	}
	if _, err := guard.ParseMode(onOff(c.Guard)); err != nil {
		return invalid("guard", err)
	}
	switch c.Terminal {
	case "open":
	case "allowlist":
		c.terminal = &gate.Terminal{Write: c.AllowTerminalWrite}
	default:
		return invalid("terminal", fmt.Errorf("%q: use open or allowlist", c.Terminal))
	}
	if c.shell, err = c.Shell.assemble(); err != nil {
		return invalid("shell", err)
	}
	if c.limits, err = c.Limits.assemble(); err != nil {
		return invalid("limits", err)
	}
	if c.Timeout <= 0 {
		return invalid("timeout", fmt.Errorf("%s: use a positive duration such as 120s", c.Timeout))
	}
	if c.ClaimWithin <= 0 {
		return invalid("claimWithin", fmt.Errorf("%s: use a positive duration such as 15m", c.ClaimWithin))
	}
	if c.MaxPending <= 0 {
		return invalid("maxPending", fmt.Errorf("%d: use a positive number", c.MaxPending))
	}
	return nil
}

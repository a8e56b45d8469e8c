package config

import (
	"fmt"
	"strings"
	"time"

	"callgate/gate"
	"callgate/internal/guard"
	"callgate/internal/presence"
)

// policySettings are the settings of subcommands that judge calls.
var policySettings = []setting{
	{"agent", "agent", "`name` of the profile that sessions run under: explore, general, or a file in {dataDir}/agents", ""},
	{"auditAnchor", "audit-anchor", "also write heads of the audit trail to syslog, or to a `file` that your user cannot rewrite; empty: nowhere", ""},
	{"mode", "mode", "what to do with calls that would ask: ask, auto-approve or no-prompt (deny); auto-deny denies every call", "ask"},
	{"autonomy", "autonomy", "`level` of every new session: FULL_AUTO, SUPERVISED, GUIDED, CAUTIOUS, MANUAL, always-ask, ask-on-write, ask-on-external, allow-safe-readonly; empty: rules alone decide", ""},
	{"escalation", "escalation", "calls that gain privileges (sudo): reject, or ask a person", "reject"},
	{"timeout", "timeout", "how long an approval waits for a person", 120 * time.Second},
	{"handOver", "hand-over", "how long a call waits before the host is told that its approval is pending; 0s: by the host's own limit, -1s: never", time.Duration(0)},
	{"claimWithin", "claim-within", "how long the host may take to repeat a call that was handed over", 15 * time.Minute},
	{"maxPending", "max-pending", "most approvals that wait in one session", 64},
	{"remember", "remember", "where an \"always\" for the worker is kept: storage, or memory until callgate ends", "storage"},
	{"terminal", "terminal", "open, or allowlist: shells run only single plain commands from a short list", "open"},
	{"allowTerminalWrite", "allow-terminal-write", "with terminal allowlist: ask about build tools and interpreters instead of denying them", false},
	{"tools.expose", "expose-tools", "all: hosts see every tool; search: pinned tools, and two tools to find and call the others", "all"},
	{"gate", "gate", "on, or off to run every call, except ones that touch callgate or that a freeze, hook or limit refuses (for throw-away sandboxes only)", "on"},
	{"policy.cedar", "cedar", "`file` of Cedar policies that can deny and ask beside the rules; repeatable", []string{}},
	{"policy.rego", "rego", "`file` of OPA's policies that can deny and ask beside the rules; repeatable; needs a build with OPA", []string{}},
	{"policy.authzen", "authzen", "base `address` of an AuthZEN decision point that can deny and ask beside the rules; empty: none", ""},
	{"policy.timeout", "policy-timeout", "how long the decision point, or a file of Rego, may take before the call is denied", 2 * time.Second},
	{"flow", "flow", "on, or off: do not track where values in arguments came from", "on"},
	{"guard", "guard", "on, require or off: let the kernel keep servers, hooks and checks away from callgate's files and memory", "on"},
	{"metrics", "metrics", "serve metrics for Prometheus at /metrics of the approvers' address", false},
	{"traces", "traces", "send traces of calls to OpenTelemetry at OTEL_EXPORTER_OTLP_ENDPOINT", false},
	{"mcpConfig", "mcp-config", "`file` with servers in a host's format (mcpServers); repeatable", []string{}},
}

// validateGate checks the settings for how calls are judged and how long they wait for a person.
func (c *Config) validateGate() (err error) {
	if err := validateJudgment(c); err != nil {
		return err
	}
	if c.PolicyEngines, err = c.Policy.open(c.DataDir); err != nil {
		return err
	}
	if c.Presence, err = presence.ParseClass(c.Approvers.Presence); err != nil {
		return invalid("approvers.presence", err)
	}
	if err := c.Approvers.OIDC.validate(); err != nil {
		return invalid("approvers.oidc", err)
	}
	if c.ShellSetup, err = c.Shell.assemble(); err != nil {
		return invalid("shell", err)
	}
	if c.GateLimits, err = c.Limits.assemble(); err != nil {
		return invalid("limits", err)
	}
	switch { // how long calls wait for a person, and how many may
	case c.Timeout <= 0:
		return invalid("timeout", fmt.Errorf("%s: use a positive duration such as 120s", c.Timeout))
	case c.ClaimWithin <= 0:
		return invalid("claimWithin", fmt.Errorf("%s: use a positive duration such as 15m", c.ClaimWithin))
	case c.MaxPending <= 0:
		return invalid("maxPending", fmt.Errorf("%d: use a positive number", c.MaxPending))
	}
	return nil
}

// validateJudgment checks the settings that decide where the rules ask.
func validateJudgment(c *Config) (err error) {
	if c.GateMode, err = gate.ParseMode(c.Mode); err != nil {
		return invalid("mode", err)
	}
	if c.AutonomyLevel, err = gate.ParseAutonomy(c.Autonomy); err != nil {
		return invalid("autonomy", err)
	}
	var listed bool
	for _, choice := range []struct {
		key, value, usual, other string
		chosen                   *bool // true if the other value was chosen
	}{
		{"escalation", c.Escalation, "reject", "ask", &c.AsksEscalations},
		{"remember", c.Remember, "storage", "memory", &c.InMemory},
		{"flow", onOff(c.Flow), "on", "off", &c.NoFlow},
		{"gate", onOff(c.Gate), "on", "off", &c.GateOff},
		{"terminal", c.Terminal, "open", "allowlist", &listed},
	} {
		if choice.value != choice.usual && choice.value != choice.other {
			return invalid(choice.key, fmt.Errorf("%q: use %s or %s", choice.value, choice.usual, choice.other))
		}
		*choice.chosen = choice.value == choice.other
	}
	if listed {
		c.TerminalList = &gate.Terminal{Write: c.AllowTerminalWrite}
	}
	if _, err := guard.ParseMode(onOff(c.Guard)); err != nil {
		return invalid("guard", err)
	}
	for _, name := range c.Secrets.Keyring {
		if service, account, ok := strings.Cut(name, "/"); !ok || service == "" || account == "" {
			return invalid("secrets.keyring", fmt.Errorf("%q: use SERVICE/ACCOUNT", name))
		}
	}
	return nil
}

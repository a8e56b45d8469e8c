package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"callgate/gate"
	"callgate/internal/budget"
	"callgate/permissions"
	"callgate/proxy"
)

// limitsConfig bounds what one session may do.
type limitsConfig struct {
	Preset       string // "" or strict
	CallsPerTurn int
	TurnIdle     time.Duration
	Concurrent   int
	Timeouts     []timeoutConfig

	Irreversible       *int          // number of the irreversible call within IrreversibleWithin that asks, whatever the rules say; 0 means none
	IrreversibleWithin time.Duration // 0 means a minute

	MaxResultBytes   int    // of servers without a bound of their own
	MaxInFlightBytes *int64 // of all messages in flight; 0 means no bound
}

type timeoutConfig struct {
	Tool  string // glob over the qualified name or the kind; "" means every tool
	Risk  string // a class; "" means every class
	After time.Duration
}

// strict is the preset for agents that run unattended.
var strict = limitsConfig{
	CallsPerTurn: 8, TurnIdle: 30 * time.Second,
	Timeouts: []timeoutConfig{{After: 15 * time.Second}, {Risk: "NETWORK", After: 30 * time.Second}, {Risk: "BUILD_TEST", After: 120 * time.Second}},
}

// Budget returns the bound on messages in flight.
func (l limitsConfig) Budget() *proxy.Budget {
	if l.MaxInFlightBytes == nil {
		return proxy.NewBudget(budget.DefaultLimit)
	}
	return proxy.NewBudget(*l.MaxInFlightBytes)
}

// assemble checks the limits. Limits that are set take precedence over the preset.
func (l limitsConfig) assemble() (gate.Limits, error) {
	switch l.Preset {
	case "":
	case "strict":
		l.CallsPerTurn, l.TurnIdle = cmp.Or(l.CallsPerTurn, strict.CallsPerTurn), cmp.Or(l.TurnIdle, strict.TurnIdle)
		l.Timeouts = slices.Concat(strict.Timeouts, l.Timeouts)
	default:
		return gate.Limits{}, fmt.Errorf("preset %q: use strict, or write the limits out", l.Preset)
	}
	if l.CallsPerTurn < 0 || l.Concurrent < 0 || l.TurnIdle < 0 || l.MaxResultBytes < 0 {
		return gate.Limits{}, errors.New("a limit is negative: leave it out, or use 0, for none")
	}
	if b := l.MaxInFlightBytes; b != nil && *b != 0 && *b < budget.MinLimit {
		return gate.Limits{}, fmt.Errorf("maxInFlightBytes: %d: use at least %d, or 0 for no bound", *b, budget.MinLimit)
	}
	out := gate.Limits{
		CallsPerTurn: l.CallsPerTurn, TurnIdle: cmp.Or(l.TurnIdle, 30*time.Second), Concurrent: l.Concurrent,
		Irreversible: 5, IrreversibleWithin: cmp.Or(l.IrreversibleWithin, time.Minute),
	}
	if l.Irreversible != nil {
		out.Irreversible = *l.Irreversible
	}
	if out.Irreversible < 0 || out.IrreversibleWithin < 0 {
		return gate.Limits{}, errors.New("irreversible: use a positive number of calls and a positive duration, or irreversible: 0 for no such limit")
	}
	for i, t := range l.Timeouts {
		one := gate.Timeout{After: t.After}
		if t.After <= 0 {
			return out, fmt.Errorf("timeouts[%d]: after %s: use a positive duration such as 30s", i, t.After)
		}
		if t.Tool != "" {
			glob, err := permissions.CompileGlob(t.Tool)
			if err != nil {
				return out, fmt.Errorf("timeouts[%d]: tool: %w", i, err)
			}
			one.Tool = glob
		}
		if t.Risk != "" {
			risk, err := permissions.ParseRisk(t.Risk)
			if err != nil {
				return out, fmt.Errorf("timeouts[%d]: %w", i, err)
			}
			one.Risk = &risk
		}
		out.Timeouts = append(out.Timeouts, one)
	}
	return out, nil
}

// hostConfig says how long a host lets a tool call run, if callgate does not know that or is wrong about it.
type hostConfig struct {
	Name            string        // prefix of clientInfo.name
	Limit           time.Duration // of a call; 0s means none
	ProgressExtends bool          // progress restarts the limit
	Total           time.Duration // of a call with progress; 0s means none
}

func assembleHosts(hosts []hostConfig) ([]proxy.HostLimit, error) {
	limits := make([]proxy.HostLimit, len(hosts))
	for i, h := range hosts {
		switch {
		case h.Name == "":
			return nil, fmt.Errorf("[%d]: name is missing: write how the host's clientInfo.name begins", i)
		case h.Limit < 0 || h.Total < 0:
			return nil, fmt.Errorf("[%d] %s: a limit is negative: use 0s for none", i, h.Name)
		case h.Total > 0 && !h.ProgressExtends:
			return nil, fmt.Errorf("[%d] %s: total needs progressExtends: true", i, h.Name)
		}
		limits[i] = proxy.HostLimit{Name: h.Name, Idle: h.Limit, Total: h.Total, Extends: h.ProgressExtends}
	}
	return limits, nil
}

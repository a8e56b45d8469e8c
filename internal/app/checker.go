package app

import (
	"os"

	"github.com/adrg/xdg"

	"callgate/gate"
	"callgate/internal/companion/hub"
	"callgate/internal/config"
	"callgate/internal/rulebook"
	"callgate/permissions/store"
)

// NewChecker judges as the configuration says.
func NewChecker(c *config.Config) (*rulebook.Checker, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	protected, err := gate.NewProtected(c.OwnFiles(), xdg.Home, c.Ports())
	if err != nil {
		return nil, err
	}
	ch := &rulebook.Checker{
		Judge: gate.Judge{
			Autonomy: c.AutonomyLevel, Mode: c.GateMode, AskEscalations: c.AsksEscalations, Terminal: c.TerminalList, Off: c.GateOff,
			Advisors:  c.PolicyEngines,
			Protected: protected.WithNames(hub.SocketName).WithPorts(c.OwnPorts()),
		},
		Store: store.Open(c.Files().Permissions(), store.Options{Home: xdg.Home}),
		Cwd:   cwd, Home: xdg.Home, Shell: c.ShellSetup, Unknown: func(tool string) error { return config.Misspelled(c, tool) }, Worker: c.Worker, DataDir: c.DataDir, CacheDir: c.Files().Cache(),
	}
	if ch.Agent, err = c.AgentRules(); err != nil {
		return nil, err
	}
	if ch.Profiles, err = c.Agents(); err != nil {
		return nil, err
	}
	if len(c.Servers) > 0 || len(c.MCPConfig) > 0 {
		if ch.Servers, err = c.ProxyServers(); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

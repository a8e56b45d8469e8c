package config

import (
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/proxy"
)

// KnownNames returns the names that a hook's matcher could mean: servers, agents and tools that callgate has seen. It
// returns nil if the tools of some server were never seen, because then nobody can say what is missing.
func KnownNames(c *Config) ([]string, error) {
	pins, err := tools.OpenPins(c.Files().Pins())
	if err != nil {
		return nil, err
	}
	servers, err := c.ProxyServers()
	if err != nil {
		return nil, nil // run reports what is wrong with them; hooks can be listed all the same
	}
	agents, err := c.Agents()
	if err != nil {
		return nil, err
	}
	names := []string{gate.DefaultAgent, proxy.OwnName}
	for _, a := range agents {
		names = append(names, a.Name)
	}
	for _, own := range tools.Own() { // they are not pinned
		names = append(names, own, proxy.OwnName+"_"+own)
	}
	for _, s := range servers {
		seen, err := pins.Of(s.Tools.Identity)
		if err != nil {
			return nil, err
		}
		before := len(names)
		for tool := range seen.Tools() {
			names = append(names, tool, s.Tools.Name+"_"+proxy.Sanitize(tool))
		}
		if len(names) == before {
			return nil, nil
		}
		names = append(names, s.Tools.Name)
	}
	return names, nil
}

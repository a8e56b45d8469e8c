package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"

	"callgate/gate"
	"callgate/permissions"
)

// Agents reads the profiles that sessions may run under: the built-in ones, the user's in {dataDir}/agents, which may
// replace built-in ones, and the workspace's in .callgate/agents. The last come with a repository, and so from anybody.
// They can only tighten rules, and cannot take the name of another profile. It is an error if the configured profile is
// none of them.
func (c *Config) Agents() ([]permissions.Agent, error) {
	agents := permissions.BuiltinAgents()
	own, err := readAgents(filepath.Join(c.DataDir, "agents"))
	if err != nil {
		return nil, err
	}
	for _, a := range own {
		agents = append(slices.DeleteFunc(agents, named(a.Name)), a)
	}
	workspace, err := readAgents(filepath.Join(".callgate", "agents"))
	if err != nil {
		return nil, err
	}
	for _, a := range workspace {
		if i := slices.IndexFunc(agents, named(a.Name)); i >= 0 {
			return nil, fmt.Errorf("%s: agent %q exists already (%s): a workspace cannot replace it, choose another name", a.Source, a.Name, agents[i].Source)
		}
		agents = append(agents, a.Tightened())
	}
	if c.Agent != "" && c.Agent != gate.DefaultAgent && !slices.ContainsFunc(agents, named(c.Agent)) {
		return nil, unknownAgent(c.Agent, c.DataDir, agents)
	}
	return agents, nil
}

// unknownAgent returns an error that lists the agents. A name is never a path: profiles come only from their folders.
func unknownAgent(name, dataDir string, agents []permissions.Agent) error {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
	}
	known := strings.Join(names, ", ")
	if filepath.Base(name) != name || strings.ContainsAny(name, `/\`) {
		return fmt.Errorf("unknown agent %q: an agent's name has no slash: use %s, or a name in %s", name, known, filepath.Join(dataDir, "agents"))
	}
	return fmt.Errorf("unknown agent %q: use %s, or add %s", name, known, filepath.Join(dataDir, "agents", name+".md"))
}

func named(name string) func(permissions.Agent) bool {
	return func(a permissions.Agent) bool { return a.Name == name }
}

// readAgents reads every profile in a folder, sorted by file name. A missing folder has none.
func readAgents(folder string) (agents []permissions.Agent, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		a, err := permissions.ParseAgent(path, text, xdg.Home)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(agents, named(a.Name)); i >= 0 {
			return nil, fmt.Errorf("%s: agent %q is defined in %s too", path, a.Name, agents[i].Source)
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// AgentRules returns the rules of the configured profile, or nil if none is configured.
func (c *Config) AgentRules() ([]permissions.Rule, error) {
	if c.Agent == "" || c.Agent == gate.DefaultAgent {
		return nil, nil
	}
	agents, err := c.Agents()
	if err != nil {
		return nil, err
	}
	return agents[slices.IndexFunc(agents, named(c.Agent))].Rules, nil
}

package config

import (
	"errors"
	"io/fs"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/policy"
)

// policyConfig names the policy engines beside the rules. The token of the decision point is no key: it comes from the file
// {dataDir}/credentials/authzen.
type policyConfig struct {
	Cedar   []string // files
	AuthZEN string   // base address of a decision point
	Timeout time.Duration
}

// openPolicies compiles the policies and checks the decision point.
func (c *Config) openPolicies() error {
	for _, path := range c.Policy.Cedar {
		engine, err := policy.OpenCedar(path)
		if err != nil {
			return invalid("policy.cedar", err)
		}
		c.PolicyEngines = append(c.PolicyEngines, engine)
	}
	if c.Policy.AuthZEN == "" {
		return nil
	}
	token, err := credentials.Foreign(c.DataDir, "authzen")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return invalid("policy.authzen", err)
	}
	engine, err := policy.NewAuthZEN(c.Policy.AuthZEN, token, c.Policy.Timeout)
	if err != nil {
		return invalid("policy.authzen", err)
	}
	c.PolicyEngines = append(c.PolicyEngines, engine)
	return nil
}

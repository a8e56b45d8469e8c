package config

import (
	"errors"
	"io/fs"
	"time"

	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/policy"
)

// policyConfig names the policy engines beside the rules. The token of the decision point is not in the configuration,
// but in {dataDir}/credentials/authzen.
type policyConfig struct {
	Cedar   []string // files
	Rego    []string // files
	AuthZEN string   // base address of a decision point
	Timeout time.Duration
}

const authZENSecret = "authzen" // in {dataDir}/credentials

// open compiles the policies, and makes a client for the decision point.
func (c *policyConfig) open(dataDir string) (engines []gate.Advisor, err error) {
	for _, path := range c.Cedar {
		engine, err := policy.OpenCedar(ExpandHome(path))
		if err != nil {
			return nil, invalid("policy.cedar", err)
		}
		engines = append(engines, engine)
	}
	for _, path := range c.Rego {
		engine, err := policy.OpenRego(ExpandHome(path), c.Timeout)
		if err != nil {
			return nil, invalid("policy.rego", err)
		}
		engines = append(engines, engine)
	}
	if c.AuthZEN == "" {
		return engines, nil
	}
	token, err := credentials.Foreign(dataDir, authZENSecret)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, invalid("policy.authzen", err)
	}
	engine, err := policy.NewAuthZEN(c.AuthZEN, token, c.Timeout)
	if err != nil {
		return nil, invalid("policy.authzen", err)
	}
	return append(engines, engine), nil
}

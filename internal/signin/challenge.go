package signin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"callgate/internal/remote"
)

// challenge is what a server's WWW-Authenticate headers say about signing in.
type challenge struct {
	metadata string   // URL of the resource's metadata, or ""
	scopes   []string // what a token must allow; nil if not given
	fault    string   // the error code, or ""
}

// read takes each part of the challenge from the first header that has it. It skips headers that cannot be parsed.
func read(headers []string) (c challenge) {
	for _, header := range headers {
		all, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil {
			continue
		}
		for _, one := range all {
			c.metadata = cmp.Or(c.metadata, one.Params["resource_metadata"])
			if one.Scheme != "bearer" {
				continue
			}
			if len(c.scopes) == 0 {
				c.scopes = strings.Fields(one.Params["scope"])
			}
			c.fault = cmp.Or(c.fault, one.Params["error"])
		}
	}
	return c
}

// challenged returns the challenge of a refusal. It is empty for nil.
func challenged(refused *remote.Refusal) challenge {
	if refused == nil {
		return challenge{}
	}
	return read(refused.Challenge)
}

// lacking returns wanted scopes that were not asked for, or nil if asking again would change nothing.
func (c challenge) lacking(asked []string) (more []string) {
	if c.fault != "insufficient_scope" {
		return nil
	}
	for _, scope := range c.scopes {
		if !slices.Contains(asked, scope) {
			more = append(more, scope)
		}
	}
	return more
}

package signin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"callgate/internal/remote"
)

// challenge is what a server says in its WWW-Authenticate headers of how to get in.
type challenge struct {
	metadata string   // the address of the resource's metadata; "" when it names none
	scopes   []string // what a token has to allow; nil when it names nothing
	fault    string   // the error code, "" for none
}

// read takes each of a challenge's parts from the first header that has it. A header that cannot be read says nothing.
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

// challenged is what a refusal says, nothing for nil.
func challenged(refused *remote.Refusal) challenge {
	if refused == nil {
		return challenge{}
	}
	return read(refused.Challenge)
}

// lacking are the scopes that the server wants and that were not asked for: nil when asking again changes nothing.
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

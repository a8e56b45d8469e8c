package catalogue

import (
	"slices"

	"callgate/internal/upstream"
	"callgate/permissions"
)

// Choice says which tools of a server hosts get, and under which names. The zero value offers all of them, by their own
// names. A tool that is left out is neither listed nor callable, and is not pinned.
type Choice struct {
	Allow []*permissions.Glob // match the server's own names; if there are any, one must match
	Hide  []*permissions.Glob // match the server's own names
	As    map[string]string   // new names, by the server's own
}

// Has reports whether hosts get the tool with that name of the server's.
func (c *Choice) Has(name string) bool {
	matches := func(g *permissions.Glob) bool { return g.Match(name) }
	return (len(c.Allow) == 0 || slices.ContainsFunc(c.Allow, matches)) && !slices.ContainsFunc(c.Hide, matches)
}

// Name returns the name that the tool has for hosts.
func (c *Choice) Name(own string) string {
	if as, ok := c.As[own]; ok {
		return as
	}
	return own
}

// Chosen returns the items of a list that hosts get.
func Chosen(c *Choice, k upstream.Kind, all []upstream.Item) []upstream.Item {
	if k != upstream.Tools || len(c.Allow)+len(c.Hide) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(item upstream.Item) bool { return !c.Has(item.Key) })
}

package catalogue

import (
	"slices"

	"callgate/internal/upstream"
	"callgate/permissions"
)

// Choice says which tools of a server there are for hosts, and how they are called. The zero value is all of
// them, by their own names. What is left out is neither listed nor callable, and is not pinned.
type Choice struct {
	Allow []*permissions.Glob // over the server's own names; when there is one, a tool needs one that matches
	Hide  []*permissions.Glob // over the server's own names
	As    map[string]string   // other names, by the server's own
}

// Has reports whether there is a tool of that name.
func (c *Choice) Has(name string) bool {
	matches := func(g *permissions.Glob) bool { return g.Match(name) }
	return (len(c.Allow) == 0 || slices.ContainsFunc(c.Allow, matches)) && !slices.ContainsFunc(c.Hide, matches)
}

// Name is what the tool is called instead of its own name.
func (c *Choice) Name(own string) string {
	if as, ok := c.As[own]; ok {
		return as
	}
	return own
}

// Chosen returns the entries of a list that there are for hosts.
func Chosen(c *Choice, k upstream.Kind, all []upstream.Item) []upstream.Item {
	if k != upstream.Tools || len(c.Allow)+len(c.Hide) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(item upstream.Item) bool { return !c.Has(item.Key) })
}

package proxy

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/jsonx"
	"callgate/internal/tools"
	"callgate/internal/upstream"
)

// shadows tells definitions that pose as another server's tool, or that tell the model what to do with one: a
// server that is not asked can steer calls of a server that is trusted.
type shadows struct {
	named map[string]bool   // qualified names of the other servers' tools
	alike map[string]origin // the other servers' tools by what their names look like
	vague []string          // aliases, with the underscore, of servers whose tools are not known
}

// newShadows looks at the tools of all configured servers but one, because what is accepted for this host is accepted
// for all. unlisted are those whose tools are not among the items and will be. The tools of servers that this host does
// not see, or that are down, are those that people know them by.
func (h *host) newShadows(own *server, items []listing, unlisted []*server) *shadows {
	sh := &shadows{named: map[string]bool{}, alike: map[string]origin{}}
	for _, item := range items {
		if item.server != own {
			sh.add(item.qualified, origin{item.server.alias, item.name})
		}
	}
	for _, o := range h.p.o.Servers {
		alias := o.Tools.Name
		there := h.server(alias)
		if o.Own != nil || alias == own.alias || there != nil && !slices.Contains(unlisted, there) && has(upstream.Tools)(there) {
			continue
		}
		known := false
		if pinned, err := h.p.o.Pins.Of(o.Tools.Identity); err == nil && !slices.Contains(unlisted, there) {
			for name := range pinned.Tools() {
				known = true
				sh.add(alias+"_"+Sanitize(o.Choice.name(name)), origin{alias, name})
			}
		}
		if !known {
			sh.vague = append(sh.vague, alias+"_")
		}
	}
	return sh
}

func (sh *shadows) add(qualified string, from origin) {
	sh.named[qualified] = true
	sh.alike[looks(from.name)] = from
}

// unlisted are the servers whose tools are not known yet and will be.
func (h *host) unlisted() (servers []*server) {
	for _, s := range h.servers {
		if !has(upstream.Tools)(s) && !s.hopeless() {
			servers = append(servers, s)
		}
	}
	return servers
}

// of says why a definition is suspect; "" when it is not.
func (sh *shadows) of(item *listing) string {
	if other, ok := sh.alike[looks(item.name)]; ok && joined(other.name) != joined(item.name) {
		return fmt.Sprintf("The tool's name %q looks like %q of server %q and is another.", tools.Visible(item.name), tools.Visible(other.name), other.alias)
	}
	var m [3]jsonx.Member
	if jsonx.Members(item.raw, []string{"name", "title", "description"}, m[:]) != nil {
		return ""
	}
	for _, member := range m {
		text, _ := jsonx.String(member.Value)
		for _, word := range strings.FieldsFunc(norm.NFKC.String(text), func(r rune) bool {
			return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			if name := sh.speaksOf(word); name != "" {
				return fmt.Sprintf("The tool's definition speaks of %s, which belongs to another server.", tools.Visible(name))
			}
		}
	}
	return ""
}

// speaksOf returns the word if it is another server's tool.
func (sh *shadows) speaksOf(word string) string {
	if sh.named[word] {
		return word
	}
	for _, alias := range sh.vague {
		if rest, ok := strings.CutPrefix(word, alias); ok && rest != "" {
			return word
		}
	}
	return ""
}

// looks is what a name looks like to a person: joined, and letters that are drawn alike are one.
func looks(name string) string { return lookAlikes.Replace(norm.NFKD.String(joined(name))) }

// joined is a name without case and without what separates its words.
func joined(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

package proxy

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/jsonx"
	"callgate/internal/tools"
	"callgate/internal/upstream"
)

// shadows tells definitions that pose as another server's tool, or that tell the model what to do with one: a
// server that is not asked can steer calls of a server that is trusted.
type shadows struct {
	named map[string]bool    // qualified names of the other servers' tools
	alike map[string]listing // the other servers' tools by what their names look like
	vague []string           // aliases, with the underscore, of servers whose tools are not known yet
}

// newShadows looks at the tools of all servers but one; unlisted are those whose tools are not among the items.
func newShadows(own *server, items []listing, unlisted []*server) *shadows {
	sh := &shadows{named: map[string]bool{}, alike: map[string]listing{}}
	for _, item := range items {
		if item.server != own {
			sh.named[item.qualified] = true
			sh.alike[looks(item.name)] = item
		}
	}
	for _, s := range unlisted {
		if s != own {
			sh.vague = append(sh.vague, s.alias+"_")
		}
	}
	return sh
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
		return fmt.Sprintf("The tool's name %q looks like %q of server %q and is another.", tools.Visible(item.name), tools.Visible(other.name), other.server.alias)
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

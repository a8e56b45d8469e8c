package proxy

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/upstream"
)

// shadows tells definitions that pose as another server's tool, or that tell the model what to do with one: a
// server that is not asked can steer calls of a server that is trusted.
type shadows struct {
	named map[string]bool   // qualified names of the other servers' tools
	bare  map[string]string // names of theirs that are no everyday words, and the server that has the tool
	alike map[string]origin // the other servers' tools by what their names look like
	vague []string          // aliases, with the underscore, of servers whose tools are not known
}

// newShadows looks at the tools of all configured servers but one, because what is accepted for this host is accepted
// for all. unlisted are those whose tools are not among the items and will be. The tools of servers that this host does
// not see, or that are down, are those that people know them by.
func (h *host) newShadows(own *server, items []listing, unlisted []*server) *shadows {
	sh := &shadows{named: map[string]bool{}, bare: map[string]string{}, alike: map[string]origin{}}
	defer func() {
		for _, item := range items {
			if item.server == own {
				delete(sh.bare, item.name) // its own of that name
			}
		}
	}()
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
	if compound(from.name) {
		sh.bare[from.name] = from.alias
	}
}

// compound reports whether a name is more than one word, so that a text which has it speaks of the tool.
func compound(name string) bool {
	return strings.ContainsAny(strings.Trim(name, "_-"), "_-") || strings.IndexFunc(name, unicode.IsUpper) > 0
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
	for text := range jsonx.Strings(item.raw) {
		for sentence := range sentences(text) {
			for _, word := range words(sentence) {
				if word == item.name && isOwnName(word) { // hosts never see it under that name
					continue
				}
				if name := sh.speaksOf(word); name != "" {
					return fmt.Sprintf("The tool's definition speaks of %s, which belongs to another server.", tools.Visible(name))
				}
				if alias := sh.bare[word]; alias != "" && steers.MatchString(sentence) {
					return fmt.Sprintf("The tool's definition tells the model what to do about %s, which belongs to server %q.", tools.Visible(word), alias)
				}
			}
		}
	}
	return ""
}

// sentences splits a text where sentences end, so that two names of which one says nothing about the other stay apart.
func sentences(text string) iter.Seq[string] {
	return strings.SplitSeq(sentenceEnd.ReplaceAllString(norm.NFKC.String(text), "\x00"), "\x00")
}

var sentenceEnd = regexp.MustCompile(`[.!?]\s+|\n\s*\n`)

// words are the words of a text as tools are named.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// steers is what makes a sentence an order.
var steers = regexp.MustCompile(`(?i)\b(?:when|whenever|before|after|instead|rather|must|always|never|first|then|change|replace|also|include|do not|don't|ensure|make sure|call|invoke|use|using|pass|send|side effects?)\b`)

// steered marks the tools that a definition in quarantine names: what it says of them, the model has read already.
func steered(named []listing) {
	for i := range named {
		from := &named[i]
		if from.redefined == nil {
			continue
		}
		said := map[string]bool{}
		for text := range jsonx.Strings(from.raw) {
			for _, word := range words(norm.NFKC.String(text)) {
				said[word] = true
			}
		}
		if isOwnName(from.name) {
			delete(said, from.name)
		}
		for j := range named {
			to := &named[j]
			if to.server != from.server && to.steered == nil && (said[to.qualified] || compound(to.name) && said[to.name] || said["mcp__"+to.server.alias+"__"+to.name]) {
				to.steered = &steering{from: from.server, name: from.name, qualified: from.qualified, definition: from.raw}
			}
		}
	}
}

// isOwnName reports whether a name is one of callgate's own tools, which no server's tool can take.
func isOwnName(name string) bool { return strings.HasPrefix(name, OwnName+"_") }

// steering says which definition in quarantine speaks of a tool.
type steering struct {
	from            *server
	name, qualified string
	definition      []byte
}

// steered returns why a call of the tool has to be looked at now: a definition that speaks of it is in quarantine. A person may
// have accepted that since the table was made.
func (h *host) steered(e *entry) []tools.Mark {
	s := e.steered
	if s == nil {
		return nil
	}
	if known, changed, _, err := h.p.o.Pins.Check(s.from.about.Identity, s.name, tools.HashOf(s.definition)); err == nil && known && !changed {
		return nil
	}
	return []tools.Mark{{Code: "steered", Text: fmt.Sprintf("The definition of %s, which nobody has accepted, tells the model about this tool.", tools.Visible(s.qualified))}}
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

package catalogue

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"callgate/gate/tools"
	"callgate/gate/tools/definitions"
	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// shadows finds definitions that pose as another server's tool, or that tell the model what to do with one. Otherwise a
// server that is never called could steer calls of a trusted server.
type shadows struct {
	named map[string]bool   // qualified names of the other servers' tools
	bare  map[string]string // those of their names that are not everyday words, and the server that has the tool
	alike map[string]Origin // the other servers' tools by what their names look like
	vague []string          // aliases, with the underscore, of servers whose tools are unknown
}

// newShadows collects the tools of all configured servers except own, because what is accepted for this host is
// accepted for all. For servers that this host does not see, or that are down, it takes the pinned tools.
func (m *Maker) newShadows(own *Source, items []listing, all []*Source) *shadows {
	sh := &shadows{named: map[string]bool{}, bare: map[string]string{}, alike: map[string]Origin{}}
	defer func() {
		for _, item := range items {
			if item.source == own {
				delete(sh.bare, item.name) // own has a tool of that name
			}
		}
	}()
	for _, item := range items {
		if item.source != own {
			sh.add(item.qualified, Origin{item.source.Alias, item.name})
		}
	}
	for _, c := range m.Configured {
		var there *Source // nil if the session does not see it
		if i := slices.IndexFunc(all, func(s *Source) bool { return s.Guest == nil && s.Alias == c.Alias }); i >= 0 {
			there = all[i]
		}
		settling := there != nil && there.Settling
		if c.Alias == own.Alias || there != nil && !settling && there.Listed {
			continue
		}
		known := false
		if pinned, err := m.Pins.Of(c.Identity); err == nil && !settling {
			for name := range pinned.Tools() {
				known = true
				sh.add(c.Alias+"_"+Sanitize(c.Choice.Name(name)), Origin{c.Alias, name})
			}
		}
		if !known {
			sh.vague = append(sh.vague, c.Alias+"_")
		}
	}
	return sh
}

func (sh *shadows) add(qualified string, from Origin) {
	sh.named[qualified] = true
	sh.alike[looks(from.Name)] = from
	if compound(from.Name) {
		sh.bare[from.Name] = from.Alias
	}
}

// compound reports whether a name has more than one word, so that a text with the name must mean the tool.
func compound(name string) bool {
	return strings.ContainsAny(strings.Trim(name, "_-"), "_-") || strings.IndexFunc(name, unicode.IsUpper) > 0
}

// of returns why a definition is suspect, or "" if it is not.
func (sh *shadows) of(item *listing) string {
	if other, ok := sh.alike[looks(item.name)]; ok && joined(other.Name) != joined(item.name) {
		return fmt.Sprintf("The tool's name %q looks like %q of server %q and is another.", tools.Visible(item.name), tools.Visible(other.Name), other.Alias)
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

// sentences splits a text at the ends of sentences, so that unrelated names stay apart.
func sentences(text string) iter.Seq[string] {
	return strings.SplitSeq(sentenceEnd.ReplaceAllString(norm.NFKC.String(text), "\x00"), "\x00")
}

var sentenceEnd = lazyregexp.New(`[.!?]\s+|\n\s*\n`)

// words returns the words of a text. A word has only characters that tool names have.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// steers matches words that make a sentence an order.
var steers = lazyregexp.New(`(?i)\b(?:when|whenever|before|after|instead|rather|must|always|never|first|then|change|replace|also|include|do not|don't|ensure|make sure|call|invoke|use|using|pass|send|side effects?)\b`)

// steered marks the tools that a definition in quarantine names, because the model has already read what it says about
// them.
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
			if to.source != from.source && to.steered == nil && (said[to.qualified] || compound(to.name) && said[to.name] || said["mcp__"+to.source.Alias+"__"+to.name]) {
				to.steered = &steering{identity: from.source.About.Identity, name: from.name, qualified: from.qualified, definition: from.raw}
			}
		}
	}
}

// isOwnName reports whether a name is reserved for callgate's own tools.
func isOwnName(name string) bool { return strings.HasPrefix(name, OwnName+"_") }

// steering identifies the definition in quarantine that mentions a tool.
type steering struct {
	identity, name, qualified string
	definition                []byte
}

// Steered returns a mark for calls of the tool if a definition in quarantine mentions the tool, else nil. A person may
// have accepted the definition since the catalogue was made.
func (m *Maker) Steered(o *Offer) []tools.Mark {
	s := o.steered
	if s == nil {
		return nil
	}
	if known, changed, _, err := m.Pins.Check(s.identity, s.name, definitions.HashOf(s.definition)); err == nil && known && !changed {
		return nil
	}
	return []tools.Mark{{Code: "steered", Text: fmt.Sprintf("The definition of %s, which nobody has accepted, tells the model about this tool.", tools.Visible(s.qualified))}}
}

// speaksOf returns the word if it names another server's tool, else "".
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

// looks returns what a name looks like to a person: joined, with all look-alike letters made the same.
func looks(name string) string { return LookAlikes.Replace(norm.NFKD.String(joined(name))) }

// joined returns a name in lower case, without the characters between its words.
func joined(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// shadow hides tools that the host would see under the name of one of callgate's own tools or of a renamed tool.
// Otherwise, where names are untouched, a server could take the place of a tool that people and models trust.
func (m *Maker) shadow(items []listing) {
	given := map[string]bool{}
	for _, item := range items {
		if item.hasGivenName() {
			given[item.shown] = true
		}
	}
	for i := range items {
		if item := &items[i]; given[item.shown] && !item.hasGivenName() {
			item.hidden = true
			m.Log.Warn("a tool of the server is hidden: one of callgate's own, or one that was renamed, has its name", "server", item.source.Alias, "tool", item.shown)
		}
	}
}

// hasGivenName reports whether the tool's name was not its server's choice.
func (l *listing) hasGivenName() bool {
	return l.source.IsOwn || l.source.Choice.Name(l.name) != l.name
}

// hideDoubles hides tools of guests that the host would see under the name of a configured server's tool.
func (m *Maker) hideDoubles(items []listing) {
	taken := map[string]bool{}
	for _, item := range items {
		if item.source.Guest == nil {
			taken[item.shown] = true
		}
	}
	for i := range items {
		if item := &items[i]; item.source.Guest != nil && taken[item.shown] {
			item.hidden = true
			m.Log.Warn("a tool that a client brought is hidden: a server has one of that name", "server", item.source.Alias, "tool", item.shown)
		}
	}
}

// LookAlikes replaces characters that cannot be told from Latin letters, above all those of callgate's name.
var LookAlikes = strings.NewReplacer(
	"с", "c", "ϲ", "c", "ᴄ", "c", "а", "a", "α", "a", "ɑ", "a", "ӏ", "l", "ı", "l", "1", "l", "|", "l", "ɩ", "l", "і", "l", "i", "l",
	"ɡ", "g", "ց", "g", "т", "t", "τ", "t", "е", "e", "ҽ", "e", "3", "e", "4", "a", "7", "t", "9", "g",
)

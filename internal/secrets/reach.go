package secrets

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/textscan"
)

// reach is what a regular expression reveals about where its matches can be. If a text has keywords by chance, like a
// picture in base64, only the parts around them are searched.
type reach struct {
	around  int      // bytes before and after a keyword within which a match lies; 0: unknown
	demands []string // strings that every text with a match contains
	signs   []string // sets of characters other than letters and digits: every match has one of each set
}

// unbounded is the length of a match without a maximum length.
const unbounded = 1 << 20

// reachOf analyzes an expression. keywords are in lower case; a match may contain one of them.
func reachOf(expression string, keywords []string) (r reach, err error) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return r, err
	}
	if n := longestOf(tree); n < unbounded && alwaysHolds(tree, keywords) {
		r.around = n + utf8.UTFMax // the characters next to a match decide whether words begin and end there
	}
	r.demands, r.signs = demandsOf(tree), signsOf(tree)
	return r, nil
}

// may reports whether a part of a text has everything that a match needs.
func (r *reach) may(part string) bool {
	for _, word := range r.demands {
		if !strings.Contains(part, word) {
			return false
		}
	}
	for _, set := range r.signs {
		if !textscan.HasOne(part, set) {
			return false
		}
	}
	return true
}

// longestOf returns the greatest length of a match in bytes, at most unbounded.
func longestOf(tree *syntax.Regexp) int {
	sum, most := 0, 0
	for _, sub := range tree.Sub {
		n := longestOf(sub)
		sum, most = min(unbounded, sum+n), max(most, n)
	}
	switch tree.Op {
	case syntax.OpLiteral:
		return utf8.UTFMax * len(tree.Rune)
	case syntax.OpCharClass:
		return utf8.RuneLen(tree.Rune[len(tree.Rune)-1])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return unbounded
	case syntax.OpRepeat:
		if tree.Max < 0 {
			return unbounded
		}
		return min(unbounded, tree.Max*sum)
	case syntax.OpAlternate:
		return most
	}
	return sum
}

// alwaysHolds reports whether every match is known to contain one of the words, ignoring case.
func alwaysHolds(tree *syntax.Regexp, words []string) bool {
	if all := spellings(tree); all != nil {
		return !slices.ContainsFunc(all, func(s string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
		})
	}
	holds := func(sub *syntax.Regexp) bool { return alwaysHolds(sub, words) }
	switch tree.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return holds(tree.Sub[0])
	case syntax.OpRepeat:
		return tree.Min > 0 && holds(tree.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(tree.Sub, func(sub *syntax.Regexp) bool { return !holds(sub) })
	case syntax.OpConcat:
		for i := range tree.Sub {
			joined := *tree
			for end := i + 1; end <= len(tree.Sub); end++ {
				if joined.Sub = tree.Sub[i:end]; end > i+1 && spellings(&joined) == nil {
					break
				}
				if end == i+1 && holds(tree.Sub[i]) || end > i+1 && holds(&joined) {
					return true
				}
			}
		}
	}
	return false
}

// mostSpellings bounds the number of spellings.
const mostSpellings = 64

// spellings returns all texts that match, in lower case, or nil if there are too many.
func spellings(tree *syntax.Regexp) (all []string) {
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(tree.Rune))}
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return []string{""}
	case syntax.OpCapture:
		return spellings(tree.Sub[0])
	case syntax.OpCharClass:
		for i := 0; i < len(tree.Rune); i += 2 {
			for r := tree.Rune[i]; r <= tree.Rune[i+1]; r++ {
				if all = append(all, strings.ToLower(string(r))); len(all) > mostSpellings {
					return nil
				}
			}
		}
	case syntax.OpQuest:
		if all = spellings(tree.Sub[0]); all != nil {
			all = append(all, "")
		}
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			more := spellings(sub)
			if all = append(all, more...); more == nil || len(all) > mostSpellings {
				return nil
			}
		}
	case syntax.OpConcat:
		all = []string{""}
		for _, sub := range tree.Sub {
			more := spellings(sub)
			if more == nil || len(all)*len(more) > mostSpellings {
				return nil
			}
			var longer []string
			for _, begin := range all {
				for _, end := range more {
					longer = append(longer, begin+end)
				}
			}
			all = longer
		}
	}
	return all
}

// demandsOf returns strings that every match contains in this spelling.
func demandsOf(tree *syntax.Regexp) (list []string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return []string{string(tree.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, sub := range tree.Sub {
			list = append(list, demandsOf(sub)...)
		}
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return demandsOf(tree.Sub[0])
		}
	}
	return list
}

// signsOf returns sets of signs, such as the operators of an assignment. Every match contains a sign of each set.
func signsOf(tree *syntax.Regexp) (sets []string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if i := slices.IndexFunc(tree.Rune, isSign); i >= 0 {
			return []string{string(tree.Rune[i])}
		}
	case syntax.OpCharClass:
		set := ""
		for i := 0; i < len(tree.Rune); i += 2 {
			for r := tree.Rune[i]; r <= tree.Rune[i+1]; r++ {
				if !isSign(r) {
					return nil
				}
				set += string(r)
			}
		}
		return []string{set}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, sub := range tree.Sub {
			sets = append(sets, signsOf(sub)...)
		}
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return signsOf(tree.Sub[0])
		}
	case syntax.OpAlternate:
		all := ""
		for _, sub := range tree.Sub {
			of := signsOf(sub)
			if len(of) == 0 {
				return nil
			}
			all += of[0]
		}
		return []string{all}
	}
	return sets
}

// isSign reports whether r is a visible ASCII character other than a letter or digit.
func isSign(r rune) bool {
	return r > ' ' && r < 0x7f && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
}

// span is a part of a text.
type span struct{ start, end int }

// parts holds the parts of a text in which matches of a format can be, by the keywords seen so far.
type parts []span

// near adds the part around a keyword. Keywords MUST be added in order.
func (p parts) near(text string, start, end int, r reach) parts {
	if r.around == 0 {
		return append(p[:0], span{0, len(text)})
	}
	s := span{max(0, start-r.around), min(len(text), end+r.around)}
	if last := len(p) - 1; last >= 0 && p[last].end >= s.start {
		p[last].end = max(p[last].end, s.end)
		return p
	}
	return append(p, s)
}

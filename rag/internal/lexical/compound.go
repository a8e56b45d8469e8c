package lexical

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	index "github.com/blevesearch/bleve_index_api"
)

// Limits of Compounds, in characters and in terms.
const (
	leastPart  = 4 // of a word
	leastWhole = 5 // of a word that longer terms may begin or end with
	mostWords  = 8
	mostWholes = 32 // that begin with a word, and that end with one

	mostScanned = 5000 // rows; above that, no search for word endings, which no index speeds up
)

// linking lists the letters that may follow a part of a compound or end it: Arbeit-s-zeit, Straße-n-bahn, Vertrag-es.
var linking = []string{"", "s", "es", "n", "en", "e", "er"}

// Compounds returns terms related to words that no part has: compounds that begin or end with such a word, and the
// terms that it is composed of. So Haftpflicht finds Haftpflichtversicherung, and the reverse. Call it after Begin.
func (s *Search) Compounds(ctx context.Context, words []string) ([]string, error) {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return utf8.RuneCountInString(w) < leastWhole || strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
	})
	words = words[:min(len(words), mostWords)]
	if len(words) == 0 {
		return nil, nil
	}
	related := map[string]bool{}
	add := func(terms []string, err error) error {
		for _, term := range terms {
			related[term] = true
		}
		return err
	}
	if len(s.scores) <= mostScanned {
		// The words are only letters, so nothing needs escaping.
		if err := add(s.termsOf(ctx, func(p *Part) (index.FieldDict, error) {
			return p.reader.(index.IndexReaderRegexp).FieldDictRegexp(textField, ".*("+strings.Join(words, "|")+")")
		})); err != nil {
			return nil, err
		}
	}
	for _, word := range words {
		if err := add(s.termsOf(ctx, func(p *Part) (index.FieldDict, error) {
			return p.reader.FieldDictPrefix(textField, []byte(word))
		})); err != nil {
			return nil, err
		}
		if err := add(s.split(ctx, word)); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(related)), nil
}

// termsOf returns the shortest terms in the dictionaries that open returns, at most mostWholes.
func (s *Search) termsOf(ctx context.Context, open func(*Part) (index.FieldDict, error)) ([]string, error) {
	found := map[string]bool{}
	for i := range s.parts {
		dictionary, err := open(&s.parts[i])
		if err != nil {
			return nil, err
		}
		entry, err := dictionary.Next()
		for ; err == nil && entry != nil && ctx.Err() == nil; entry, err = dictionary.Next() {
			found[entry.Term] = true
		}
		if err = errors.Join(err, ctx.Err(), dictionary.Close()); err != nil {
			return nil, err
		}
	}
	terms := slices.Sorted(maps.Keys(found))
	slices.SortStableFunc(terms, func(a, b string) int { return len(a) - len(b) })
	return terms[:min(len(terms), mostWholes)], nil
}

// split returns the fewest terms that compose the whole word, apart from linking letters, or nil.
func (s *Search) split(ctx context.Context, word string) ([]string, error) {
	fewest := make([][]string, len(word)+1) // of word[:i]
	fewest[0] = []string{}
	for start := range word {
		if fewest[start] == nil {
			continue
		}
		for end := start + leastPart; end <= len(word); end++ {
			term := word[start:end]
			if utf8.RuneCountInString(term) < leastPart || !utf8.ValidString(term) {
				continue
			}
			known, err := s.has(term)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			if !known {
				continue
			}
			for _, link := range linking {
				if after := end + len(link); strings.HasPrefix(word[end:], link) &&
					(fewest[after] == nil || len(fewest[start])+1 < len(fewest[after])) {
					fewest[after] = append(slices.Clone(fewest[start]), term)
				}
			}
		}
	}
	return fewest[len(word)], nil
}

// has reports whether any part has the term.
func (s *Search) has(term string) (bool, error) {
	for i := range s.parts {
		dictionary, err := s.parts[i].reader.(index.IndexReaderContains).FieldDictContains(textField)
		if err != nil {
			return false, err
		}
		if known, err := dictionary.Contains([]byte(term)); known || err != nil {
			return known, err
		}
	}
	return false, nil
}

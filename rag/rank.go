package rag

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/rag/internal/lexical"
	"callgate/rag/internal/terms"
)

// candidate is a row that may become a hit.
type candidate struct {
	row   int
	score float64
	parts Parts
}

// weights of the ranker, tuned on the development benchmark and that of the Go standard library. See
// internal/dev/ragbench/README.md.
var weights = struct {
	rank       float64 // the constant of reciprocal rank fusion: the larger, the less the first ranks stand out
	words      float64 // of the ranks by words; the ranks by meaning have 1
	fusion     float64 // of the fused ranks
	match      float64 // of the scores themselves
	blend      float64 // the share of words in the match; meaning has the rest
	definition float64 // for defining the name that is the whole query
	mention    float64 // for defining a name that the query mentions
	rarity     float64 // the power of the number of definitions that divides both: common names say little
	namesake   float64 // the factor for both if the file has the same name
	naming     float64 // for defining names that contain the query's words
	path       float64
	file       float64
	share      float64 // the power applied to a file's total as a share of the highest total
	aside      float64 // the factor for tests and examples
	again      float64 // the factor for each further hit of a file in the first places
	later      float64 // the same in later places
	places     int     // how many places count as first
	document   float64 // the factor for documents if code answers as well
	rival      float64 // how much of the best document's similarity the best code must have for that
}{
	rank: 30, words: 1.25, fusion: 0.25, match: 0.75, blend: 0.6,
	definition: 2, mention: 0.5, rarity: 0.5, namesake: 1.5, naming: 0.3, path: 0.8, file: 0.4, share: 0.6, aside: 0.7,
	again: 0.6, later: 0.95, places: 4, document: 0.5, rival: 0.5,
}

// fuse merges the two rankings by reciprocal rank fusion.
func fuse(byWords, byMeaning []lexical.Scored) []candidate {
	sums := map[int]float64{}
	for rank, s := range byWords {
		sums[s.Row] += weights.words / (weights.rank + float64(rank+1))
	}
	for rank, s := range byMeaning {
		sums[s.Row] += 1 / (weights.rank + float64(rank+1))
	}
	best := 0.0
	for _, sum := range sums {
		best = max(best, sum)
	}
	fused := make([]candidate, 0, len(sums))
	for row, sum := range sums {
		fused = append(fused, candidate{row: row, parts: Parts{Fusion: weights.fusion * sum / best}})
	}
	slices.SortFunc(fused, func(a, b candidate) int { return cmp.Compare(a.row, b.row) })
	return fused
}

// rank adds the scores other than words and meaning, and sorts.
func (s *search) rank(query string, candidates []candidate) []candidate {
	candidates = s.addDefinitions(query, candidates)
	s.scoreMatches(candidates)
	words := wordsOf(query)
	s.scoreNames(words, candidates)
	s.scorePaths(words, candidates)
	s.scoreFiles(candidates)
	asked := asks(query, asideWords)
	for i := range candidates {
		c := &candidates[i]
		c.parts.Factor = 1
		p, row := s.snapshot.at(c.row)
		if !asked && p.rows.Sources[p.rows.Source[row]].Aside {
			c.parts.Factor = weights.aside
		}
		c.setScore()
	}
	s.demoteDocuments(query, candidates)
	sortCandidates(candidates)
	s.spread(candidates)
	return candidates
}

// spread lets several files share the first places. Each further hit of a file counts less there than in later places.
// The candidates are sorted before and after.
func (s *search) spread(candidates []candidate) {
	type factors struct{ first, later float64 } // among the first places, and after them
	next := map[*source]factors{}               // for the next hit of each file that already has one
	last := math.Inf(1)
	for place := range candidates {
		best, factor := place, 0.0
		for i := place; i < len(candidates) && i < place+spreadAmong; i++ {
			c := &candidates[i]
			if factor > 0 && c.score <= candidates[best].score*factor {
				break // the rest have even lower scores
			}
			f := 1.0
			if of, ok := next[s.sourceOf(c)]; ok && place < weights.places {
				f = of.first
			} else if ok {
				f = of.later
			}
			if factor == 0 || c.score*f > candidates[best].score*factor {
				best, factor = i, f
			}
		}
		c := candidates[best]
		copy(candidates[place+1:best+1], candidates[place:best])
		of, ok := next[s.sourceOf(&c)]
		if !ok {
			of = factors{1, 1}
		}
		next[s.sourceOf(&c)] = factors{of.first * weights.again, of.later * weights.later}
		c.parts.Factor *= factor
		c.score = min(c.score*factor, last)
		candidates[place], last = c, c.score
	}
}

// spreadAmong bounds how far a hit can move forward.
const spreadAmong = 100

// demoteDocuments moves documents of the workspace behind code that answers about as well, unless the query asks for
// documents. If no code does, documents are the answer.
func (s *search) demoteDocuments(query string, candidates []candidate) {
	if s.filter.query.Kind != "" || asks(query, documentWords) {
		return
	}
	isDocument := func(c *candidate) bool { of := s.sourceOf(c); return of.Kind == KindDoc && !of.Document }
	code, document := 0.0, 0.0
	for i := range candidates {
		switch c := &candidates[i]; {
		case isDocument(c):
			document = max(document, c.parts.Similarity())
		case s.sourceOf(c).Kind == KindCode:
			code = max(code, c.parts.Similarity())
		}
	}
	if code < weights.rival*document {
		return
	}
	for i := range candidates {
		if c := &candidates[i]; isDocument(c) {
			c.parts.Factor *= weights.document
			c.setScore()
		}
	}
}

// scoreMatches scores words and meaning relative to the best candidate.
func (s *search) scoreMatches(candidates []candidate) {
	most := Parts{}
	for i := range candidates {
		s.measure(&candidates[i])
		most.BM25 = max(most.BM25, candidates[i].parts.BM25)
		most.Cosine = max(most.Cosine, candidates[i].parts.Cosine)
	}
	for i := range candidates {
		p := &candidates[i].parts
		if most.BM25 > 0 {
			p.Match += weights.match * weights.blend * p.BM25 / most.BM25
		}
		if most.Cosine > 0 {
			p.Match += weights.match * (1 - weights.blend) * p.Cosine / most.Cosine
		}
	}
}

// asks reports whether the query contains one of the words, which are stems.
func asks(query string, words map[string]bool) bool {
	found := false
	terms.Tokenize(query, func(token []byte) { found = found || words[terms.Stem(string(token))] }, func([]byte) {})
	return found
}

var (
	// asideWords ask for tests and examples, which otherwise rank lower.
	asideWords = terms.Set(`test spec exampl mock fixtur benchmark`)
	// documentWords ask for documents.
	documentWords = terms.Set(`doc document documentari readm guid tutori changelog chang releas licens contribut faq manual instal upgrad migrat glossari`)
)

func (c *candidate) setScore() {
	c.score = (c.parts.Fusion + c.parts.Match + c.parts.Definition + c.parts.Path + c.parts.File) * c.parts.Factor
}

func sortCandidates(c []candidate) {
	slices.SortFunc(c, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
}

func (s *search) sourceOf(c *candidate) *source {
	p, row := s.snapshot.at(c.row)
	return &p.rows.Sources[p.rows.Source[row]]
}

var (
	// aName matches a query that is just a name: qualified, or spelled as only names are.
	aName = lazyregexp.New(`^(?:[A-Za-z_$][\w$]*(?:(?:::|\\|->|\.|#)[A-Za-z_$][\w$!?]*)+|_\w*|[A-Za-z]\w*[A-Z_]\w*|[A-Z]\w*)$`)
	// namesIn matches names among other words: in backquotes, or by their spelling.
	namesIn = lazyregexp.New("`([^`\\s]+)`|\\b([A-Za-z]\\w*(?:[a-z][A-Z]|_)\\w*)\\b|\\b([A-Z][a-z0-9]+[A-Z]\\w*)\\b|[a-z] ([A-Z][A-Za-z0-9]+)\\b")
)

// namesOf returns the names in a query, and the score for defining one.
func namesOf(query string) ([]string, float64) {
	query = strings.TrimSpace(query)
	if aName.MatchString(query) {
		return []string{lastName(query)}, weights.definition
	}
	var names []string
	for _, m := range namesIn.FindAllStringSubmatch(query, maxNames) {
		for _, name := range m[1:] {
			if name = lastName(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, weights.mention
}

// maxNames bounds how many names of a query are looked up.
const maxNames = 16

// lastName returns the last part of a qualified name.
func lastName(name string) string {
	name = strings.TrimSuffix(name, "()")
	return name[strings.LastIndexAny(name, `:\>.#`)+1:]
}

// addDefinitions raises the chunks that define what the query names, and adds those that were not found.
func (s *search) addDefinitions(query string, candidates []candidate) []candidate {
	names, worth := namesOf(query)
	if len(names) == 0 {
		return candidates
	}
	at := make(map[int]int, len(candidates))
	for i := range candidates {
		at[candidates[i].row] = i
	}
	for _, name := range names {
		known := 0
		for i := range s.snapshot.parts {
			known += len(s.snapshot.parts[i].rows.defined(name))
		}
		if known == 0 {
			continue
		}
		worth := worth / math.Pow(float64(known), weights.rarity)
		for i := range s.snapshot.parts {
			p := &s.snapshot.parts[i]
			for n, r := range p.rows.defined(name) {
				row := int(r)
				if n == maxDefinitions || !s.filter.allows(i, row) {
					continue
				}
				all := s.snapshot.first[i] + row
				c, ok := at[all]
				if !ok {
					c = len(candidates)
					at[all] = c
					candidates = append(candidates, candidate{row: all})
				}
				w := worth
				if isNamesake(p.rows.Sources[p.rows.Source[row]].Path, name) {
					w *= weights.namesake
				}
				candidates[c].parts.Definition = max(candidates[c].parts.Definition, w)
			}
		}
	}
	return candidates
}

// maxDefinitions bounds how many chunks of a segment a name raises: a name defined everywhere says little.
const maxDefinitions = 200

// isNamesake reports whether the file has the same name.
func isNamesake(file, name string) bool {
	base := path.Base(file)
	base = strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))
	name = strings.ToLower(name)
	return base == name || strings.ReplaceAll(base, "_", "") == name || strings.ReplaceAll(base, "-", "") == name
}

// word is a significant word of the query.
type word struct {
	stem   string
	begins string // what every word with this stem begins with
}

// wordsOf returns the query's words by stem, sorted, each once.
func wordsOf(query string) []word {
	var stems []string
	terms.Tokenize(query, func(token []byte) {
		if w := string(token); len(w) > 2 && !terms.Stop[w] {
			stems = append(stems, terms.Stem(w))
		}
	}, func([]byte) {})
	slices.Sort(stems)
	stems = slices.Compact(stems)
	words := make([]word, len(stems))
	for i, stem := range stems {
		words[i] = word{stem, stem[:len(stem)-1]} // words in -y and -e end differently from their stems
	}
	return words
}

// is reports whether the token, in lower case, is a form of the word. It can decide for most tokens without stemming.
func (w *word) is(token []byte) bool {
	return len(token) >= len(w.begins) && string(token[:len(w.begins)]) == w.begins && terms.Stem(string(token)) == w.stem
}

// scoreNames scores what share of the query's words occurs in the names that a chunk defines.
func (s *search) scoreNames(words []word, candidates []candidate) {
	if len(words) == 0 {
		return
	}
	named := make([]bool, len(words))
	note := func(token []byte) {
		for i := range words {
			if !named[i] {
				named[i] = words[i].is(token)
			}
		}
	}
	for i := range candidates {
		c := &candidates[i]
		p, row := s.snapshot.at(c.row)
		names := p.defines(row)
		if len(names) == 0 {
			continue
		}
		clear(named)
		for _, name := range names {
			terms.Tokenize(p.rows.Names[name], note, note)
		}
		n := 0
		for _, is := range named {
			if is {
				n++
			}
		}
		c.parts.Definition += weights.naming * float64(n) / float64(len(words))
	}
}

// scorePaths scores the share of the query's words in the name of the file or its directory. Rare words count more.
func (s *search) scorePaths(words []word, candidates []candidate) {
	if len(words) == 0 {
		return
	}
	worth, all := make([]float64, len(words)), 0.0
	for i := range words {
		worth[i] = math.Sqrt(s.rarity[words[i].stem] + 0.1)
		all += worth[i]
	}
	known := map[*source]float64{}
	for i := range candidates {
		of := s.sourceOf(&candidates[i])
		score, ok := known[of]
		if !ok {
			score = weights.path * s.inPath(words, worth, of) / all
			known[of] = score
		}
		candidates[i].parts.Path = score
	}
}

// inPath returns the worth of the words in the source's name. A word that shares only a prefix with it counts less.
func (s *search) inPath(words []word, worth []float64, of *source) float64 {
	name := of.Title
	if !of.Document {
		dir, base := path.Split(of.Path)
		name = strings.TrimSuffix(base, path.Ext(base)) + " " + path.Base(dir)
	}
	var names []string
	add := func(token []byte) { names = append(names, terms.Stem(string(token))) }
	terms.Tokenize(name, add, add)
	n := 0.0
	for i := range words {
		w := words[i].stem
		if slices.Contains(names, w) {
			n += worth[i]
		} else if slices.ContainsFunc(names, func(name string) bool {
			return len(name) >= 3 && (strings.HasPrefix(name, w) || strings.HasPrefix(w, name))
		}) {
			n += 0.8 * worth[i]
		}
	}
	return n
}

// scoreFiles raises the best chunk of each file by the total of the file's chunks.
func (s *search) scoreFiles(candidates []candidate) {
	type file struct {
		sum  float64
		best int
	}
	files := map[*source]*file{}
	most := 0.0
	base := func(c *candidate) float64 { return c.parts.Fusion + c.parts.Match + c.parts.Definition + c.parts.Path }
	for i := range candidates {
		c := &candidates[i]
		of := s.sourceOf(c)
		f := files[of]
		if f == nil {
			f = &file{best: i}
			files[of] = f
		}
		if of.Document {
			continue // its chunks are one text, and long texts are no better
		}
		f.sum += base(c)
		if b := &candidates[f.best]; base(c) > base(b) || base(c) == base(b) && c.row < b.row {
			f.best = i
		}
		most = max(most, f.sum)
	}
	for _, f := range files {
		if most > 0 {
			candidates[f.best].parts.File = weights.file * math.Pow(f.sum/most, weights.share)
		}
	}
}

package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// optset are the options of a program.
type optset programs.Options

// find returns the option of that name, nil when there is none.
func (set *optset) find(name string) *programs.Option { return (*programs.Options)(set).Find(name) }

// guessed is the option that reads a word of which the options do not say that it is a file.
var guessed = &programs.Option{Name: "file", Last: "file", Arg: programs.Needed, Does: 'r'}

// hit is an option that was found.
type hit struct {
	opt   *programs.Option
	name  string
	value word
	has   bool // it has a value
}

// scanned is what the words of a program say.
type scanned struct {
	hits     []hit
	operands []word
	rest     int    // index of the first operand in the words, len when there is none
	unknown  string // an option that is not listed
	vague    string // source of a word that may be an option
	vagueBad bool   // and is not merely the name of a file
	dashes   bool   // -- was seen
}

// scan reads words as a program with these options does. It never fails: an option that is not listed is
// taken for one without an argument. A value that looks like an option is judged as one, too: the program may
// take the option before it for one without an argument.
func (set *optset) scan(words []word, st programs.Style) scanned {
	s := set.split(words, st)
	if set.Reads {
		for _, w := range s.operands {
			s.hits = append(s.hits, hit{opt: guessed, name: guessed.Last, value: w, has: true})
		}
	}
	all := len(s.hits)
	s.hits = slices.DeleteFunc(s.hits, func(h hit) bool { return h.opt.Does == 'p' })
	if len(s.hits) < all {
		s.operands = nil
	}
	return s
}

func (set *optset) split(words []word, st programs.Style) scanned {
	s := scanned{rest: len(words)}
	stops := st == programs.POSIX || st == programs.Go
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.known && !w.safe() {
			if s.vague == "" || !w.files {
				s.vague = w.text
			}
			s.vagueBad = s.vagueBad || !w.files
		}
		v := w.text
		if !w.known {
			v = w.head
		}
		if v == "--" && w.known {
			s.dashes = true
			if s.rest > i+1 {
				s.rest = i + 1
			}
			s.operands = append(s.operands, words[i+1:]...)
			return s
		}
		if len(v) < 2 || v[0] != '-' {
			if s.rest > i {
				s.rest = i
			}
			if stops {
				s.operands = append(s.operands, words[i:]...)
				return s
			}
			s.operands = append(s.operands, w)
			continue
		}
		if v[1] == '-' || st == programs.Go || st == programs.Long {
			i += set.long(&s, words, i, st)
		} else {
			i += set.short(&s, words, i, st)
		}
	}
	return s
}

// long reads the long option at words[i] and returns how many further words it took.
func (set *optset) long(s *scanned, words []word, i int, st programs.Style) int {
	w := words[i]
	text := w.text
	if !w.known {
		text = w.head
	}
	name, val, attached := strings.Cut(text, "=")
	o := set.find(name)
	if o == nil && (st == programs.Go || st == programs.Long) {
		if strings.HasPrefix(name, "--") {
			o = set.find(name[1:])
		} else {
			o = set.find("-" + name)
		}
	} else if o == nil && len(name) > 2 {
		o = (*programs.Options)(set).Abbreviated(name)
	}
	if o == nil && st == programs.Long && len(text) > 2 && text[1] != '-' {
		// A compiler's -Idir.
		if o = set.find(text[:2]); o != nil && o.Arg == programs.Needed {
			s.hits = append(s.hits, hit{opt: o, name: o.Last, has: true, value: word{text: text[2:], known: w.known, head: text[2:]}})
			return 0
		}
		o = nil
	}
	if o == nil {
		if s.unknown == "" {
			s.unknown = name
		}
		return 0
	}
	h := hit{opt: o, name: o.Last}
	took := 0
	switch {
	case attached:
		h.has, h.value = true, word{text: val, known: w.known, head: val}
	case o.Arg == programs.Needed && i+1 < len(words):
		h.has, h.value = true, words[i+1]
		took = set.taken(s, o, h.value, st)
	}
	s.hits = append(s.hits, h)
	return took
}

// short reads the bundled short options at words[i] and returns how many further words they took.
func (set *optset) short(s *scanned, words []word, i int, st programs.Style) int {
	w := words[i]
	text := w.text
	if !w.known {
		text = w.head
	}
	for k := 1; k < len(text); k++ {
		var name string
		if o := set.find(text); k == 1 && o != nil {
			name = text // a long option with one dash, or a short one alone
		} else {
			name = "-" + text[k:k+1]
		}
		o := set.find(name)
		if o == nil {
			if s.unknown == "" {
				s.unknown = name
			}
			continue
		}
		h := hit{opt: o, name: name}
		if len(name) > 2 {
			k = len(text) - 1
		}
		rest := text[k+1:]
		switch {
		case o.Arg == programs.Digits:
			for k+1 < len(text) && text[k+1] >= '0' && text[k+1] <= '9' {
				k++
			}
			s.hits = append(s.hits, h)
			continue
		case o.Arg == programs.None:
			s.hits = append(s.hits, h)
			if len(name) > 2 {
				return 0
			}
			continue
		case rest != "" || !w.known:
			h.has, h.value = true, word{text: strings.TrimPrefix(rest, "="), known: w.known, head: rest}
			if o.Arg == programs.Attached {
				h.value.text = rest
			}
			s.hits = append(s.hits, h)
			return 0
		case o.Arg == programs.Needed && i+1 < len(words):
			h.has, h.value = true, words[i+1]
			s.hits = append(s.hits, h)
			return set.taken(s, o, h.value, st)
		}
		s.hits = append(s.hits, h)
		return 0
	}
	return 0
}

// taken returns how many words the value of an option takes, 0 when the word is to be judged as an option as
// well. Where the first operand ends the options, that would make another word the first operand, so there the
// word counts as an option that is not listed.
func (set *optset) taken(s *scanned, o *programs.Option, w word, st programs.Style) int {
	text := w.text
	if !w.known {
		text = w.head
	}
	if o.Does != 'c' && len(text) > 1 && text[0] == '-' && !isNumber(text[1:]) && text[1] != ' ' {
		if st != programs.POSIX {
			return 0
		}
		if s.unknown == "" {
			s.unknown = text
		}
	}
	if set.Values && o.Does == 0 && w.known && mayBeFile(text) {
		s.hits = append(s.hits, hit{opt: guessed, name: guessed.Last, value: w, has: true})
	}
	return 1
}

// mayBeFile says that a word could name a file rather than a number, a separator or a format.
func mayBeFile(s string) bool {
	return len(s) > 1 && !strings.ContainsAny(s, "%{\n") && strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || r < 0x80 && letter(byte(r)) })
}

// find returns the value of the last option with one of the names.
func (s *scanned) find(names ...string) (word, bool) {
	for i := len(s.hits) - 1; i >= 0; i-- {
		for _, n := range names {
			if s.hits[i].name == n || s.hits[i].opt.Last == n {
				return s.hits[i].value, true
			}
		}
	}
	return word{}, false
}

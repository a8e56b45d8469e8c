package word

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/programs"
)

// MustOptions compiles options that are constants of the program. It panics if they are invalid.
func MustOptions(s string) *Options {
	set, err := programs.CompileOptions(s)
	if err != nil {
		panic(err) // a constant of this package
	}
	return (*Options)(set)
}

// Codes returns the option values that are code.
func (s *Scanned) Codes() []Word {
	var list []Word
	for _, h := range s.Hits {
		if h.Opt.Does == 'c' && h.Has {
			list = append(list, h.Value)
		}
	}
	return list
}

// Number returns the value of an option as a number, or none if the option is missing or its value is no known number.
func (s *Scanned) Number(none int, names ...string) int {
	v, ok := s.Find(names...)
	if !ok {
		return none
	}
	n, err := strconv.Atoi(v.Text)
	if err != nil || n < 0 || !v.Known {
		return none
	}
	return n
}

// Options is a set of options of a program.
type Options programs.Options

// Find returns the option of that name, or nil.
func (set *Options) Find(name string) *programs.Option { return (*programs.Options)(set).Find(name) }

// guessed stands for a word that may name a file to read although no option says so.
var guessed = &programs.Option{Name: "file", Last: "file", Arg: programs.Needed, Does: 'r'}

// Hit is an option found in the words.
type Hit struct {
	Opt   *programs.Option
	Name  string
	Value Word
	Has   bool // it has a value
}

// Scanned is what the words of a program mean.
type Scanned struct {
	Hits     []Hit
	Operands []Word
	Rest     int    // index of the first operand in the words, len(words) if there is none
	Unknown  string // the first option that is not listed
	Vague    string // source of an unknown word that may be an option
	Doubt    Doubt  // how little is known of that word
	Existing bool   // that word holds names of files that existed, and no other word may be an option
	Dashes   bool   // -- was seen
}

// Doubt says how little is known of a word that may be an option. A higher value is worse.
type Doubt int

const (
	Named    Doubt = iota // the name of a file in the working directory, with an extension
	Listed                // the path of a file below the working directory, or parts of that path if it holds blanks
	Existing              // the path of a file
	Unclear
)

// DoubtOf returns how little is known of a word.
func DoubtOf(w *Word) Doubt {
	if !w.Files {
		return Unclear
	}
	doubt := Named
	for _, g := range w.Globs {
		if path.IsAbs(g) || climbs(g) {
			return Existing
		}
		if w.split || strings.Contains(g, "/") || !extension.MatchString(g) {
			doubt = Listed
		}
	}
	if len(w.Globs) == 0 {
		return Existing
	}
	return doubt
}

var extension = lazyregexp.New(`\.[a-z]+$`)

// Unlisted stands for an unknown option with a value. The value may name a file that is written or run.
var Unlisted = &programs.Option{Name: "unlisted", Last: "unlisted", Arg: programs.Needed, Does: 'o'}

// Scan reads words as a program with these options does. It never fails: it takes an unlisted option for one without an
// argument. It also reads a value that looks like an option as an option, because the program may take the option
// before it for one without an argument.
func (set *Options) Scan(words []Word, st programs.Style) Scanned {
	s := set.split(words, st)
	if set.Reads {
		for _, w := range s.Operands {
			s.Hits = append(s.Hits, Hit{Opt: guessed, Name: guessed.Last, Value: w, Has: true})
		}
	}
	all := len(s.Hits)
	s.Hits = slices.DeleteFunc(s.Hits, func(h Hit) bool { return h.Opt.Does == 'p' })
	if len(s.Hits) < all {
		s.Operands = nil
	}
	return s
}

func (set *Options) split(words []Word, st programs.Style) Scanned {
	s := Scanned{Rest: len(words)}
	stops := st == programs.POSIX || st == programs.Go
	for i := 0; i < len(words); i++ {
		w := words[i]
		v := w.Text
		if !w.Known {
			v = w.Head
		}
		if v == "--" && w.Known {
			s.Dashes = true
			if s.Rest > i+1 {
				s.Rest = i + 1
			}
			s.Operands = append(s.Operands, words[i+1:]...)
			return s
		}
		if len(v) < 2 || v[0] != '-' {
			s.doubt(w, len(s.Hits), st)
			if s.Rest > i {
				s.Rest = i
			}
			if stops {
				s.Operands = append(s.Operands, words[i:]...)
				return s
			}
			s.Operands = append(s.Operands, w)
			continue
		}
		before := len(s.Hits)
		if v[1] == '-' || st == programs.Go || st == programs.Long {
			i += set.long(&s, words, i, st)
		} else {
			i += set.short(&s, words, i, st)
		}
		s.doubt(w, before, st)
		if n := len(s.Hits); n > before && s.Hits[n-1].Opt.Does == 'M' && i < len(words) {
			s.Operands = append(s.Operands, words[i+1:]...) // the module reads the rest
			return s
		}
	}
	return s
}

// takesRest reports whether the last option in an unknown word takes the rest of the word as its value.
func (h *Hit) takesRest(w *Word, st programs.Style) bool {
	attached := strings.Contains(w.Head, "=") || st != programs.Go && st != programs.Long && !strings.HasPrefix(w.Head, "--")
	number := len(w.Globs) > 0 && !w.Files
	takes := h.Opt.Arg == programs.Needed || h.Opt.Arg == programs.Attached && number
	return attached && takes && h.Has && !h.Value.Known && h.Opt != Unlisted
}

// doubt records an unknown word that may be an option. It does not record a word whose rest is the value of an option
// at its beginning. before is the number of hits before the word.
func (s *Scanned) doubt(w Word, before int, st programs.Style) {
	if w.Known || w.Safe() || w.undashed() {
		return
	}
	if n := len(s.Hits); n > before && !w.Many && s.Hits[n-1].takesRest(&w, st) {
		return
	}
	s.Existing = w.exists && (s.Vague == "" || s.Existing && s.Vague == w.Text)
	if doubt := DoubtOf(&w); s.Vague == "" || doubt > s.Doubt {
		s.Vague, s.Doubt = w.Text, doubt
	}
}

// long reads the long option at words[i] and returns how many further words it took.
func (set *Options) long(s *Scanned, words []Word, i int, st programs.Style) int {
	w := words[i]
	text := w.Text
	if !w.Known {
		text = w.Head
	}
	name, val, attached := strings.Cut(text, "=")
	o, others := set.spelled(name, st)
	if o == nil && st == programs.Long && len(text) > 2 && text[1] != '-' {
		// A compiler option such as -Idir.
		if o = set.Find(text[:2]); o != nil && o.Arg == programs.Needed {
			s.Hits = append(s.Hits, Hit{Opt: o, Name: o.Last, Has: true, Value: Word{Text: text[2:], Known: w.Known, Head: text[2:]}})
			return 0
		}
		o = nil
	}
	if o == nil {
		s.Unknown = cmp.Or(s.Unknown, name)
		if !attached {
			val = text[min(2, len(text)):] // -I/srv/x
		}
		if val != "" {
			s.Hits = append(s.Hits, Hit{Opt: Unlisted, Name: name, Has: true, Value: Word{Text: val, Known: w.Known, Head: val}})
		}
		return 0
	}
	h := Hit{Opt: o, Name: o.Last}
	took := 0
	switch {
	case attached:
		h.Has, h.Value = true, Word{Text: val, Known: w.Known, Head: val}
	case o.Arg == programs.Needed && i+1 < len(words):
		h.Has, h.Value = true, words[i+1]
		took = set.taken(s, o, h.Value, st)
	}
	s.Hits = append(s.Hits, h)
	for _, other := range others {
		s.Hits = append(s.Hits, Hit{Opt: other, Name: other.Last, Has: h.Has, Value: h.Value})
	}
	return took
}

// spelled returns the long option of that name, also in the other spellings of its style, or nil. others lists further
// options that an abbreviation may mean.
func (set *Options) spelled(name string, st programs.Style) (o *programs.Option, others []*programs.Option) {
	o = set.Find(name)
	switch {
	case o != nil:
	case st == programs.Go || st == programs.Long:
		if strings.HasPrefix(name, "--") {
			return set.Find(name[1:]), nil
		}
		return set.Find("-" + name), nil
	case len(name) > 2:
		if list := (*programs.Options)(set).Abbreviated(name); len(list) > 0 {
			return list[0], list[1:]
		}
	}
	return o, nil
}

// short reads the bundled short options at words[i] and returns how many further words they took.
func (set *Options) short(s *Scanned, words []Word, i int, st programs.Style) int {
	w := words[i]
	text := w.Text
	if !w.Known {
		text = w.Head
	}
	for k := 1; k < len(text); k++ {
		var name string
		if o := set.Find(text); k == 1 && o != nil {
			name = text // a long option with one dash, or a single short option
		} else {
			name = "-" + text[k:k+1]
		}
		o := set.Find(name)
		if o == nil {
			s.Unknown = cmp.Or(s.Unknown, name)
			if rest := text[k+1:]; rest != "" {
				s.Hits = append(s.Hits, Hit{Opt: Unlisted, Name: name, Has: true, Value: Word{Text: rest, Known: w.Known, Head: rest}})
			}
			continue
		}
		h := Hit{Opt: o, Name: name}
		if len(name) > 2 {
			k = len(text) - 1
		}
		rest := text[k+1:]
		switch {
		case o.Arg == programs.Digits:
			for k+1 < len(text) && text[k+1] >= '0' && text[k+1] <= '9' {
				k++
			}
			s.Hits = append(s.Hits, h)
			continue
		case o.Arg == programs.None:
			s.Hits = append(s.Hits, h)
			if len(name) > 2 {
				return 0
			}
			continue
		case rest != "" || !w.Known:
			h.Has, h.Value = true, Word{Text: strings.TrimPrefix(rest, "="), Known: w.Known, Head: rest}
			if o.Arg == programs.Attached {
				h.Value.Text = rest
			}
			s.Hits = append(s.Hits, h)
			return 0
		case o.Arg == programs.Needed && i+1 < len(words):
			h.Has, h.Value = true, words[i+1]
			s.Hits = append(s.Hits, h)
			return set.taken(s, o, h.Value, st)
		}
		s.Hits = append(s.Hits, h)
		return 0
	}
	return 0
}

// taken returns how many words the value of an option takes. It returns 0 if the word has to be read as an option as
// well. If the first operand ends the options, that would make another word the first operand, so there it counts as
// unlisted.
func (set *Options) taken(s *Scanned, o *programs.Option, w Word, st programs.Style) int {
	text := w.Text
	if !w.Known {
		text = w.Head
	}
	if o.Does != 'c' && len(text) > 1 && text[0] == '-' && !IsNumber(text[1:]) && text[1] != ' ' {
		if st != programs.POSIX {
			return 0
		}
		s.Unknown = cmp.Or(s.Unknown, text)
	}
	if set.Values && o.Does == 0 && w.Known && mayBeFile(text) {
		s.Hits = append(s.Hits, Hit{Opt: guessed, Name: guessed.Last, Value: w, Has: true})
	}
	return 1
}

// mayBeFile reports whether a word could name a file rather than a number, a separator or a format.
func mayBeFile(s string) bool {
	return len(s) > 1 && !strings.ContainsAny(s, "%{\n") && strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || r < 0x80 && parse.Letter(byte(r)) })
}

// Find returns the value of the last option with one of the names, and whether there is such an option.
func (s *Scanned) Find(names ...string) (Word, bool) {
	for i := len(s.Hits) - 1; i >= 0; i-- {
		for _, n := range names {
			if s.Hits[i].Name == n || s.Hits[i].Opt.Last == n {
				return s.Hits[i].Value, true
			}
		}
	}
	return Word{}, false
}

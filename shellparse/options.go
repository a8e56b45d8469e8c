package shellparse

import (
	"fmt"
	"slices"
	"strings"
)

// The option tables are written in one small language. A list of options is separated by blanks, each is
//
//	-o,--output=w     the names, whether it takes an argument, and what it does
//
// "=" takes an argument (attached or the next word), "?" takes one only when attached, "#" takes digits that
// are attached, and ":" takes none (--force:!). The letter after it says what the option does:
//
//	(none)  nothing that matters here
//	x       executes its argument, or loads code from it
//	w       writes the file that its argument names
//	r       reads the file that its argument names
//	l       reads the file that its argument names, and every file that is named there
//	t       its argument is a directory that files are written to
//	d       runs the program in the directory that its argument names
//	c       its argument is code in the program's own language
//	!       changes what the command does so that a rule for its words does not cover it: destroys, uploads,
//	        talks to another place
//	u       its argument can name a file to send: @file, or name=@file
//	k       its argument is a git setting, name=value
//	g       its argument is where git finds a repository
//	s       its argument is a shell text that is run
//	f       its argument is a built-in name, or code when it looks like a path
//	P       its argument is a plugin that is loaded, unless it begins with no:
//	X       its argument is a request method; other than GET it changes something
//	F       its argument is a field to send, which makes the request change something
//	v       its argument is a variable of the build, name=value
//	M       its argument is a module that runs
//	L       its argument is a library that is loaded
//	o       its argument is a file that configures it, harmless below the start
//	D       its argument is a property of a Java build
//	m       the form of the command with this option writes its operands (sed -i)
//	n       its argument is never a file: a glob of names, a type
//	p       the form of the command with this option prints, and writes none of its operands (gzip -c)
//
// Two items are no options: "<operand>:r" says that the operands are read whatever else happens to them
// (gzip), and "<value>:r" that a word which stands as the value of an option may be a file that is read. Readers
// have it, so that a mistake in their list does not hide a file.
type option struct {
	name string // the last of its names, for messages
	arg  argument
	does byte
}

type argument uint8

const (
	argNone argument = iota
	argNeeded
	argAttached
	argDigits
)

// dangerous says that the option alone keeps a rule from covering the command.
func (o *option) dangerous() bool {
	return o.does == 'x' || o.does == '!' || o.does == 'w' || o.does == 'm' || o.does == 't' || o.does == 'u' || o.does == 'k' || o.does == 's' || o.does == 'l'
}

// optset is a compiled list of options.
type optset struct {
	byName map[string]*option
	longs  []string // dangerous long options, which a GNU program also takes abbreviated
	danger bool     // an option executes, or does worse than writing
	writes bool     // an option writes
	values bool     // the value of an option may be a file that is read
	reads  bool     // every operand is read
}

// guessed is the option that reads a word of which the options do not say that it is a file.
var guessed = &option{name: "file", arg: argNeeded, does: 'r'}

// compileOptions reads the language above.
func compileOptions(list string) (*optset, error) {
	set := &optset{byName: map[string]*option{}}
	for _, item := range strings.Fields(list) {
		switch item {
		case "<operand>:r":
			set.reads = true
			continue
		case "<value>:r":
			set.values = true
			continue
		}
		o := &option{}
		names := item
		if i := strings.IndexAny(item, "=?#"); i > 0 {
			names, o.arg = item[:i], argNeeded
			switch item[i] {
			case '?':
				o.arg = argAttached
			case '#':
				o.arg = argDigits
			}
			if rest := item[i+1:]; len(rest) == 1 {
				o.does = rest[0]
			} else if rest != "" {
				return nil, fmt.Errorf("option %q: want one letter after the argument sign", item)
			}
		} else if i := strings.IndexByte(item, ':'); i > 0 {
			if len(item) != i+2 {
				return nil, fmt.Errorf("option %q: want one letter after the colon", item)
			}
			names, o.does = item[:i], item[i+1]
		}
		if o.does != 0 && strings.IndexByte("xwrltdc!mpukgsfPXFvMLoDn", o.does) < 0 {
			return nil, fmt.Errorf("option %q: unknown letter %q", item, string(o.does))
		}
		for _, n := range strings.Split(names, ",") {
			if n == "" {
				return nil, fmt.Errorf("option %q: empty name", item)
			}
			if strings.Contains(n, "!") {
				return nil, fmt.Errorf("option %q: what an option without an argument does stands after a colon, as in --force:!", item)
			}
			o.name = n
			set.byName[n] = o
			if strings.HasPrefix(n, "--") && o.does != 0 && o.does != 'n' {
				set.longs = append(set.longs, n)
			}
		}
		if o.dangerous() {
			if strings.IndexByte("wmtl", o.does) < 0 {
				set.danger = true
			} else {
				set.writes = true
			}
		}
	}
	return set, nil
}

// style is how a program reads its words.
type style uint8

const (
	styleGNU   style = iota // bundled short options, abbreviated long ones, options after operands
	stylePOSIX              // like GNU, but the first operand ends the options
	styleGo                 // -name and --name, nothing bundled or abbreviated, the first operand ends the options
	styleLong               // like Go, but options may follow operands (terraform, openssl, java)
)

// hit is an option that was found.
type hit struct {
	opt   *option
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
func (set *optset) scan(words []word, st style) scanned {
	s := set.split(words, st)
	if set.reads {
		for _, w := range s.operands {
			s.hits = append(s.hits, hit{opt: guessed, name: guessed.name, value: w, has: true})
		}
	}
	all := len(s.hits)
	s.hits = slices.DeleteFunc(s.hits, func(h hit) bool { return h.opt.does == 'p' })
	if len(s.hits) < all {
		s.operands = nil
	}
	return s
}

func (set *optset) split(words []word, st style) scanned {
	s := scanned{rest: len(words)}
	stops := st == stylePOSIX || st == styleGo
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
		if v[1] == '-' || st == styleGo || st == styleLong {
			i += set.long(&s, words, i, st)
		} else {
			i += set.short(&s, words, i, st)
		}
	}
	return s
}

// long reads the long option at words[i] and returns how many further words it took.
func (set *optset) long(s *scanned, words []word, i int, st style) int {
	w := words[i]
	text := w.text
	if !w.known {
		text = w.head
	}
	name, val, attached := strings.Cut(text, "=")
	o := set.byName[name]
	if o == nil && (st == styleGo || st == styleLong) {
		if strings.HasPrefix(name, "--") {
			o = set.byName[name[1:]]
		} else {
			o = set.byName["-"+name]
		}
	} else if o == nil && len(name) > 2 {
		for _, full := range set.longs {
			if strings.HasPrefix(full, name) {
				o = set.byName[full]
				break
			}
		}
	}
	if o == nil && st == styleLong && len(text) > 2 && text[1] != '-' {
		// A compiler's -Idir.
		if o = set.byName[text[:2]]; o != nil && o.arg == argNeeded {
			s.hits = append(s.hits, hit{opt: o, name: o.name, has: true, value: word{text: text[2:], known: w.known, head: text[2:]}})
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
	h := hit{opt: o, name: o.name}
	took := 0
	switch {
	case attached:
		h.has, h.value = true, word{text: val, known: w.known, head: val}
	case o.arg == argNeeded && i+1 < len(words):
		h.has, h.value = true, words[i+1]
		took = set.taken(s, o, h.value, st)
	}
	s.hits = append(s.hits, h)
	return took
}

// short reads the bundled short options at words[i] and returns how many further words they took.
func (set *optset) short(s *scanned, words []word, i int, st style) int {
	w := words[i]
	text := w.text
	if !w.known {
		text = w.head
	}
	for k := 1; k < len(text); k++ {
		var name string
		if o := set.byName[text]; k == 1 && o != nil {
			name = text // a long option with one dash, or a short one alone
		} else {
			name = "-" + text[k:k+1]
		}
		o := set.byName[name]
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
		case o.arg == argDigits:
			for k+1 < len(text) && text[k+1] >= '0' && text[k+1] <= '9' {
				k++
			}
			s.hits = append(s.hits, h)
			continue
		case o.arg == argNone:
			s.hits = append(s.hits, h)
			if len(name) > 2 {
				return 0
			}
			continue
		case rest != "" || !w.known:
			h.has, h.value = true, word{text: strings.TrimPrefix(rest, "="), known: w.known, head: rest}
			if o.arg == argAttached {
				h.value.text = rest
			}
			s.hits = append(s.hits, h)
			return 0
		case o.arg == argNeeded && i+1 < len(words):
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
func (set *optset) taken(s *scanned, o *option, w word, st style) int {
	text := w.text
	if !w.known {
		text = w.head
	}
	if o.does != 'c' && len(text) > 1 && text[0] == '-' && !isNumber(text[1:]) && text[1] != ' ' {
		if st != stylePOSIX {
			return 0
		}
		if s.unknown == "" {
			s.unknown = text
		}
	}
	if set.values && o.does == 0 && w.known && mayBeFile(text) {
		s.hits = append(s.hits, hit{opt: guessed, name: guessed.name, value: w, has: true})
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
			if s.hits[i].name == n || s.hits[i].opt.name == n {
				return s.hits[i].value, true
			}
		}
	}
	return word{}, false
}

package embedded

import (
	"slices"
	"strings"
)

// Jq reports whether a program only turns its input into output, whichever jq runs it: every name in it is a function,
// a keyword or a format of the lists below, or is defined by the program before its body.
func Jq(program string) bool {
	r := jqReader{s: program, names: jqNames}
	return readable(program) && r.program()
}

// Yq is Jq for an expression of yq. There are two programs called yq: one reads the expression as jq does, the other
// has a similar language of its own.
func Yq(expression string) bool {
	r := jqReader{s: expression, names: yqNames, both: true}
	return readable(expression) && r.program()
}

var jqKeywords = names("if then elif else end as reduce foreach try catch label break and or __loc__")

// jqNames lists the functions that only compute.
var jqNames = names(`empty error not length utf8bytelength keys keys_unsorted values has in map map_values path paths leaf_paths pick del
	getpath setpath delpaths to_entries from_entries with_entries select recurse recurse_down add any all flatten range floor
	sqrt pow log log2 log10 exp exp2 exp10 round ceil trunc fabs abs sin cos tan asin acos atan atan2 sinh cosh tanh cbrt significand logb
	gamma lgamma tgamma frexp ldexp scalb scalbln nearbyint rint fmin fmax fma fmod tostring tonumber toboolean type infinite nan isinfinite isnan
	isnormal isvalid sort sort_by group_by min max min_by max_by unique unique_by reverse contains inside startswith endswith combinations
	ltrimstr rtrimstr trimstr trim ltrim rtrim explode implode split join ascii recurse transpose first last nth until repeat while limit skip
	indices index rindex splits sub gsub test match capture scan ascii_downcase ascii_upcase tojson fromjson todate fromdate now
	dateadd datesub date strptime strftime strflocaltime mktime gmtime localtime fromdateiso8601 todateiso8601 fromdateiso8601 dateiso8601
	input inputs input_line_number debug stderr halt halt_error truncate_stream fromstream tostream getpath ascii walk
	arrays objects iterables booleans numbers normals finites strings nulls scalars values null true false isempty toarray have_literal_numbers
	have_decnum significand drem ldexp trunc tojson bsearch splits ascii limit IN INDEX getpath error builtins add
	abs have_decnum ltrimstr rtrimstr`)

// yqNames lists names that only compute in both yqs, or in one if the other does not know them.
var yqNames = names(`not length keys has map map_values path paths pick omit del delpaths getpath setpath to_entries from_entries with_entries select
	recurse add any all any_c all_c flatten range floor sqrt round ceil tostring tonumber to_string to_number type tag kind sort sort_by sort_keys
	group_by min max unique unique_by reverse contains startswith endswith ltrimstr rtrimstr trim split join first last limit until test
	match capture sub upcase downcase ascii_downcase ascii_upcase tojson fromjson to_json from_json to_yaml from_yaml to_props to_csv to_tsv to_xml
	document_index di file_index fileIndex fi line column key parent style anchor alias line_comment head_comment foot_comment comments
	is_key explode splitDoc split_doc now null true false empty error values shuffle pivot with`)

var jqFormats = names("text json html uri csv tsv sh base64 base64d base32 base32d")

type jqReader struct {
	s     string
	i     int
	names map[string]bool
	own   []string // functions defined so far, and parameters of the function being read
	both  bool     // two languages must read the text alike
	depth int
}

// program reads the definitions and the body.
func (r *jqReader) program() bool {
	for !r.both && r.word("def") {
		if !r.definition() {
			return false
		}
	}
	return r.terms(0)
}

// word consumes a word if it is next.
func (r *jqReader) word(w string) bool {
	r.blanks()
	if !strings.HasPrefix(r.s[r.i:], w) || r.i+len(w) < len(r.s) && jqName(r.s[r.i+len(w)]) {
		return false
	}
	r.i += len(w)
	return true
}

func jqName(c byte) bool { return letter(c) || digit(c) }

func (r *jqReader) blanks() {
	for r.i < len(r.s) && strings.IndexByte(" \t\n", r.s[r.i]) >= 0 {
		r.i++
	}
}

// name reads a name. It returns "" if none is next.
func (r *jqReader) name() string {
	start := r.i
	if r.i < len(r.s) && letter(r.s[r.i]) {
		for r.i < len(r.s) && jqName(r.s[r.i]) {
			r.i++
		}
	}
	return r.s[start:r.i]
}

func (r *jqReader) take(c byte) bool {
	r.blanks()
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

// definition reads the part of a definition after def. A name is known from there on, a parameter only in the body.
func (r *jqReader) definition() bool {
	r.blanks()
	name := r.name()
	if name == "" || jqKeywords[name] {
		return false
	}
	r.own = append(r.own, name)
	outer := len(r.own)
	if r.take('(') {
		for {
			r.blanks()
			if r.i < len(r.s) && r.s[r.i] == '$' {
				r.i++
			}
			p := r.name()
			if p == "" || jqKeywords[p] || p == "ENV" {
				return false
			}
			r.own = append(r.own, p)
			if r.take(')') {
				break
			}
			if !r.take(';') {
				return false
			}
		}
	}
	if !r.take(':') || !r.terms(';') {
		return false
	}
	r.own = r.own[:outer]
	return true
}

// terms reads up to the closing character (0 means the end of the text). It reads nested brackets on the way.
func (r *jqReader) terms(closing byte) bool {
	if r.depth++; r.depth > 50 {
		return false
	}
	defer func() { r.depth-- }()
	var open []byte
	last := byte(0) // the last character that was not blank; 'a' for a term
	for {
		r.blanks()
		if r.i >= len(r.s) {
			return closing == 0 && len(open) == 0
		}
		c := r.s[r.i]
		top := byte(0)
		if len(open) > 0 {
			top = open[len(open)-1]
		} else if c == closing {
			r.i++
			return true
		}
		switch {
		case letter(c):
			if !r.letters(&open, top, last) {
				return false
			}
			c = 'a'
		case strings.IndexByte("\"$@.", c) >= 0 || digit(c):
			if !r.term(c) {
				return false
			}
			c = 'a'
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, c)
			r.i++
		case closers[c] == top && top != 0:
			open = open[:len(open)-1]
			r.i++
		case strings.IndexByte("|,:;=<>!+-*/%?", c) >= 0 && (c != ';' || top == '('):
			r.i++
		default:
			return false
		}
		last = c
	}
}

// closers maps each closing bracket to its opening bracket.
var closers = map[byte]byte{')': '(', ']': '[', '}': '{'}

// letters reads a keyword or a name, and records what it opens or closes.
func (r *jqReader) letters(open *[]byte, top, last byte) bool {
	step, ok := r.named(top, last)
	if !ok {
		return false
	}
	switch step {
	case 'i':
		*open = append(*open, 'i')
	case 'e':
		*open = (*open)[:len(*open)-1]
	}
	return true
}

// term reads a string, a variable, a format, a path or a number that begins with c.
func (r *jqReader) term(c byte) bool {
	switch c {
	case '"':
		return r.text()
	case '$':
		r.i++
		name := r.name()
		return name != "" && name != "ENV" && name != "__prog_args" && !r.module()
	case '@':
		r.i++
		return jqFormats[r.name()]
	case '.':
		if r.i++; r.i >= len(r.s) {
			return true
		}
		if !letter(r.s[r.i]) {
			return !digit(r.s[r.i]) // some read .5
		}
		r.name()
		// One of the two yqs may read further.
		return !r.both || r.i >= len(r.s) || strings.IndexByte(" ;}{:[],|.()=!?\n", r.s[r.i]) >= 0
	}
	for r.i < len(r.s) && (digit(r.s[r.i]) || r.s[r.i] == '.') {
		r.i++
	}
	return r.i >= len(r.s) || !letter(r.s[r.i])
}

// named reads a name inside the bracket top, after the character last: a key, a keyword or a function. step is 'i' if
// it begins an if, and 'e' if it ends one.
func (r *jqReader) named(top, last byte) (step byte, ok bool) {
	name := r.name()
	switch {
	case r.module():
		return 0, false
	case top == '{' && (last == '{' || last == ','):
		return 0, r.key()
	case name == "if":
		return 'i', true
	case name == "end":
		return 'e', top == 'i'
	case jqKeywords[name]:
		return 0, !r.both || name == "and" || name == "or" || name == "as" || name == "reduce"
	}
	return 0, r.names[name] || r.defined(name)
}

// key reports whether the name just read is the key of an object, not a function.
func (r *jqReader) key() bool {
	if r.both {
		return false // one of the two yqs reads it as a function
	}
	r.blanks()
	return r.i < len(r.s) && (strings.IndexByte(":,}", r.s[r.i]) >= 0) && !strings.HasPrefix(r.s[r.i:], "::")
}

// module reports whether a name continues with that of a module.
func (r *jqReader) module() bool { return strings.HasPrefix(r.s[r.i:], "::") }

func (r *jqReader) defined(name string) bool {
	return slices.Contains(r.own, name)
}

// text reads a string and the programs in it.
func (r *jqReader) text() bool {
	for r.i++; r.i < len(r.s); r.i++ {
		switch r.s[r.i] {
		case '"':
			r.i++
			return true
		case '\n':
			return false
		case '\\':
			r.i++
			if r.i >= len(r.s) || strings.IndexByte(`"\/bfnrtu(`, r.s[r.i]) < 0 {
				return false
			}
			if r.s[r.i] != '(' {
				break
			}
			r.i++
			if r.both || !r.terms(')') {
				return false
			}
			r.i--
		}
	}
	return false
}

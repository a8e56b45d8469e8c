// Package chunks splits files into passages for search, along the boundaries of their language.
package chunks

import (
	"cmp"
	"math"
	"strings"
	"unicode/utf8"

	"callgate/rag/internal/terms"
)

// Chunk is a passage of a file that search finds as a unit.
type Chunk struct {
	Start, End int    // lines, from 1, both included
	Symbol     string // the title: the first thing that it defines, or what it is part of
	Outer      string // what it is part of
	Defines    []string
	Text       string // a part of the source
}

const (
	// maxChunk is the size in bytes up to which chunks are filled. Larger units are split.
	maxChunk = 1500
	// minChunk is the size in bytes below which a chunk says too little.
	minChunk = 200
	// maxNesting bounds the recursion over nested units. Deeper units are split by size.
	maxNesting = 40
	// maxLevels bounds how many indentations are tried for one unit.
	maxLevels = 16
	// maxIndent is the column beyond which indentation does not count.
	maxIndent = 160
)

// Of splits a text along the boundaries of its language.
func Of(lang Language, src string) []Chunk {
	var f *file
	switch lang.Name {
	case "go":
		f = newGoFile(src)
	case "markdown":
		return chunkMarkdown(src)
	}
	if f == nil {
		f = newFile(src)
		if lang.Kind == KindCode {
			f.defs = definitions(lang.Name, f.lines, src)
		}
	}
	if f.units == nil {
		f.split(0, len(f.lines), 0)
	} else {
		f.merge(f.units, len(f.lines), 0)
	}
	f.name()
	return f.chunks
}

// file is a text being split into chunks.
type file struct {
	src    string
	prose  bool // sections stay separate, however short
	lines  []line
	units  []int // first lines of the top-level units, if a parser knows them
	defs   []definition
	chunks []Chunk
}

// line is a line of a text, as offsets.
type line struct {
	start, text, end int // text: where the indentation ends; end: before the line break
	indent           int // in columns
	blank            bool
	closes           bool // continues what stands above: a closing bracket, end, else
	attaches         bool // belongs to what follows: a comment, a decorator, an attribute
}

func newFile(src string) *file {
	f := &file{src: src, lines: make([]line, 0, strings.Count(src, "\n")+1)}
	for at := 0; at < len(src); {
		end, next := len(src), len(src)
		if i := strings.IndexByte(src[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		f.lines = append(f.lines, readLine(src, at, end))
		at = next
	}
	return f
}

func readLine(src string, start, end int) line {
	l := line{start: start, text: start, end: end}
	for ; l.text < end; l.text++ {
		switch src[l.text] {
		case ' ':
			l.indent++
			continue
		case '\t':
			l.indent += 4
			continue
		}
		break
	}
	l.indent = min(l.indent, maxIndent)
	text := strings.TrimRight(src[l.text:end], " \t\r")
	if text == "" {
		l.blank = true
		return l
	}
	switch text[0] {
	case '}', ')', ']', '{':
		l.closes = true
	case '#', '*', '@':
		l.attaches = true
	case '/':
		l.attaches = strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*")
	case '-':
		l.attaches = strings.HasPrefix(text, "--")
	case '[':
		l.attaches = text[len(text)-1] == ']'
	case 'e', 'f', 'c', 'r', 'd':
		l.closes = continues[leadingWord(text)]
	}
	return l
}

var continues = terms.Set(`end else elif elsif elseif except finally catch rescue ensure fi done esac`)

func (f *file) size(from, to int) int {
	if from >= to {
		return 0
	}
	return f.lines[to-1].end - f.lines[from].start
}

// emit makes a chunk of the lines [from, to). It splits a single endless line.
func (f *file) emit(from, to int) {
	for from < to && f.lines[from].blank {
		from++
	}
	for to > from && f.lines[to-1].blank {
		to--
	}
	if from >= to {
		return
	}
	if n := len(f.chunks); n > 0 && !f.prose && f.size(from, to) < minChunk { // a few lines join the chunk above
		if last := &f.chunks[n-1]; f.size(last.Start-1, to) <= maxChunk+minChunk && last.End <= from {
			last.End, last.Text = to, f.src[f.lines[last.Start-1].start:f.lines[to-1].end]
			return
		}
	}
	text := f.src[f.lines[from].start:f.lines[to-1].end]
	for len(text) > 4*maxChunk {
		cut := maxChunk
		for cut > maxChunk-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		f.chunks = append(f.chunks, Chunk{Start: from + 1, End: to, Text: text[:cut]})
		text = text[cut:]
	}
	f.chunks = append(f.chunks, Chunk{Start: from + 1, End: to, Text: text})
}

// split splits the lines [from, to) into units by indentation, as deep as needed.
func (f *file) split(from, to, depth int) {
	if f.size(from, to) <= maxChunk {
		f.emit(from, to)
		return
	}
	level := -1
	for range maxLevels {
		if level = f.nextIndent(from, to, level); level == math.MaxInt || depth >= maxNesting {
			break
		}
		if units := f.unitsAt(from, to, level); len(units) > 1 {
			f.merge(units, to, depth)
			return
		}
	}
	for at := from; at < to; {
		next := at + 1
		for next < to && f.size(at, next+1) <= maxChunk {
			next++
		}
		f.emit(at, next)
		at = next
	}
}

// nextIndent returns the smallest indentation above level in [from, to), or math.MaxInt.
func (f *file) nextIndent(from, to, level int) int {
	least := math.MaxInt
	for i := from; i < to; i++ {
		if l := &f.lines[i]; !l.blank && !l.closes && l.indent > level {
			least = min(least, l.indent)
		}
	}
	return least
}

// unitsAt returns where units start in [from, to): at lines indented up to level, with the comments above them.
func (f *file) unitsAt(from, to, level int) []int {
	units := []int{from}
	attached := false
	for i := from; i < to; i++ {
		switch l := &f.lines[i]; {
		case l.blank, l.indent > level, l.closes:
			attached = false
		default:
			if !attached && i > from {
				units = append(units, i)
			}
			attached = l.attaches
		}
	}
	return units
}

// merge makes chunks of the units that start at the given lines; the last unit ends before line to. It joins small
// units as long as they fit, and splits large ones.
func (f *file) merge(units []int, to, depth int) {
	open := units[0] // first line of the chunk being filled
	for i, start := range units {
		end := to
		if i+1 < len(units) {
			end = units[i+1]
		}
		switch {
		case f.size(start, end) > maxChunk:
			f.splitAfter(open, start, end, depth+1)
			open = end
		case f.size(open, end) > maxChunk:
			f.emit(open, start)
			open = start
		}
	}
	f.emit(open, to)
}

// splitAfter splits the unit [start, to) and makes a chunk of the lines from open up to it. If those are few, they join
// the unit's first chunk.
func (f *file) splitAfter(open, start, to, depth int) {
	few := f.size(open, start) < minChunk
	if !few {
		f.emit(open, start)
	}
	first := len(f.chunks)
	f.split(start, to, depth)
	if few && first < len(f.chunks) {
		for open < start && f.lines[open].blank {
			open++
		}
		c := &f.chunks[first]
		c.Text = f.src[f.lines[open].start:f.lines[c.Start-1].start] + c.Text
		c.Start = open + 1
	}
}

// name sets the symbols of each chunk: what it defines, or else the definition that encloses it.
func (f *file) name() {
	var enclosing []definition
	next := 0
	for i := range f.chunks {
		c := &f.chunks[i]
		for next < len(f.defs) && f.defs[next].line < c.Start-1 { // left over from a chunk that was cut within a line
			next++
		}
		above := len(enclosing)
		first := f.lines[c.Start-1].indent
		for above > 0 && enclosing[above-1].indent >= first {
			above--
		}
		if above > 0 {
			c.Outer = enclosing[above-1].name
		}
		for next < len(f.defs) && f.defs[next].line < c.End {
			d := f.defs[next]
			next++
			c.Defines = append(c.Defines, d.name)
			if d.minor {
				continue
			}
			c.Symbol = cmp.Or(c.Symbol, d.name)
			for len(enclosing) > 0 && enclosing[len(enclosing)-1].indent >= d.indent {
				enclosing = enclosing[:len(enclosing)-1]
			}
			enclosing = append(enclosing, d)
		}
		c.Symbol = cmp.Or(c.Symbol, c.Outer)
		if c.Symbol == "" && len(c.Defines) > 0 {
			c.Symbol = c.Defines[0]
		}
	}
}

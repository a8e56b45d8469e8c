package chunks

import "strings"

// minSection is the size in bytes below which a section is joined to the next.
const minSection = 240

// chunkMarkdown makes each section a chunk. Its symbol is the path of headings above it.
func chunkMarkdown(src string) []Chunk {
	f := newFile(src)
	f.prose = true
	var titles []string // the headings above, outermost first
	var levels []int
	fence := ""
	open := 0
	title := ""
	flush := func(to int) {
		first := len(f.chunks)
		if f.size(open, to) > maxChunk {
			f.merge(f.paragraphs(open, to), to, maxNesting)
		} else {
			f.emit(open, to)
		}
		for i := first; i < len(f.chunks); i++ {
			f.chunks[i].Symbol = title
		}
		if first < len(f.chunks) && len(titles) > 0 {
			f.chunks[first].Defines = titles[len(titles)-1:]
		}
		open = to
	}
	for i := range f.lines {
		l := &f.lines[i]
		text := f.src[l.text:l.end]
		if mark := fenceMark(text); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		level := headingLevel(text)
		if fence != "" || level == 0 || l.indent > 3 {
			continue
		}
		if f.size(open, i) >= minSection {
			flush(i)
		}
		for len(levels) > 0 && levels[len(levels)-1] >= level {
			titles, levels = titles[:len(titles)-1], levels[:len(levels)-1]
		}
		titles = append(titles[:len(titles):len(titles)], strings.Trim(text, "# \t\r"))
		levels = append(levels, level)
		title = strings.Join(titles, " > ")
	}
	flush(len(f.lines))
	return f.chunks
}

// paragraphs returns the first lines of the paragraphs in [from, to).
func (f *file) paragraphs(from, to int) []int {
	units := []int{from}
	for i := from + 1; i < to; i++ {
		if f.lines[i-1].blank && !f.lines[i].blank {
			units = append(units, i)
		}
	}
	return units
}

// headingLevel returns the number of # before a heading, or 0 if text is no heading.
func headingLevel(text string) int {
	n := 0
	for n < len(text) && text[n] == '#' {
		n++
	}
	if n > 6 || n == len(text) || n > 0 && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return n
}

// fenceMark returns the run of ``` or ~~~ at the start of text, or "" if there is none.
func fenceMark(text string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, c)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}

package exposition

import (
	"fmt"
	"strconv"
	"strings"

	"callgate/internal/lazyregexp"
)

var sample = lazyregexp.New(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*",?)*\})? ([^ ]+)$`)

var plainHelp = strings.NewReplacer(`\\`, `\`, `\n`, "\n")

// Parse reads a page that WriteTo wrote, in another process and perhaps another version.
func Parse(text []byte) (Page, error) {
	p := Page{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		comment, isComment := strings.CutPrefix(line, "# ")
		if isComment {
			p.comment(comment)
			continue
		}
		if line == "" {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("the line %q is no sample", line)
		}
		if _, err := strconv.ParseFloat(m[2], 64); err != nil {
			return nil, fmt.Errorf("the line %q is no sample: %w", line, err)
		}
		f := p.of(m[1])
		f.series = append(f.series, line+"\n"...)
	}
	return p, nil
}

// comment reads what a comment says of a family.
func (p Page) comment(text string) {
	about, rest, _ := strings.Cut(text, " ")
	name, value, _ := strings.Cut(rest, " ")
	switch about {
	case "HELP":
		p.named(name).Help = plainHelp.Replace(value)
	case "TYPE":
		p.named(name).Type = value
	}
}

func (p Page) named(name string) *Family {
	if p[name] == nil {
		p[name] = &Family{Type: "untyped"}
	}
	return p[name]
}

// of returns the family of a series.
func (p Page) of(name string) *Family {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, ok := strings.CutSuffix(name, suffix)
		if f := p[base]; ok && f != nil && (f.Type == histogram || f.Type == summary) {
			return f
		}
	}
	return p.named(name)
}

// Package parse turns a text into a syntax tree, and reports where a shell could read it differently.
package parse

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

type parsers struct {
	bash, zsh *syntax.Parser
	printer   *syntax.Printer
	one, two  bytes.Buffer
}

var parserPool = sync.Pool{New: func() any {
	return &parsers{
		bash:    syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash)),
		zsh:     syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangZsh)),
		printer: syntax.NewPrinter(),
	}
}}

// Plain reports whether a text is one simple command and nothing else.
func Plain(f *syntax.File) bool {
	if len(f.Stmts) != 1 || len(f.Last) > 0 {
		return false
	}
	st := f.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Background || st.Coprocess || st.Disown || st.Negated || st.Semicolon.IsValid() || len(st.Redirs)+len(st.Comments)+len(call.Assigns) > 0 {
		return false
	}
	plain := true
	for _, w := range call.Args {
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
				plain = false
			}
			return plain
		})
	}
	return plain
}

// Concluding returns the command whose success is that of the whole text: if the text succeeds, it has run and
// succeeded. It returns nil if there is no such command, or if the text can take another path.
func Concluding(f *syntax.File) *syntax.CallExpr {
	if len(f.Stmts) != 1 {
		return nil
	}
	st := f.Stmts[0]
	for !st.Background && !st.Coprocess && !st.Disown && !st.Negated {
		switch cmd := st.Cmd.(type) {
		case *syntax.CallExpr:
			return cmd
		case *syntax.TimeClause:
			if st = cmd.Stmt; st == nil {
				return nil
			}
		case *syntax.BinaryCmd:
			if cmd.Op != syntax.AndStmt || !changesFolder(cmd.X) {
				return nil
			}
			st = cmd.Y
		default:
			return nil
		}
	}
	return nil
}

// changesFolder reports whether a statement is one cd or several joined by &&, which cannot end the shell.
func changesFolder(st *syntax.Stmt) bool {
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		return len(cmd.Args) > 0 && programs.Find(cmd.Args[0].Lit()).Has(programs.Moves)
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.AndStmt && changesFolder(cmd.X) && changesFolder(cmd.Y)
	}
	return false
}

// Text parses text, and returns what it read: the text itself, or the text and the line that ends its last
// here-document. If a shell could read the text differently, it returns a problem too, and the file is good only for
// denials. If the text does not parse, it returns a problem and a nil file.
func Text(text string, dialect script.Dialect) (f *syntax.File, read string, problems []script.Problem) {
	ps := parserPool.Get().(*parsers)
	defer parserPool.Put(ps)
	parser := ps.bash
	if dialect == script.Zsh {
		parser = ps.zsh
	}
	f, err := parser.Parse(strings.NewReader(text), "")
	if line := endOfOpen(text, err); line != "" {
		text += line
		f, err = parser.Parse(strings.NewReader(text), "")
	}
	if err != nil {
		f = nil
	}
	if p := foreign(text, f); p != "" {
		problems = append(problems, script.Problem{Code: "foreign", Text: p})
	}
	if err != nil {
		return nil, text, append(problems, script.Problem{Code: "unparsable", Text: "The text does not parse: " + err.Error() + "."})
	}
	if p := ps.disagreement(parser, f, text); p != nil {
		problems = append(problems, *p)
	}
	ownBodies(f)
	return f, text, problems
}

// disagreement returns why a shell could read the text differently from the parser, or nil.
func (ps *parsers) disagreement(parser *syntax.Parser, f *syntax.File, text string) *script.Problem {
	if strings.Contains(text, "\\\n") {
		var comments []int
		spans := literals(f, &comments)
		if p := continuations(text, spans); p != nil {
			return p
		}
		// A comment ends with its line, but the parser continues on the next line after a backslash.
		for _, i := range comments {
			if line, _, _ := strings.Cut(text[i:], "\n"); strings.HasSuffix(line, "\\") {
				return &script.Problem{Code: "disagreement", Text: "A comment ends in a backslash: " + findings.Quote(line) + "."}
			}
		}
	}
	if !needsSecondLook(text) {
		return nil
	}
	if p := rewritten(f, text); p != nil {
		return p
	}
	// The printed form, parsed again, must print the same; otherwise the parser misread the text.
	ps.one.Reset()
	ps.two.Reset()
	if ps.printer.Print(&ps.one, f) != nil {
		return &script.Problem{Code: "disagreement", Text: "The text cannot be printed back."}
	}
	again, err := parser.Parse(bytes.NewReader(ps.one.Bytes()), "")
	if err != nil || ps.printer.Print(&ps.two, again) != nil || !bytes.Equal(ps.one.Bytes(), ps.two.Bytes()) && !ps.settles(parser) {
		return &script.Problem{Code: "disagreement", Text: "The text reads differently after it is printed back."}
	}
	return nil
}

// settles reports whether printing reaches a fixed point in one more step, which layout alone can need.
func (ps *parsers) settles(parser *syntax.Parser) bool {
	again, err := parser.Parse(bytes.NewReader(ps.two.Bytes()), "")
	if err != nil || ps.two.Len() == 0 {
		return false
	}
	ps.one.Reset()
	return ps.printer.Print(&ps.one, again) == nil && bytes.Equal(ps.one.Bytes(), ps.two.Bytes())
}

// needsSecondLook reports whether a text has a construct that parsers are known to read differently.
func needsSecondLook(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '`', '#', '\n':
			return true
		case '\\':
			if i+1 < len(s) && s[i+1] == '\n' {
				return true
			}
		case '$':
			if i+1 < len(s) && strings.IndexByte("([{'\"", s[i+1]) >= 0 {
				return true
			}
		case '(', '<':
			if i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '<') {
				return true
			}
		}
	}
	return false
}

// literals returns the sorted spans in which a backslash is an ordinary character. It appends the offsets of comments.
func literals(f *syntax.File, comments *[]int) []span {
	var spans []span
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if !n.Dollar {
				spans = append(spans, span{int(n.Pos().Offset()), int(n.End().Offset())})
			}
		case *syntax.Comment:
			*comments = append(*comments, int(n.Hash.Offset()))
		case *syntax.Redirect:
			if n.Hdoc != nil && QuotedDelimiter(n.Word) {
				spans = append(spans, span{int(n.Hdoc.Pos().Offset()), int(n.Hdoc.End().Offset())})
			}
		}
		return true
	})
	slices.SortFunc(spans, func(x, y span) int { return x.start - y.start })
	return spans
}

// holdsLine reports whether a text contains the line, as written or after lines are joined; with tabs, ignoring leading
// tabs.
func holdsLine(text, line string, tabs bool) bool {
	for _, s := range [...]string{text, strings.ReplaceAll(text, "\\\n", "")} {
		for l := range strings.SplitSeq(s, "\n") {
			if tabs {
				l = strings.TrimLeft(l, "\t")
			}
			if l == line {
				return true
			}
		}
	}
	return false
}

// rewritten returns the first construct that bash reads differently because it changes the text before it reads what is
// inside. bash ends an unquoted here-document at the first line that is the delimiter, whatever is open there; joins
// its lines; and, after <<-, drops leading tabs, also in quotes. It also joins lines in quotes inside backquotes. The
// parser does none of this inside an expansion.
func rewritten(f *syntax.File, text string) (found *script.Problem) {
	report := func(n syntax.Node) {
		if found == nil {
			found = &script.Problem{Code: "disagreement", Text: "Shells and parsers read the text at " + findings.Quote(Around(text, int(n.Pos().Offset()))) + " differently."}
		}
	}
	raw := func(n syntax.Node) string { return text[n.Pos().Offset():n.End().Offset()] }
	// joins reports constructs that keep a backslash before a line end, where bash has already removed it.
	joins := func(in syntax.Node) {
		if !strings.Contains(raw(in), "\\\n") {
			return
		}
		syntax.Walk(in, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.SglQuoted:
				if strings.Contains(raw(n), "\\\n") {
					report(n)
				}
			case *syntax.Redirect:
				if n.Hdoc != nil && QuotedDelimiter(n.Word) && strings.Contains(raw(n.Hdoc), "\\\n") {
					report(n)
				}
			}
			return found == nil
		})
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				joins(n)
			}
		case *syntax.Redirect:
			if n.Hdoc == nil || QuotedDelimiter(n.Word) {
				break
			}
			body, dash := raw(n.Hdoc), n.Op == syntax.DashHdoc
			body = body[:max(0, strings.LastIndexByte(body, '\n'))] // without the delimiter
			if strings.HasSuffix(body, "\\") {
				report(n)
			}
			if holdsLine(body, n.Word.Lit(), dash) {
				report(n)
			}
			for _, p := range n.Hdoc.Parts {
				if _, plain := p.(*syntax.Lit); dash && !plain && strings.Contains(raw(p), "\n\t") {
					report(p)
				}
			}
			joins(n.Hdoc)
		}
		return found == nil
	})
	return found
}

// endOfOpen returns the line that would end the here-document which the error says is open; shells let the end of the
// text end it. It is "" unless the delimiter is a quoted name: what else shells read otherwise, and in a here-document
// that expands, an interactive shell would expand what comes next.
func endOfOpen(text string, err error) string {
	var failed syntax.ParseError
	if !errors.As(err, &failed) {
		return ""
	}
	quoted, open := strings.CutPrefix(failed.Text, "unclosed here-document ")
	name, err := strconv.Unquote(quoted)
	if !open || err != nil || !isName(name) {
		return ""
	}
	_, word, _ := strings.Cut(text[failed.Pos.Offset():], "<<")
	word = strings.TrimLeft(strings.TrimPrefix(word, "-"), " \t")
	for _, spelling := range [...]string{"'" + name + "'", `"` + name + `"`} {
		if rest, ok := strings.CutPrefix(word, spelling); ok && (rest == "" || strings.IndexByte(" \t\n;|&<>", rest[0]) >= 0) {
			return "\n" + name + "\n"
		}
	}
	return ""
}

func isName(s string) bool {
	for i := range len(s) {
		if !Letter(s[i]) && s[i] != '_' && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

// QuotedDelimiter reports whether a here-document's delimiter is quoted, so that its body is literal.
func QuotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || strings.IndexByte(l.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

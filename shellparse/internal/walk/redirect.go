package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/script"
)

// around walks a compound command with redirections. The files go to its first command, or to a null command if it has
// none, so that no file is lost.
func (r *redirs) around(a *Walker, st *syntax.Stmt, sc, inner *word.Scope) {
	mark := len(a.Found.Script.Commands)
	r.open(a, st.Redirs, sc)
	if r.input != nil {
		inner.Input = r.input
	}
	inner.Bounded = inner.Bounded && len(r.writes) == 0
	first := len(a.Found.Script.Commands)
	a.compound(st, inner)
	if r.none() {
		return
	}
	if len(a.Found.Script.Commands) == first {
		r.null(a, st, sc)
		return
	}
	r.addTo(&a.Found.Script.Commands[max(first, mark)])
}

// mayFail reports whether one of the redirections may fail, so that the shell does not run what they belong to.
func mayFail(list []*syntax.Redirect) bool {
	return slices.ContainsFunc(list, func(rd *syntax.Redirect) bool {
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			return false
		case syntax.DplIn, syntax.DplOut:
			return len(rd.Word.Lit()) != 1 || !strings.Contains("012-", rd.Word.Lit())
		}
		return rd.Word.Lit() != "/dev/null"
	})
}

// addTo adds what the redirections touch to a command.
func (r *redirs) addTo(c *script.Command) {
	c.Reads = append(c.Reads, r.reads...)
	c.Writes = append(c.Writes, r.writes...)
	c.Connects = append(c.Connects, r.connects...)
	for _, e := range r.effects {
		findings.AddEffect(&c.Effects, e)
	}
}

// null records redirections without a command as those of the null command ":".
func (r *redirs) null(a *Walker, st syntax.Node, sc *word.Scope) {
	raw := sc.Raw
	if raw == "" {
		raw = sc.Text(st)
	}
	c := &Call{raw: raw, Sc: sc}
	cmd := c.Command(":")
	r.addTo(&cmd)
	a.Found.Script.Commands = append(a.Found.Script.Commands, cmd)
}

// redirs holds the files and the input that redirections give to a command.
type redirs struct {
	words         []word.Word // words that belong to the command, not to a redirection
	reads, writes []script.File
	effects       []script.Effect
	connects      []string
	input         *word.Input // nil if they give none
}

// none reports whether the redirections touch nothing.
func (r *redirs) none() bool {
	return len(r.reads)+len(r.writes)+len(r.effects)+len(r.connects) == 0
}

// closing matches a redirection that closes a descriptor.
var closing = lazyregexp.New(`[0-9]*[<>]&[ \t]*-`)

// open reads a list of redirections: what they open, and what becomes the standard input.
func (r *redirs) open(a *Walker, list []*syntax.Redirect, sc *word.Scope) {
	for _, rd := range list {
		nested(a, rd.Word, sc)
		r.variable(a, rd, sc)
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.input = &word.Input{Kind: word.InputText, Text: r.heredoc(a, rd, sc)}
		case syntax.WordHdoc:
			r.input = &word.Input{Kind: word.InputText, Text: a.Words.Value(rd.Word, sc), List: a.Words.ListedIn(rd.Word, sc)}
		case syntax.DplIn, syntax.DplOut:
			w := a.Words.Target(rd.Word, sc)
			if raw := sc.Text(rd.Word); len(raw) > 1 && raw[0] == '-' {
				// In bash the dash ends the redirection, and what follows it is a word of the command.
				a.Found.Problem("disagreement", "Shells read the words at "+findings.Quote(sc.Text(rd))+" differently.")
				a.Guess(closing.ReplaceAllString(sc.Src, " "), sc)
				r.words = append(r.words, word.Word{Text: raw[1:], Known: word.Plain(raw[1:]) && !strings.ContainsAny(raw, "'\"$`")})
				continue
			}
			if w.Known && (word.IsNumber(strings.TrimSuffix(w.Text, "-")) || w.Text == "-") {
				if rd.Op == syntax.DplIn && w.Text != "-" {
					r.input = &word.Input{Kind: word.InputFile}
				}
				continue
			}
			if rd.Op == syntax.DplOut {
				if !r.connection(w) {
					r.writes = a.Words.File(r.writes, w, "redirect", sc)
				}
			} else {
				a.Found.Problem("dynamic", "A redirection has a target that is not known: "+findings.Quote(sc.Text(rd))+".")
			}
		case syntax.RdrIn:
			w := a.Words.Target(rd.Word, sc)
			r.input = &word.Input{Kind: word.InputFile}
			if processSubst(rd.Word) {
				r.input = &word.Input{Kind: word.InputPipe, List: a.Words.ListedIn(rd.Word, sc)}
			} else if !r.connection(w) {
				r.reads = a.Words.File(r.reads, w, "redirect", sc)
			}
		default:
			if !processSubst(rd.Word) {
				r.out(a, rd, sc)
			}
		}
	}
}

// variable records the variable that receives a descriptor, if there is one: {name}>file.
func (r *redirs) variable(a *Walker, rd *syntax.Redirect, sc *word.Scope) {
	if rd.N == nil || !strings.HasPrefix(rd.N.Value, "{") {
		return
	}
	name := strings.Trim(rd.N.Value, "{}")
	if strings.IndexByte(name, '[') >= 0 {
		a.Found.Problem("dynamic", "A redirection evaluates a subscript, which can run code: "+findings.Quote(sc.Text(rd))+".")
	}
	a.Words.Sets(name, word.Word{})
}

// out records a redirection that writes to its target.
func (r *redirs) out(a *Walker, rd *syntax.Redirect, sc *word.Scope) {
	w := a.Words.Target(rd.Word, sc)
	if rd.Op == syntax.RdrInOut {
		r.input = &word.Input{Kind: word.InputFile}
	}
	if r.connection(w) {
		return
	}
	if rd.Op == syntax.RdrInOut {
		r.reads = a.Words.File(r.reads, w, "redirect", sc)
	}
	r.writes = a.Words.File(r.writes, w, "redirect", sc)
}

// connection records the connection that bash opens for a path below /dev/tcp or /dev/udp. It reports whether w is one.
func (r *redirs) connection(w word.Word) bool {
	text := w.Text
	if !w.Known {
		text = w.Head
	}
	for _, scheme := range [2]string{"tcp", "udp"} {
		rest, ok := strings.CutPrefix(text, "/dev/"+scheme+"/")
		if !ok {
			continue
		}
		host, port, both := strings.Cut(rest, "/")
		if !w.Known || !both || host == "" || port == "" || strings.Contains(port, "/") {
			r.effects = append(r.effects, script.Effect{Text: "network " + w.Text})
			return true
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		r.connects = append(r.connects, scheme+"://"+host+":"+port)
		return true
	}
	return false
}

func processSubst(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok
}

// heredoc walks the body of a here-document and returns its text. If the delimiter is quoted, the body is data.
func (r *redirs) heredoc(a *Walker, rd *syntax.Redirect, sc *word.Scope) word.Word {
	if rd.Hdoc == nil {
		return word.Lit("")
	}
	if !parse.QuotedDelimiter(rd.Word) {
		expansion{a, sc}.quoted(rd.Hdoc.Parts)
		return a.Words.Document(rd.Hdoc, sc)
	}
	body := sc.Text(rd.Hdoc)
	if rd.Op == syntax.DashHdoc {
		lines := strings.Split(body, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		body = strings.Join(lines, "\n")
	}
	if end, ok := word.Unquoted(rd.Word); ok && (body == end || strings.HasSuffix(body, "\n"+end)) {
		body = strings.TrimSuffix(body, end) // without a line after it, the parser takes the delimiter for text
	}
	return word.Lit(body)
}

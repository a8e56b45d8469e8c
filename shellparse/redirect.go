package shellparse

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
)

// compoundRedirs walks a compound command with redirections. The files belong to its first command, or to
// a null command when it has none, so that no file is lost.
func (a *analysis) compoundRedirs(st *syntax.Stmt, sc, inner *scope) {
	mark := len(a.script.Commands)
	var r redirs
	r.open(a, st.Redirs, sc)
	if r.input != nil {
		inner.input = r.input
	}
	first := len(a.script.Commands)
	a.compound(st, inner)
	if r.none() {
		return
	}
	if len(a.script.Commands) == first {
		r.null(a, st, sc)
		return
	}
	c := &a.script.Commands[max(first, mark)]
	c.Reads = append(c.Reads, r.reads...)
	c.Writes = append(c.Writes, r.writes...)
	c.Connects = append(c.Connects, r.connects...)
	for _, e := range r.effects {
		addEffect(&c.Effects, e)
	}
}

// null records redirections that stand alone, as those of the null command, which is what they are.
func (r *redirs) null(a *analysis, st syntax.Node, sc *scope) {
	raw := sc.raw
	if raw == "" {
		raw = sc.text(st)
	}
	a.script.Commands = append(a.script.Commands, Command{Argv: []Word{{Value: ":", Known: true}}, Raw: raw, Via: sc.via, Env: sc.env,
		Reads: r.reads, Writes: r.writes, Connects: r.connects, Effects: append(unnamed(sc.effects), r.effects...), Escalates: sc.escalates, Dir: sc.dir(), Dirs: sc.dirs})
}

// redirs are the files and the input that redirections give to a command.
type redirs struct {
	words         []word // of the command itself
	reads, writes []File
	effects       []Effect
	connects      []string
	input         *input // nil when they give none
}

// none says that they touch nothing.
func (r *redirs) none() bool {
	return len(r.reads)+len(r.writes)+len(r.effects)+len(r.connects) == 0
}

// closing is a redirection that closes a descriptor.
var closing = lazyregexp.New(`[0-9]*[<>]&[ \t]*-`)

// open reads a list of redirections: what they open, and what becomes the standard input.
func (r *redirs) open(a *analysis, list []*syntax.Redirect, sc *scope) {
	for _, rd := range list {
		a.nested(rd.Word, sc)
		r.variable(a, rd, sc)
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.input = &input{kind: inputText, text: r.heredoc(a, rd, sc)}
		case syntax.WordHdoc:
			r.input = &input{kind: inputText, text: a.value(rd.Word, sc)}
		case syntax.DplIn, syntax.DplOut:
			w := a.target(rd.Word, sc)
			if raw := sc.text(rd.Word); len(raw) > 1 && raw[0] == '-' {
				// To bash the dash ends the redirection, and what follows it is a word of the command.
				a.problem("disagreement", "Shells read the words at "+quote(sc.text(rd))+" differently.")
				a.guess(closing.ReplaceAllString(sc.src, " "), sc)
				r.words = append(r.words, word{text: raw[1:], known: plain(raw[1:]) && !strings.ContainsAny(raw, "'\"$`")})
				continue
			}
			if w.known && (isNumber(strings.TrimSuffix(w.text, "-")) || w.text == "-") {
				if rd.Op == syntax.DplIn && w.text != "-" {
					r.input = &input{kind: inputFile}
				}
				continue
			}
			if rd.Op == syntax.DplOut {
				if !r.connection(w) {
					r.writes = a.file(r.writes, w, "redirect", sc)
				}
			} else {
				a.problem("dynamic", "A redirection has a target that is not known: "+quote(sc.text(rd))+".")
			}
		case syntax.RdrIn:
			w := a.target(rd.Word, sc)
			r.input = &input{kind: inputFile}
			if processSubst(rd.Word) {
				r.input = &input{kind: inputPipe}
			} else if !r.connection(w) {
				r.reads = a.file(r.reads, w, "redirect", sc)
			}
		default:
			if !processSubst(rd.Word) {
				r.out(a, rd, sc)
			}
		}
	}
}

// variable notes the variable that gets a descriptor, if one does: {name}>file.
func (r *redirs) variable(a *analysis, rd *syntax.Redirect, sc *scope) {
	if rd.N == nil || !strings.HasPrefix(rd.N.Value, "{") {
		return
	}
	name := strings.Trim(rd.N.Value, "{}")
	if strings.IndexByte(name, '[') >= 0 {
		a.problem("dynamic", "A redirection evaluates a subscript, which can run code: "+quote(sc.text(rd))+".")
	}
	a.sets(name, word{})
}

// out notes a redirection that writes to its target.
func (r *redirs) out(a *analysis, rd *syntax.Redirect, sc *scope) {
	w := a.target(rd.Word, sc)
	if rd.Op == syntax.RdrInOut {
		r.input = &input{kind: inputFile}
	}
	if r.connection(w) {
		return
	}
	if rd.Op == syntax.RdrInOut {
		r.reads = a.file(r.reads, w, "redirect", sc)
	}
	r.writes = a.file(r.writes, w, "redirect", sc)
}

// connection notes the connection that bash itself opens for a path below /dev/tcp or /dev/udp, and says whether it
// is one.
func (r *redirs) connection(w word) bool {
	text := w.text
	if !w.known {
		text = w.head
	}
	for _, scheme := range [2]string{"tcp", "udp"} {
		rest, ok := strings.CutPrefix(text, "/dev/"+scheme+"/")
		if !ok {
			continue
		}
		host, port, both := strings.Cut(rest, "/")
		if !w.known || !both || host == "" || port == "" || strings.Contains(port, "/") {
			r.effects = append(r.effects, Effect{Text: "network " + w.text})
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

// heredoc walks a here-document's body and returns its text. A quoted delimiter makes it data.
func (r *redirs) heredoc(a *analysis, rd *syntax.Redirect, sc *scope) word {
	if rd.Hdoc == nil {
		return lit("")
	}
	if !quotedDelimiter(rd.Word) {
		expansion{a, sc}.quoted(rd.Hdoc.Parts)
		d := decoder{a: &a.reader, sc: sc}
		d.parts([]syntax.WordPart{&syntax.DblQuoted{Parts: rd.Hdoc.Parts}}, false)
		return d.one(sc.text(rd.Hdoc))
	}
	body := sc.text(rd.Hdoc)
	if rd.Op == syntax.DashHdoc {
		lines := strings.Split(body, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		body = strings.Join(lines, "\n")
	}
	return lit(body)
}

// file appends the files that a word can name, one for each directory the command may run in.
func (a *reader) file(list []File, w word, by string, sc *scope) []File {
	if !w.known {
		return a.files(list, w, by, sc)
	}
	if w.text == "" || w.text == "-" && by != "redirect" {
		return list
	}
	if path.IsAbs(w.text) {
		p := path.Clean(w.text)
		if harmlessDevice(p) || by != "redirect" && strings.HasPrefix(p, "/dev/fd/") {
			return list
		}
		return a.note(list, File{Path: Word{Value: p, Known: true}, By: by})
	}
	if sc.lost {
		list = a.note(list, File{Path: Word{Value: w.text, Known: false}, By: by})
	}
	for _, d := range sc.dirs {
		p := path.Join(d, w.text)
		if !harmlessDevice(p) {
			list = a.note(list, File{Path: Word{Value: p, Known: true}, By: by})
		}
	}
	return list
}

// fileCost is what one path costs besides its text.
const fileCost = 32

// note appends a file that is not in the list.
func (a *reader) note(list []File, f File) []File {
	if slices.Contains(list, f) || !a.spend(fileCost+len(f.Path.Value)+len(f.Pattern)) {
		return list
	}
	return append(list, f)
}

func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd/1", "/dev/fd/2", "/dev/fd/0":
		return true
	}
	return false
}

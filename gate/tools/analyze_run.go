package tools

import (
	"strings"

	"callgate/permissions"
	"callgate/shellparse"
)

// maxGuessedCommand bounds the texts that are read as commands though nothing but a name says that they are, in
// bytes.
const maxGuessedCommand = 16 << 10

// mayRun adds the denials that hold if a text of a tool that nobody mapped is run by a shell. That it may be is
// a guess, so nothing is marked by it, and nothing is allowed.
func (b *builder) mayRun(text string) {
	if strings.TrimSpace(text) == "" || len(text) > maxGuessedCommand {
		return
	}
	script := shellparse.Parse(text, shellparse.Options{Dialect: b.dialect, Dir: b.place.Dir, Home: b.place.Home})
	b.denies(permissions.Subject{Kind: KindShell, Value: text, Decides: permissions.Form{text}})
	for i := range script.Commands {
		c := &script.Commands[i]
		if !b.count() {
			return
		}
		if len(c.Argv) > 0 {
			b.denies(permissions.Subject{Kind: KindShell, Value: c.Text(), Decides: permissions.Form{c.Text()}, Head: c.Named, Also: otherForms(c, c)})
		}
		for _, f := range c.Reads {
			if f.Path.Known && b.count() {
				b.reads(f.Path.Value)
			}
		}
	}
}

// joined looks at the members of an object that say together what is run: a program, and its words in another.
func (b *builder) joined(list []argument) {
	var program string
	var words []string
	for _, a := range list {
		switch role, name := guessRole(a.name), strings.Map(dropSeparators, strings.ToLower(a.name)); {
		case program == "" && (role == Command || runNames[name]):
			program, _ = text(a.value)
		case words == nil && wordNames[name]:
			words = argumentWords(a.value)
		}
	}
	if program == "" || len(words) == 0 {
		return
	}
	b.mayRun(program + " " + strings.Join(words, " "))
}

// argumentWords returns the words of a list of texts, quoted for a shell, or a text as it is.
func argumentWords(raw []byte) []string {
	if s, ok := text(raw); ok {
		return []string{s}
	}
	elements, ok := members(raw)
	if !ok || raw[0] != '[' {
		return nil
	}
	words := []string{}
	for _, e := range elements {
		if s, ok := text(e.value); ok {
			words = append(words, shellQuote(s))
		} else {
			words = append(words, string(e.value))
		}
	}
	return words
}

// Names of arguments that may hold what is run, besides those that guessRole knows, and of arguments with the
// words that follow it.
var (
	runNames  = wordSet("run runs step steps execute program executable exe binary bin script scripts shellscript bashscript")
	wordNames = wordSet("args arg arguments argv argument params parameters options flags")
)

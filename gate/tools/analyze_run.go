package tools

import (
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/permissions"
	"callgate/shellparse"
)

// maxGuessedCommand bounds, in bytes, the texts that are read as commands only because of a name.
const maxGuessedCommand = 16 << 10

// mayRun adds the denials that would hold if a shell ran a text of an unmapped tool. That is a guess, so it marks and
// allows nothing.
func (b *builder) mayRun(text string) {
	if strings.TrimSpace(text) == "" || len(text) > maxGuessedCommand {
		return
	}
	script := shellparse.Parse(text, shellparse.Options{Dialect: b.shells.dialect, Dir: b.record.place.Dir, Home: b.record.place.Home})
	b.record.denies(permissions.Subject{Kind: KindShell, Value: text, Decides: permissions.Form{text}})
	for i := range script.Commands {
		c := &script.Commands[i]
		if !b.record.count() {
			return
		}
		if len(c.Argv) > 0 {
			b.record.denies(permissions.Subject{Kind: KindShell, Value: c.Text(), Decides: permissions.Form{c.Text()}, Head: c.Named, Also: commands.OtherForms(c, c, b.record.place.Bases())})
		}
		for _, f := range c.Reads {
			if f.Path.Known && b.record.count() {
				b.files.reads(f.Path.Value)
			}
		}
	}
}

// joined looks at members of an object that name a command together: one has the program, another its arguments.
func (b *builder) joined(list []arguments.Argument) {
	var program string
	var words []string
	for _, a := range list {
		switch role, name := guessRole(a.Name), strings.Map(dropSeparators, strings.ToLower(a.Name)); {
		case program == "" && (role == kinds.Command || runNames[name]):
			program, _ = arguments.Text(a.Value)
		case words == nil && wordNames[name]:
			words = argumentWords(a.Value)
		}
	}
	if program == "" || len(words) == 0 {
		return
	}
	b.mayRun(program + " " + strings.Join(words, " "))
}

// argumentWords returns the words of a list of texts, quoted for a shell, or a single text as it is.
func argumentWords(raw []byte) []string {
	if s, ok := arguments.Text(raw); ok {
		return []string{s}
	}
	elements, ok := arguments.Members(raw)
	if !ok || raw[0] != '[' {
		return nil
	}
	words := []string{}
	for _, e := range elements {
		if s, ok := arguments.Text(e.Value); ok {
			words = append(words, commands.ShellQuote(s))
		} else {
			words = append(words, string(e.Value))
		}
	}
	return words
}

// Names of arguments that may hold a program, besides those that guessRole knows, and of arguments that hold its words.
var (
	runNames  = wording.Set("run runs step steps execute program executable exe binary bin script scripts shellscript bashscript")
	wordNames = wording.Set("args arg arguments argv argument params parameters options flags")
)

package shellparse

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/tables"
)

// Started returns the commands that c may start if it is a program that starts others: each of its words that names one
// of the system's tools, with the words after it, and the contents of each text that could be shell text. They are for
// denials; the caller judges c itself. known says that callgate knows the program: then only words count that make it
// do more than its words show, unless its words spell commands.
func Started(c *Command, known bool) (commands []string) {
	if len(c.Argv) < 2 && !c.Input.Known {
		return nil
	}
	t := tables.Builtin()
	name := programs.Canonical(c.Argv[0].Value)
	coded := programs.LanguageOf(name) != nil || strings.HasSuffix(name, "awk")
	speller := spells(t, name)
	for i := 1; i < len(c.Argv) && i <= word.MaxCandidates; i++ {
		text := c.Argv[i].Value
		spelt := speller || coded || effectIn(c, i)
		switch {
		case !c.Argv[i].Known || known && !spelt:
			continue
		case spelt:
			commands = append(commands, spellings(text, coded)...)
		}
		if _, value, ok := strings.Cut(text, "="); ok && text[0] == '-' {
			text = value
		}
		if coded {
			commands = append(append(commands, spelled(t, text)...), joinedStrings(t, text)...)
			continue
		}
		commands = append(commands, namedBy(t, strings.TrimPrefix(text, "!"), c.Argv[i+1:])...) // the prefix is of an alias of git
	}
	if mayRunInput(c, known && !speller && !coded) {
		commands = append(commands, startedBy(t, c.Input.Value, name, speller, coded)...)
	}
	return commands
}

// mayRunInput reports whether a command may run its input. known says that callgate knows the program.
func mayRunInput(c *Command, known bool) bool {
	return c.Input.Known && len(c.Input.Value) <= parse.MaxText && (!known || runsInput(c))
}

// startedBy returns the commands that a program of this name may start for its input.
func startedBy(t *Tables, text, name string, speller, coded bool) (commands []string) {
	if speller || coded {
		commands = spellings(text, coded)
	}
	if coded {
		return append(commands, spelled(t, text)...)
	}
	if name == "crontab" {
		text = cronTimes.ReplaceAllString(text, "")
	}
	return append(commands, contained(text)...)
}

// namedBy returns the commands that a text contains if it can be shell text, and the one that it spells which names one
// of the system's tools, with the words that follow it if it is that name alone.
func namedBy(t *Tables, text string, follow []Word) []string {
	if strings.ContainsAny(text, ";|&\n`") || strings.Contains(text, "$(") {
		return contained(text)
	}
	words := strings.Fields(text)
	if len(words) == 0 || !t.SystemTool(words[0]) {
		return nil
	}
	words[0] = programs.NameOf(words[0])
	if len(words) == 1 {
		for _, w := range follow {
			words = append(words, w.Value)
		}
	}
	return []string{strings.Join(words, " ")}
}

// spells says that the words of a program can spell commands.
func spells(t *Tables, name string) bool {
	if programs.Find(name).Has(programs.Spells) || programs.LauncherOf(name) != "" {
		return true
	}
	row := t.Row(name)
	return row != nil && (row.Effect == "runs code" || row.Effect == "starts programs" || row.Effect == "editor")
}

// effectIn says that the word at i makes the command do what its words do not show.
func effectIn(c *Command, i int) bool {
	return slices.ContainsFunc(c.Effects, func(e Effect) bool {
		return e.Named == i+1 || e.Named <= 0 && len(c.Argv[i].Value) > 2 && strings.Contains(e.Text, c.Argv[i].Value)
	})
}

// runsInput says that what comes in is run.
func runsInput(c *Command) bool {
	return slices.ContainsFunc(c.Effects, func(e Effect) bool { return e.Named == Whole })
}

// orders are words of other languages that stand before the name of what they run.
var orders = lazyregexp.New(`(?i)(?:\b(?:exec[a-z]*|system|spawn[a-z]*|popen[a-z0-9]*|shell|sh|run|call|eval|qx)\b[\s(\[{]*(?:(?:qw|%[wWiI])[\s(\[{]*)?|%x.|[|!` + "`" + `]\s*)$`)

// mayBegin reports whether a command may begin at a position of a text; several says that the text has several words.
func mayBegin(text string, i int, code, several bool) bool {
	if i == 0 {
		return !code || several
	}
	if i == 2 && text[0] == '-' && text[1] != '-' && several { // the letter of an option stands before it
		return true
	}
	return spellsBefore(text, i) && (!code || orders.MatchString(text[max(0, i-32):i]))
}

// spellings returns what a text in some language of its own may name as a command: whatever begins at a word in it. Of
// code that is behind what runs something.
func spellings(text string, code bool) (commands []string) {
	text = strings.Map(walk.UnquotedRune, strings.ToValidUTF8(text, "\n"))
	several := strings.Contains(text, " ") // words
	for i := 0; i < len(text) && len(commands) < walk.MaxPieces; i++ {
		ch := text[i]
		if !parse.Letter(ch) && ch != '/' && ch != '.' && ch != '_' {
			continue
		}
		if !mayBegin(text, i, code, several) {
			continue
		}
		command, _, _ := strings.Cut(text[i:], "\n")
		if len(command) > maxWordSpelled {
			command = command[:maxWordSpelled]
		}
		name, rest, _ := strings.Cut(command, " ")
		if k := strings.LastIndexByte(name, '/'); k >= 0 {
			command = name[k+1:] + " " + rest
		}
		commands = append(commands, strings.TrimRight(command, " )]}"))
		if strings.ContainsAny(name, ",)}]") {
			commands = append(commands, strings.Join(strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" ,)}]", r) }), " "))
		}
	}
	return commands
}

// maxWordSpelled bounds the length of one spelling of a text.
const maxWordSpelled = 500

// spellsBefore says that a command may begin at i: behind what separates words, or behind the e of sed.
func spellsBefore(text string, i int) bool {
	if text[i-1] == 'e' && (i == 1 || !parse.Letter(text[i-2])) {
		return true
	}
	return !parse.Letter(text[i-1]) && strings.IndexByte("/._-0123456789", text[i-1]) < 0
}

// cronTimes is when a line of a crontab runs.
var cronTimes = lazyregexp.New(`(?m)^[ \t]*(@\w+|(\S+[ \t]+){4}\S+)[ \t]+`)

// contained returns the commands of a text that could be one for a shell.
func contained(text string) (commands []string) {
	s := Parse(text, Options{})
	for i := range s.Commands {
		if i == word.MaxCandidates {
			break
		}
		commands = append(commands, s.Commands[i].Forms()...)
	}
	return commands
}

// stringLiteral is a string in most languages.
var stringLiteral = lazyregexp.New("\"([^\"\\n]{1,500})\"|'([^'\\n]{1,500})'|`([^`\\n]{1,500})`")

// runsStrings are the words by which code runs a string as a command.
var runsStrings = lazyregexp.New(`(?i)(?:\b|_)(?:exec\w*|system|spawn\w*|popen\w*|open|subprocess|passthru|shell|getline|qx)\b|\|`)

// joinedStrings returns the commands that the strings in code spell when it puts them together: "r" "m x", 'r' + 'm x',
// and a="r"; b="m x"; system(a b).
func joinedStrings(t *Tables, code string) (commands []string) {
	if !runsStrings.MatchString(code) {
		return nil
	}
	found := stringLiteral.FindAllStringSubmatch(code, word.MaxCandidates)
	for i := range found {
		var b strings.Builder
		for n, part := range found[i:] {
			b.WriteString(part[1] + part[2] + part[3])
			words := strings.Fields(b.String())
			if n > 0 && len(words) > 1 && t.SystemTool(words[0]) {
				commands = append(commands, strings.Join(words, " "))
				break
			}
		}
	}
	return commands
}

// spelled returns the commands that the strings in code spell: one that begins with the name of a tool, or several of
// which the first is one.
func spelled(t *Tables, code string) (commands []string) {
	found := stringLiteral.FindAllStringSubmatch(code, word.MaxCandidates)
	for i := range found {
		text := found[i][1] + found[i][2] + found[i][3]
		words := strings.Fields(text)
		if len(words) == 0 || !t.SystemTool(words[0]) {
			continue
		}
		if len(words) == 1 {
			for _, next := range found[i+1:] {
				words = append(words, next[1]+next[2]+next[3])
			}
			text = strings.Join(words, " ")
		}
		commands = append(commands, contained(text)...)
	}
	return commands
}

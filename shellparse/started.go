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

// Started returns the commands that c may start if it is a program that starts others: each word that names a system
// tool, with the words after it, and the commands in each word that could be shell text. They are for denials; the
// caller judges c itself. If known is true, callgate knows the program. Then only words with a hidden effect count,
// unless the program's words spell commands.
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
			commands = append(append(commands, spelledCommands(t, text)...), joinedStrings(t, text)...)
			continue
		}
		commands = append(commands, namedBy(t, strings.TrimPrefix(text, "!"), c.Argv[i+1:])...) // "!" begins a shell alias of git
	}
	if mayRunInput(c, known && !speller && !coded) {
		commands = append(commands, startedBy(t, c.Input.Value, name, speller, coded)...)
	}
	return commands
}

// mayRunInput reports whether a command may run its input. known means that callgate knows the program.
func mayRunInput(c *Command, known bool) bool {
	return c.Input.Known && len(c.Input.Value) <= parse.MaxText && (!known || runsInput(c))
}

// startedBy returns the commands that the named program may start from its input.
func startedBy(t *Tables, text, name string, speller, coded bool) (commands []string) {
	if speller || coded {
		commands = spellings(text, coded)
	}
	if coded {
		return append(commands, spelledCommands(t, text)...)
	}
	if name == "crontab" {
		text = cronTimes.ReplaceAllString(text, "")
	}
	return append(commands, contained(text)...)
}

// namedBy returns the commands in a text that could be shell text. Otherwise, if the text begins with the name of a
// system tool, it returns the text as a command, with the following words added if the text is the name alone.
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

// spells reports whether the words of a program can spell commands.
func spells(t *Tables, name string) bool {
	if programs.Find(name).Has(programs.Spells) || programs.LauncherOf(name) != "" {
		return true
	}
	row := t.Row(name)
	return row != nil && (row.Effect == "runs code" || row.Effect == "starts programs" || row.Effect == "editor")
}

// effectIn reports whether the word at i gives the command an effect that its words do not show.
func effectIn(c *Command, i int) bool {
	return slices.ContainsFunc(c.Effects, func(e Effect) bool {
		return e.Named == i+1 || e.Named <= 0 && len(c.Argv[i].Value) > 2 && strings.Contains(e.Text, c.Argv[i].Value)
	})
}

// runsInput reports whether the command runs its input.
func runsInput(c *Command) bool {
	return slices.ContainsFunc(c.Effects, func(e Effect) bool { return e.Named == Whole })
}

// runVerbs matches the words by which other languages run the name after them.
var runVerbs = lazyregexp.New(`(?i)(?:\b(?:exec[a-z]*|system|spawn[a-z]*|popen[a-z0-9]*|shell|sh|run|call|eval|qx)\b[\s(\[{]*(?:(?:qw|%[wWiI])[\s(\[{]*)?|%x.|[|!` + "`" + `]\s*)$`)

// mayBegin reports whether a command may begin at offset i of a text. several means that the text has several words.
func mayBegin(text string, i int, code, several bool) bool {
	if i == 0 {
		return !code || several
	}
	if i == 2 && text[0] == '-' && text[1] != '-' && several { // a one-letter option stands before it
		return true
	}
	return spellsBefore(text, i) && (!code || runVerbs.MatchString(text[max(0, i-32):i]))
}

// spellings returns the commands that a text in some other language may name: everything that begins at the start of a
// word. In code, a command counts only after a word that runs something.
func spellings(text string, code bool) (commands []string) {
	text = strings.Map(walk.UnquotedRune, strings.ToValidUTF8(text, "\n"))
	several := strings.Contains(text, " ")
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

// maxWordSpelled limits the length of one spelling, in bytes.
const maxWordSpelled = 500

// spellsBefore reports whether a command may begin at i: after a separator, or after the e command of sed.
func spellsBefore(text string, i int) bool {
	if text[i-1] == 'e' && (i == 1 || !parse.Letter(text[i-2])) {
		return true
	}
	return !parse.Letter(text[i-1]) && strings.IndexByte("/._-0123456789", text[i-1]) < 0
}

// cronTimes matches the time fields of a crontab line.
var cronTimes = lazyregexp.New(`(?m)^[ \t]*(@\w+|(\S+[ \t]+){4}\S+)[ \t]+`)

// contained returns every form of the commands in a text, read as shell text.
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

// stringLiteral matches a string literal of most languages.
var stringLiteral = lazyregexp.New("\"([^\"\\n]{1,500})\"|'([^'\\n]{1,500})'|`([^`\\n]{1,500})`")

// runsStrings matches the words by which code runs a string as a command.
var runsStrings = lazyregexp.New(`(?i)(?:\b|_)(?:exec\w*|system|spawn\w*|popen\w*|open|subprocess|passthru|shell|getline|qx)\b|\|`)

// joinedStrings returns the commands that code spells by joining strings: "r" "m x", 'r' + 'm x', a="r"; b="m x"; f(a
// b).
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

// spelledCommands returns the commands that the strings in code spell: a string that begins with the name of a system
// tool, or such a name with the strings after it.
func spelledCommands(t *Tables, code string) (commands []string) {
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

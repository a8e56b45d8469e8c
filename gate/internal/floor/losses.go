package floor

import (
	"fmt"
	"slices"
	"strings"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/lazyregexp"
	"callgate/internal/textscan"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// losesRemote looks for operations that destroy what lies elsewhere, and for options that say that they do.
func (f *check) losesRemote() string {
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 || onlyShows(c.Argv) {
			continue
		}
		if what, how := loses(c); how != "" {
			return fmt.Sprintf("destroys %s for good (%s)", what, tools.Visible(strings.TrimSpace(how)))
		}
	}
	if statement := f.losingStatement(); statement != "" {
		return fmt.Sprintf("destroys data of a database for good (%s)", tools.Visible(statement))
	}
	return ""
}

// loses returns what a command destroys elsewhere, and the words that say so, or "" twice.
func loses(c tools.CommandView) (what, how string) {
	program, input := Program(c), ""
	about := About(program)
	sql := about.Has(programs.TakesSQL)
	if sql || statements[program] {
		input = c.Input
	}
	said := strings.ToLower(strings.Join(c.Argv, " ")) // no word of mayLose has a space
	if !holdsAny(said, mayLose) && !holdsAny(strings.ToLower(input), mayLose) {
		return "", ""
	}
	rest := strings.ToLower(strings.Join(slices.Concat(c.Argv[1:], c.Around, strings.Fields(input)), " ")) + " "
	line := " " + program + " " + rest
	readings := []string{line, sqlComment.ReplaceAllString(line, " "), " " + programs.Canonical(program) + " " + rest}
	spared := func(local *lazyregexp.Regexp) bool {
		return local != nil && local.MatchString(line) && !namesElsewhere(line)
	}
	for _, l := range losses {
		for _, reading := range slices.Compact(readings) {
			if m := l.says.FindString(reading); m != "" && !spared(l.local) {
				return l.what, m
			}
		}
	}
	if sql && !about.Has(programs.LocalDatabase) && !spared(ownDatabase) {
		for _, text := range append(c.Argv[1:len(c.Argv):len(c.Argv)], input) {
			if m := losingText(text); m != "" {
				return "data of a database", m
			}
		}
	}
	return "", ""
}

// namesElsewhere reports whether the words of a command name a host that is not this machine.
func namesElsewhere(line string) bool {
	return slices.ContainsFunc(namedHost.FindAllStringSubmatch(line, -1), func(m []string) bool { return !localHost.MatchString(m[1] + m[2]) })
}

// onlyShows reports whether an option tells a program to change nothing.
func onlyShows(words []string) bool {
	for _, word := range words {
		switch word {
		case "--":
			return false // what follows are no options
		case "--help", "--dryrun", "--dry-run", "--dry-run=true", "--dry-run=client", "--dry-run=server":
			return true
		}
	}
	return false
}

// losingStatement looks for SQL and GraphQL in the arguments of a tool that is not a shell and writes no file.
func (f *check) losingStatement() string {
	if len(f.a.Commands) > 0 || facts.FileKind(f.call.Tool.Kind) || permissions.Destructive.Exceeds(f.a.Risk) && permissions.Unknown.Exceeds(f.a.Risk) || localDatabase.MatchString(f.call.Tool.Server) {
		return ""
	}
	for _, t := range f.call.Said() {
		if m := losing(&t); m != "" {
			return m
		}
	}
	return ""
}

// losing returns the statement in a text that loses data, or "". A statement of SQL has white space, one of GraphQL a
// brace. A text without either is encoded and may contain any word by chance. The expressions are tried only where a
// statement can begin: on a whole text they take a hundred times longer than finding these places.
func losing(t *facts.Text) string {
	if !textscan.HasOne(t.Said, " \n\t\r\f{/") || !t.HoldsAny(mayLoseData) {
		return ""
	}
	return losingText(t.Said)
}

// losingText is losing without the quick look.
func losingText(said string) string {
	if m := losingIn(said); m != "" || !strings.Contains(said, "/*") && !strings.Contains(said, "--") {
		return m
	}
	return losingIn(sqlComment.ReplaceAllString(said, " "))
}

// losingIn is losing for one reading of a text: with its comments or without.
func losingIn(said string) string {
	lower := textscan.Lower(said)
	for _, word := range mayLoseData {
		for at := 0; ; at += len(word) {
			i := strings.Index(lower[at:], word)
			if i < 0 {
				break
			}
			at += i
			if at > 0 && isWordByte(lower[at-1]) {
				continue
			}
			if m := losingSQL.FindString(said[at:]); m != "" {
				return m
			}
		}
	}
	if i := strings.Index(lower, "mutation"); i >= 0 {
		return losingGraphQL.FindString(said[max(0, i-1):])
	}
	return ""
}

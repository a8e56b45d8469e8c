package floor

import (
	"fmt"
	"slices"
	"strings"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
)

// tellsAll looks for a text with one command that prints the environment and one that sends.
func (f *check) tellsAll() string {
	if f.sender == "" {
		return ""
	}
	for _, c := range f.a.Commands {
		if DumpsEnvironment(c) {
			return fmt.Sprintf("puts out the whole environment (%s), and %s can send it away", tools.Visible(Program(c)), tools.Visible(f.sender))
		}
	}
	return ""
}

// tellsSecrets looks for a credential store in what is sent.
func (f *check) tellsSecrets() string {
	if len(f.a.Commands) == 0 {
		return f.toolTellsSecrets()
	}
	if what := f.pushesSecrets(); what != "" {
		return what
	}
	sender := f.sender
	if sender == "" {
		return ""
	}
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 {
			continue
		}
		line := strings.Join(c.Argv, " ")
		if shown, by := f.shows(c, line); shown != "" {
			return fmt.Sprintf("puts out credentials (%s), and %s can send them away", tools.Visible(shown), tools.Visible(by))
		}
		if serves(line) && slices.ContainsFunc(c.Argv[1:], func(w string) bool { return vitalSource(strings.TrimSuffix(w, "/"), c.Dirs, f.call.Place) }) {
			return fmt.Sprintf("serves a whole home or system (%s)", tools.Visible(sender))
		}
		if store := storeIn(c); store != "" {
			return fmt.Sprintf("hands over %s, which contains credentials, and %s can send it away", tools.Visible(store), tools.Visible(sender))
		}
	}
	return ""
}

// shows returns the words by which a command puts out credentials, and another program of the text that can send them
// elsewhere than to where they belong. It returns "" twice if there is no such program.
func (f *check) shows(c tools.CommandView, line string) (shown, by string) {
	for _, s := range showing {
		if shown = s.says.FindString(line); shown == "" {
			continue
		}
		for _, to := range f.a.Commands {
			if by = sends(to); by != "" && Program(to) != Program(c) && !leadsHome(to, s.home) {
				return shown, by
			}
		}
	}
	return "", ""
}

// ShowsCredentials reports whether a command prints credentials, out of a password manager for instance.
func ShowsCredentials(c tools.CommandView) bool {
	line := strings.Join(c.Argv, " ")
	return slices.ContainsFunc(showing, func(s shower) bool { return s.says.MatchString(line) })
}

// leadsHome reports whether a command names an address, and none whose host home does not match.
func leadsHome(c tools.CommandView, home *lazyregexp.Regexp) bool {
	if home == nil {
		return false
	}
	named := false
	for _, word := range slices.Concat(c.Argv[1:], c.Connects) {
		if reroutes.MatchString(word) {
			return false
		}
		if _, certain := hostIn(word); certain || (facts.Value{Text: word}).LooksLikeAddress() {
			if named = home.MatchString(facts.HostOf(word)); !named {
				return false
			}
		}
	}
	return named && !slices.ContainsFunc(c.Around, reroutes.MatchString)
}

// pushesSecrets looks for a text that adds a credential store to a git repository and also pushes.
func (f *check) pushesSecrets() string {
	runs := func(c tools.CommandView, of ...string) bool {
		return len(c.Argv) > 1 && About(Program(c)).Has(programs.VersionControl) && slices.Contains(of, c.Argv[1])
	}
	if !slices.ContainsFunc(f.a.Commands, func(c tools.CommandView) bool { return runs(c, "push", "send-pack") }) {
		return ""
	}
	for _, c := range f.a.Commands {
		if !runs(c, "add", "stage", "commit", "notes", "tag", "hash-object", "update-index") {
			continue
		}
		for _, word := range c.Argv[2:] {
			store := tools.CredentialStore(strings.TrimPrefix(strings.TrimPrefix(word, "--file="), "-F"))
			if store != "" && !facts.Template(store) && !strings.ContainsAny(word, " \t\n") {
				return fmt.Sprintf("takes %s, which contains credentials, into a repository and pushes it", tools.Visible(store))
			}
		}
	}
	return ""
}

// toolTellsSecrets looks for credential stores in the arguments of a tool that sends.
func (f *check) toolTellsSecrets() string {
	elsewhere := saysSends(f.call.Tool.Name) || f.call.Tool.Bound && f.a.Category == tools.CategoryNetwork
	if !elsewhere || facts.FileKind(f.call.Tool.Kind) && f.call.Tool.Bound || !MayNameStore(f.call.Arguments) {
		return ""
	}
	for _, t := range f.call.Said() {
		if len(t.Said) <= maxStore && !strings.ContainsAny(strings.TrimSpace(t.Said), " \t\n{}\"") {
			if store := tools.CredentialStore(t.Said); store != "" {
				return fmt.Sprintf("names %s, which contains credentials, to a tool that may send it away", tools.Visible(store))
			}
		}
	}
	for _, path := range f.a.Paths { // a path with a blank, or in another spelling
		if store := tools.CredentialStore(path); store != "" && strings.HasSuffix(path, store) {
			return fmt.Sprintf("names %s, which contains credentials, to a tool that may send it away", tools.Visible(store))
		}
	}
	return ""
}

// quiet reports whether a tool is given only text of files, in which no address is followed.
func quiet(t *tools.Tool) bool {
	return facts.FileKind(t.Kind) && t.Bound && t.Kind != tools.KindResource
}

// senderOf returns the first program of a text that can send what others put out, or "".
func senderOf(a *tools.Analysis) string {
	for _, c := range a.Commands {
		if sender := sends(c); sender != "" {
			return sender
		}
	}
	return ""
}

// sends returns what of a command can send, or "".
func sends(c tools.CommandView) string {
	if len(c.Argv) == 0 {
		return ""
	}
	name, line := Program(c), strings.Join(c.Argv, " ")
	if is := About(name); is.Has(programs.CanSend) || serves(line) || is.Has(programs.SometimesSends) && senderLines.MatchString(line) {
		return name
	}
	if len(c.Connects) > 0 {
		return "/dev/tcp"
	}
	if holdsAny(line[len(c.Argv[0]):], codeSends) { // none of them has a space
		return name
	}
	return ""
}

// DumpsEnvironment reports whether a command prints all environment variables.
func DumpsEnvironment(c tools.CommandView) bool {
	if len(c.Argv) == 0 {
		return false
	}
	if takes := About(Program(c)).Dumps; takes != nil && !slices.ContainsFunc(c.Argv[1:], func(w string) bool { return !slices.Contains(takes, w) }) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(c.Argv[1:], c.Reads), func(word string) bool {
		return environmentFile.MatchString(word) || strings.HasSuffix(Program(c), "jq") && jqDumps.MatchString(word) || codeDumps.MatchString(word)
	})
}

// storeIn returns the credential store that a command reads or sends, or "". A key that only logs in does not go out.
func storeIn(c tools.CommandView) string {
	if len(c.Argv) == 0 {
		return ""
	}
	name := Program(c)
	for i, word := range c.Argv[1:] {
		if store := tools.CredentialStore(word); store != "" && !stays(name, c.Argv[i], word, store) {
			return store
		}
	}
	if About(name).Has(programs.Talks) {
		if store := tools.CredentialStore(c.Input); store != "" {
			return store
		}
	}
	for _, path := range c.Reads { // by redirection, too
		if store := tools.CredentialStore(path); store != "" && !slices.ContainsFunc(append(c.Around[:len(c.Around):len(c.Around)], c.Argv...), func(w string) bool {
			return strings.Contains(w, store) || strings.HasSuffix(path, strings.TrimPrefix(w, "~"))
		}) {
			return store
		}
	}
	return ""
}

// stays reports whether the store that a word names stays where it is: it is used to log in, or the program only uses
// it. before is the word before it.
func stays(program, before, word, store string) bool {
	switch {
	case About(program).Has(programs.Uploads):
		return false
	case strings.Contains(before+word, "env-file"):
		return strings.Contains(store, ".env")
	case About(program).Has(programs.UsesKeys), proves.MatchString(before), provesItself.MatchString(word):
		return true
	}
	return About(program).Has(programs.Copies) && copierOption.MatchString(before)
}

// Package floor finds calls that ask a person under every rule, level, mode and grant: those that cannot be undone, and
// those that would defeat the rules.
package floor

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callgate/gate/internal/companions"
	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/address"
	"callgate/internal/lazyregexp"
	"callgate/internal/textscan"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// Mark is the code of the floor's marks.
const Mark = "floor"

// floor lists what asks a person under every rule, level, mode and grant. Each entry returns the end of a sentence that
// says what the call does, or "" if it does nothing of the kind. data.go has what each entry looks for.
var floor = []func(*check) string{
	(*check).wipes,        // removes or overwrites the root, a home, a mount, a repository, the workspace
	(*check).codes,        // runs a text in another language that names one of these, or a credential store
	(*check).opens,        // gives a container one of these to write
	(*check).formats,      // writes to a block device
	(*check).tellsAll,     // sends out the whole environment
	(*check).tellsSecrets, // sends out a credential store
	(*check).tellsTokens,  // sends out a credential that the call spells out
	(*check).asksCloud,    // asks a cloud's metadata service, which gives out the machine's credentials
	(*check).disarms,      // ends callgate, or switches off the permission checks of another agent
	(*check).losesRemote,  // destroys what no checkpoint holds: cloud resources, databases
}

// check is a call that is checked against the floor.
type check struct {
	call *facts.Call
	a    *tools.Analysis

	sender string // the first program of the text that can send what others put out; "" if there is none
}

// Marks returns the marks of all entries that match the call.
func Marks(call *facts.Call, a *tools.Analysis) (marks []tools.Mark) {
	f := check{call: call, a: a, sender: senderOf(a)}
	for _, entry := range floor {
		if what := entry(&f); what != "" {
			marks = append(marks, tools.Mark{Code: Mark, Text: "The floor: the call " + what + "."})
		}
	}
	return marks
}

// wipes looks at what the call removes, moves or closes as a whole.
func (f *check) wipes() string {
	for _, w := range f.a.Wipes {
		if what := vital(w, f.call.Place); what != "" {
			if w.How == tools.Listed {
				return lossWords[w.How] + " " + what
			}
			return fmt.Sprintf("%s %s, %s", lossWords[w.How], tools.Visible(w.Path), what)
		}
	}
	return ""
}

// formats looks for writes to block devices, and for programs that change these as a whole.
func (f *check) formats() string {
	for _, w := range f.a.Writes {
		if isBlockDevice(w.Path) {
			return fmt.Sprintf("writes to the device %s", tools.Visible(w.Path))
		}
	}
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 || !formats(Program(c)) || lists(c) {
			continue
		}
		for _, word := range c.Argv[1:] {
			if strings.Contains(word, "/dev/") || strings.HasPrefix(word, "disk") || formatVerbs.MatchString(word) {
				return fmt.Sprintf("changes a device as a whole (%s)", tools.Visible(Program(c)))
			}
		}
	}
	return ""
}

// lists reports whether a command for devices only shows something: by a verb in front, or because it is a program for
// partitions that gets nothing but options and words for listing.
func lists(c tools.CommandView) bool {
	words := c.Argv[1:]
	if !partitioners[Program(c)] {
		return haveVerbs[Program(c)] && len(words) > 0 && onlyLists[words[0]]
	}
	shows, device, unit := false, false, false
	for _, w := range words {
		switch {
		case unit:
			unit = false
		case listsPartitions[w]:
			shows = true
		case device && w == "unit":
			unit = true
		case w == "-s" || w == "--script":
		case device || strings.HasPrefix(w, "-"):
			return false
		default:
			device = true
		}
	}
	return shows
}

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

// asksCloud looks for addresses of metadata services.
func (f *check) asksCloud() string {
	if len(f.a.Commands) > 0 {
		for _, c := range f.a.Commands {
			if !c.Risk.Exceeds(permissions.Write) {
				continue
			}
			for _, word := range slices.Concat(c.Argv[min(1, len(c.Argv)):], c.Around, c.Writes, c.Reads, c.Connects) {
				if m := proxyCommand.FindStringSubmatch(word); m != nil {
					word = strings.ReplaceAll(m[1], " ", ",")
				}
				if at := metadataIn(word, true); at != "" {
					return fmt.Sprintf("leads to %s, where clouds give out the machine's credentials", tools.Visible(at))
				}
			}
			if is := About(Program(c)); c.Input != "" && (c.Code || is.Has(programs.Fetches) || is.Has(programs.Connects)) {
				if at := metadataIn(c.Input, false); at != "" {
					return fmt.Sprintf("leads to %s, where clouds give out the machine's credentials", tools.Visible(at))
				}
			}
		}
	}
	if at := f.proxied(); at != "" {
		return fmt.Sprintf("goes by way of %s, where clouds give out the machine's credentials", tools.Visible(at))
	}
	if f.call.Tool.Kind == tools.KindShell || quiet(f.call.Tool) && !f.a.Fetches() {
		return ""
	}
	for _, t := range f.call.Said() {
		if at := metadataIn(t.Said, f.call.Tool.Kind == tools.KindConnect); at != "" {
			return fmt.Sprintf("leads to %s, where clouds give out the machine's credentials", tools.Visible(at))
		}
	}
	return ""
}

// proxied returns the metadata service that a variable names as a proxy, or "" if none does.
func (f *check) proxied() string {
	if !slices.ContainsFunc(f.a.Commands, func(c tools.CommandView) bool { return c.Risk.Exceeds(permissions.Write) }) {
		return ""
	}
	for _, t := range f.call.Said() {
		if !t.Holds("proxy") {
			continue
		}
		for _, m := range proxyVariable.FindAllStringSubmatch(t.Said, 16) {
			if at := metadataIn(m[1], true); at != "" {
				return at
			}
		}
	}
	return ""
}

// quiet reports whether a tool is given only text of files, in which no address is followed.
func quiet(t *tools.Tool) bool {
	return facts.FileKind(t.Kind) && t.Bound && t.Kind != tools.KindResource
}

// disarms looks for what ends or replaces callgate, or switches off the permission checks of another agent.
func (f *check) disarms() string {
	if f.losesProgram() {
		return "removes or replaces callgate itself"
	}
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 {
			continue
		}
		if endsCallgate(c) {
			return "ends callgate"
		}
		if f.findsCallgate(c) && f.has(func(c tools.CommandView) bool { return About(Program(c)).Has(programs.Kills) }) {
			return "ends callgate"
		}
		if c.Risk == permissions.ReadOnly {
			continue // it only looks for such words
		}
		for _, word := range c.Argv[1:] {
			if holdsAny(strings.ToLower(word), mayDisarm) && offSwitch.MatchString(word) {
				return fmt.Sprintf("takes the permissions off another agent (%s)", tools.Visible(offSwitch.FindString(word)))
			}
		}
	}
	if len(f.a.Commands) > 0 {
		return ""
	}
	for _, path := range f.a.Writes {
		if agentSettings.MatchString(path.Path) {
			for _, t := range f.call.Said() {
				if t.HoldsAny(maySettle) && offSetting.MatchString(t.Said) {
					return fmt.Sprintf("takes the permissions off another agent in %s", tools.Visible(path.Path))
				}
			}
		}
	}
	return ""
}

// program is the path of this process's program, or "".
var program = sync.OnceValue(func() string {
	path, _ := os.Executable()
	return path
})

// losesProgram reports whether the call writes, moves or removes the program of this process, a link to it, or any file
// of its folder. What unpacks files further above does not count.
func (f *check) losesProgram() bool {
	if len(f.a.Writes)+len(f.a.Wipes) == 0 || program() == "" {
		return false
	}
	own, err := os.Stat(program())
	if err != nil {
		return false
	}
	is := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && os.SameFile(info, own)
	}
	return slices.ContainsFunc(f.a.Writes, func(w tools.Written) bool {
		return !w.Guessed && (is(w.Path) || w.Whole && filepath.Clean(w.Path) == filepath.Dir(program()))
	}) || slices.ContainsFunc(f.a.Wipes, func(w tools.Wipe) bool { return filepath.IsAbs(w.Path) && facts.Within(program(), w.Path) })
}

// has reports whether such is true of one of the commands. It passes over commands without a program.
func (f *check) has(such func(tools.CommandView) bool) bool {
	return slices.ContainsFunc(f.a.Commands, func(c tools.CommandView) bool { return len(c.Argv) > 0 && such(c) })
}

// findsCallgate reports whether a command may print callgate's process: it prints processes whose names it is given,
// itself or out of what ps prints.
func (f *check) findsCallgate(c tools.CommandView) bool {
	name := Program(c)
	switch {
	case name == "pgrep" || name == "pidof":
		return matchesCallgate(c)
	case !byExpression[name] && !filters[name] || !f.has(func(c tools.CommandView) bool { return Program(c) == "ps" }):
		return false
	case filters[name]:
		return slices.ContainsFunc(c.Argv[1:], func(word string) bool {
			return strings.Contains(oneOf.ReplaceAllString(strings.ToLower(word), "$1"), "callgate")
		})
	}
	return matchesCallgate(c)
}

// endsCallgate reports whether a command ends this process.
func endsCallgate(c tools.CommandView) bool {
	about := About(Program(c))
	if about.Has(programs.RunsContainers) && c.Risk.Exceeds(permissions.Unknown) {
		return slices.ContainsFunc(c.Argv[1:], func(word string) bool { return strings.Contains(strings.ToLower(word), "callgate") })
	}
	if !about.Has(programs.Kills) || c.Risk == permissions.ReadOnly || about.Has(programs.PackageManager) && !c.Risk.Exceeds(permissions.Unknown) {
		return false
	}
	return matchesCallgate(c) || c.Argv[0] != "launchctl" && slices.ContainsFunc(c.Argv[1:], isOwnProcess)
}

// matchesCallgate reports whether callgate is among the processes that the words of a command name.
func matchesCallgate(c tools.CommandView) bool {
	regular, name, words := takesExpressions(c), Program(c), c.Argv[1:]
	if slices.ContainsFunc(words, func(word string) bool { return namesCallgate(word, regular) }) {
		return true
	}
	if !selects[name] {
		return false
	}
	pattern, ofUser, value := false, false, false
	for _, word := range words {
		switch {
		case value:
			value = false
		case inverts[name] && invertOption.MatchString(word):
			return true
		case userOption.MatchString(word):
			ofUser, value = true, !strings.Contains(word, "=") && (len(word) == 2 || word[1] == '-')
		case !strings.HasPrefix(word, "-"):
			pattern = true
		}
	}
	return ofUser && !pattern
}

// namesCallgate reports whether a word names callgate, or is a pattern for names that may match it: a regular expression
// if regular is true.
func namesCallgate(word string, regular bool) bool {
	lower := strings.ToLower(word)
	if strings.Contains(lower, "callgate") {
		return true
	}
	if !regular {
		ok, err := path.Match(lower, "callgate")
		return ok && err == nil
	}
	pattern, err := regexp.Compile("(?i)" + boundaries.Replace(strings.TrimLeft(word, "*")))
	return err != nil || pattern.MatchString("callgate")
}

// takesExpressions reports whether a command finds processes by regular expressions.
func takesExpressions(c tools.CommandView) bool {
	return byExpression[Program(c)] ||
		slices.ContainsFunc(c.Argv[1:], func(w string) bool { return w == "--regexp" || w != "" && w[0] == '-' && strings.Contains(w, "r") })
}

// isOwnProcess reports whether a word names this process, its group, its parent or every process.
func isOwnProcess(word string) bool {
	pid, err := strconv.Atoi(word)
	return err == nil && (pid == os.Getpid() || pid == -os.Getpid() || pid == os.Getppid() && pid > 1) || word == "-1"
}

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

func isWordByte(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '_' }

// holdsAny reports whether text contains one of the words. Most commands contain none, and need no closer look.
func holdsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// Program returns the name of the program that a command runs, in lower case and without its folder.
func Program(c tools.CommandView) string {
	name := c.Argv[0]
	return strings.TrimSuffix(strings.ToLower(name[strings.LastIndexAny(name, `/\`)+1:]), ".exe")
}

// About returns what is known of a program.
func About(program string) *programs.Command { return programs.Find(programs.Canonical(program)) }

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

// metadataIn returns the metadata service that a text leads to, or "". If word is true, the text is a word of a
// command, where a bare host is an address.
func metadataIn(text string, word bool) string {
	if text = text[:min(len(text), maxAddressText)]; !mayNameMetadata(text) {
		return ""
	}
	candidates := EmbeddedAddresses(address.Unbroken(text), len(text))
	if strings.Contains(text, "/inet") {
		for _, m := range inetHost.FindAllStringSubmatch(text, 16) {
			candidates = append(candidates, "http://"+m[1]+"/")
		}
	}
	if whole := strings.TrimSpace(text); !strings.Contains(whole, " ") {
		whole = whole[:min(len(whole), maxBareAddress)]
		known, _, _ := strings.Cut(whole, "$") // a variable can hold the path
		candidates = append(candidates, whole, known)
		if word {
			_, value, _ := strings.Cut(whole, "=")
			candidates = append(candidates, value, strings.TrimLeft(whole, "-abcdefghijklmnopqrstuvwxyz"), companions.Attached(whole))
			if !strings.Contains(whole, "://") {
				candidates = append(candidates, strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(",:@=", r) })...)
				if rest, ok := strings.CutPrefix(whole, "/dev/"); ok { // tcp/HOST/PORT
					candidates = append(candidates, strings.Split(rest, "/")...)
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range candidates {
		if plain := plainHost.FindString(c); plain != "" { // such addresses differ only in what does not matter here
			if seen[plain] {
				continue
			}
			seen[plain] = true
		}
		for _, u := range address.Readings(c) {
			if isMetadata(u.Host, word || strings.Contains(c, ":") && strings.ContainsAny(c, `/\`)) {
				return u.Host
			}
		}
	}
	return ""
}

// EmbeddedAddresses returns the first n addresses with a scheme in a text: what matches
// [A-Za-z][A-Za-z0-9+.-]*:[/\\]{1,4}[^\s"'<>]+. A regular expression takes a hundred times longer on a text that has
// none.
func EmbeddedAddresses(text string, n int) (list []string) {
	for from, at := 0, 0; len(list) < n; {
		colon := strings.IndexByte(text[at:], ':')
		if colon < 0 {
			return list
		}
		colon += at
		at = colon + 1
		if at == len(text) || text[at] != '/' && text[at] != '\\' {
			continue
		}
		start := colon
		for start > from && isSchemeByte(text[start-1]) {
			start--
		}
		for start < colon && !isLetter(text[start]) {
			start++
		}
		end := at
		for end < len(text) && strings.IndexByte("\t\n\f\r \"'<>", text[end]) < 0 {
			end++
		}
		if start < colon && end-at > 1 {
			list = append(list, text[start:end])
			from, at = end, end
		}
	}
	return list
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isSchemeByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '+' || c == '.' || c == '-'
}

// isMetadata reports whether a host gives out credentials of the machine. A name without dots counts only if certain is
// true: a host is sure to stand there.
func isMetadata(host string, certain bool) bool {
	for _, ip := range address.IPs(host) {
		if slices.ContainsFunc(metadataNetworks, func(net prefix) bool { return net.Contains(ip) }) {
			return true
		}
	}
	return metadataNames[host] && (certain || strings.Contains(host, ".")) || metadataInName.MatchString(host)
}

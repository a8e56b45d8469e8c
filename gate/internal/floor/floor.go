// Package floor finds calls that ask a person under every rule, level, mode and grant: those that cannot be undone, and
// those that would defeat the rules.
package floor

import (
	"fmt"
	"slices"
	"strings"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
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

// has reports whether such is true of one of the commands. It passes over commands without a program.
func (f *check) has(such func(tools.CommandView) bool) bool {
	return slices.ContainsFunc(f.a.Commands, func(c tools.CommandView) bool { return len(c.Argv) > 0 && such(c) })
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

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

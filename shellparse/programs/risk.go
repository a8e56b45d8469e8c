package programs

import "strings"

// Risk is how bad a command can be, judged by its words alone.
type Risk uint8

const (
	NoRisk      Risk = iota // not set
	ReadOnly                // looks, changes nothing
	BuildTest               // runs the project's own build or tests
	Write                   // changes files or state that can be restored
	Network                 // talks to other machines
	Unknown                 // cannot be judged
	Destructive             // loses data or history
	Escalation              // gains privileges
)

// Risks maps the names of risks to risks.
var Risks = map[string]Risk{"": NoRisk, "READ_ONLY": ReadOnly, "BUILD_TEST": BuildTest, "WRITE": Write, "NETWORK": Network,
	"UNKNOWN": Unknown, "DESTRUCTIVE": Destructive, "ESCALATION": Escalation}

// Worse describes what makes a command worse than its Risk.
type Worse struct {
	When, Unless []string // README.md describes the words
	To           Risk
	OnlyOptions  bool // each word of When is an option
}

// Act describes something irreversible. All its terms must match the words. README.md describes the terms.
type Act struct {
	Operands, Options, Without []string
	Why                        string // the end of a sentence that begins with "It"
}

// pattern is a command whose last word ends in a star. at is its index in commands.
type pattern struct {
	of, prefix string
	at         uint16
}

// Child returns the entry of the subcommand that a word names, if it has a risk or subcommands with one; otherwise nil.
// For a nil command it returns the program of that name.
func (c *Command) Child(word string) *Command {
	if strings.IndexByte(word, ' ') >= 0 {
		return nil
	}
	var sub *Command
	of := ""
	if c == nil {
		sub = Find(word)
	} else {
		of = c.Name
		sub = find(of, word)
	}
	if sub.Risk != NoRisk || sub.Parent {
		return sub
	}
	for i := range patterns {
		if p := &patterns[i]; p.of == of && strings.HasPrefix(word, p.prefix) && (commands[p.at].Risk != NoRisk || commands[p.at].Parent) {
			return &commands[p.at]
		}
	}
	return nil
}

// Destructions returns what a program does that cannot be undone.
func Destructions(program string) []Act {
	if acts := Find(program).Destroys; acts != nil {
		return acts
	}
	for i := range patterns {
		if p := &patterns[i]; p.of == "" && strings.HasPrefix(program, p.prefix) && commands[p.at].Destroys != nil {
			return commands[p.at].Destroys
		}
	}
	return nil
}

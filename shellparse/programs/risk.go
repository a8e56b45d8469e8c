package programs

import "strings"

// Risk is how bad a command can be, by its words alone.
type Risk uint8

const (
	NoRisk      Risk = iota // nothing is said
	ReadOnly                // looks, changes nothing
	BuildTest               // runs the project's own build or tests
	Write                   // changes files or state that can be restored
	Network                 // talks to other machines
	Unknown                 // cannot be told
	Destructive             // loses data or history
	Escalation              // gains privileges
)

// Risks are the names of risks.
var Risks = map[string]Risk{"": NoRisk, "READ_ONLY": ReadOnly, "BUILD_TEST": BuildTest, "WRITE": Write, "NETWORK": Network,
	"UNKNOWN": Unknown, "DESTRUCTIVE": Destructive, "ESCALATION": Escalation}

// Worse is what makes a command worse than its Risk.
type Worse struct {
	When, Unless []string // README.md describes the words
	To           Risk
	OnlyOptions  bool // each word of When is an option
}

// Act is something irreversible. All its terms must match the words. README.md describes the terms.
type Act struct {
	Operands, Options, Without []string
	Why                        string // the end of a sentence that begins with "It"
}

// pattern is a command whose last word ends in a star.
type pattern struct {
	of, prefix string
	at         uint16
}

// Child returns the subcommand that a word names as far as its risk goes, nil when the table has none. For the nil
// command it is the program of that name.
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

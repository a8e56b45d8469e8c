// Package programs holds what callgate knows about programs, as data.
//
// It says how programs read their words, what they run, read and write, and how bad that can be. The facts are in the
// YAML files beside this one; README.md describes their format. `go generate` compiles them into table_gen.go, so
// nothing is parsed at run time.
package programs

//go:generate go run ./compile

import (
	"strings"
	"sync"
)

// Command is what is known of a program, or of a program with a subcommand.
type Command struct {
	Name string // "git", "git log"

	Row      *Row      // what its words do; nil if nothing is known
	Wrapper  *Wrapper  // it runs the program that its operands name
	Language *Language // it is an interpreter
	Transfer *Options  // it copies between this machine and another place

	Arity     uint8    // how many words name it; 0 if not set
	Operation uint8    // how many of these name what it does, if fewer; else 0
	Handler   string   // the key of inspect.Handlers: the function that runs it instead of the table
	Inspector string   // the key of inspect.Inspectors: the function for what the table cannot say
	Passes    []string // programs, one of which gets the words after --; "git:clone" has a subcommand
	Is        Trait

	Risk     Risk    // how bad it can be
	Worse    []Worse // what makes it worse
	Parent   bool    // some subcommands have their own risk
	Destroys []Act   // what it does that cannot be undone

	Recursive []string // the options with which it reads whole folders; Any if it always does
	Dumps     []string // it prints all variables if it gets no words but these; nil if it never does
	Like      string   // the command that it is judged like
	Shows     string   // what it shows of a repository, see README.md
	Wipes     string   // how it makes folders useless, see README.md
	Archive   *Archive
	Keeps     *Keeps
}

// Archive says how to read the first word of a program for archives.
type Archive struct {
	Shows, Makes []string // the words with which it shows an archive, and makes one, or their first letters
	Copies       bool     // it packs to its standard output, and unpacks its standard input
	File         string   // the letter without which it packs to its standard output
}

// Keeps says when and where a program writes a file named by the address it comes from.
type Keeps struct {
	When, Unless []string // with one of the options When, or always if that is nil; never with one of Unless
	Folder       []string // the options that name the folder
	Query        bool     // the query of the address is part of the name
}

// Row is what the options and operands of a command do.
type Row struct {
	Options     *Options
	Operands    string   // which operands are read and written, see README.md
	Default     string   // replaces the operands if there are none
	Style       Style    // how it reads its words
	Subcommands []string // the options stand before one of these; sorted; Any for all words
	Effect      string   // an effect that it always has
}

// Any is the list of subcommands of a program that may have unknown subcommands.
var Any = []string{"*"}

// Open reports whether any word may be a subcommand.
func (r *Row) Open() bool { return len(r.Subcommands) == 1 && r.Subcommands[0] == "*" }

// Wrapper describes how a program runs another one.
type Wrapper struct {
	Options *Options
	Skip    int  // operands before the program
	Assigns bool // NAME=value operands before the program are its environment
	Script  bool // the operands are a shell text
	Role    string
	Style   Style
	Effect  string
}

// Language describes how an interpreter takes code.
type Language struct {
	Options *Options
	Python  bool
}

// Style is how a program reads its words.
type Style uint8

const (
	GNU   Style = iota // bundled short options, abbreviated long ones, options after operands
	POSIX              // like GNU, but the first operand ends the options
	Go                 // -name and --name, nothing bundled or abbreviated, the first operand ends the options
	Long               // like Go, but options may follow operands (terraform, openssl, java)
)

// Roles lists what a wrapper can mean for rules. See tables.Wrapper.
var Roles = []string{"", "escalates", "also", "instead", "download"}

// Styles maps the names of styles to styles.
var Styles = map[string]Style{"": GNU, "gnu": GNU, "posix": POSIX, "go": Go, "long": Long}

// Trait is a set of yes-or-no facts.
type Trait uint64

const (
	Escalates      Trait = 1 << iota // it gains privileges whatever it runs
	RunsElsewhere                    // it runs the inner command in a container or on another machine
	Launcher                         // it runs a program that its words name somewhere
	Collector                        // it executes what it finds at the paths that its operands name
	Configured                       // it executes what a file in its directory says
	DashIsFile                       // a dash is the name of a file
	PrintsName                       // it prints values that cannot begin with a dash
	PrintsNumber                     // it prints numbers and nothing else
	TakesFormats                     // it can print its own words
	OptionFiles                      // it reads more words from the file in @file
	RunsAddresses                    // it runs code from an address in its words
	TakesCode                        // it takes code, or opens a console that reads code
	RunsSource                       // it can compile and run what it reads
	RunsOperands                     // it runs every file that its operands name
	Spells                           // its words or its input spell commands in its own language
	Prints                           // it prints its words
	ReadsSettings                    // it shows settings that its operands name
	TakesProcess                     // its numbers are process ids
	Shell                            // it is a shell
	ProjectTool                      // a package runner starts it from the project
	Exact                            // only the exact text is offered as a rule
	Installs                         // its operands are packages that are fetched
	Sends                            // its purpose is to send data to another machine
	RunsScripts                      // its next word is a script of the project
	RunsTargets                      // every operand is a target of the project
	RunsTasks                        // with RunsTargets: one word can be a task of a part of the project, with arguments
	TakesSQL                         // it sends statements to a database
	LocalDatabase                    // its database is a file of this machine
	ReadsCode                        // it runs its input, which is not SQL
	SendsQueries                     // it sends a text that can be a query in GraphQL
	YesIsHarmless                    // --yes and --force say how to install something, or are passed on
	PackageRunner                    // it takes the name of a package, or of a program in a package
	Agent                            // it lets a model act on this machine
	Interpreter                      // it runs the file that its first operand names
	ListsNames                       // it prints file names
	Searches                         // it searches its working directory if no folder is given
	RunsHooks                        // it runs git's hooks
	RunsProject                      // it runs what manifests of the project say
	Formats                          // it changes devices as a whole
	CanSend                          // it can send its words or files to another machine
	SometimesSends                   // some of its subcommands send data
	Talks                            // it sends its standard input, or takes orders from it
	Copies                           // it copies files to and from other machines
	UsesKeys                         // a key among its words authenticates, and is not sent
	Kills                            // it ends processes or services
	RunsContainers                   // it runs containers
	TakesLabels                      // a word that begins with // names a target of the workspace
	Control                          // a builtin that steers the script and does nothing outside it
	RunsInstalled                    // it runs a program installed by the project; a package manager, if the word is no subcommand
	Unoffered                        // no rule is offered: it runs what its words or its input say
	Connects                         // it connects to a host and a port, each its own word
	Fetches                          // it connects to the addresses among its words
	PackageManager                   // it installs packages
	Uploads                          // it sends what its words name to its server
	VersionControl                   // it manages versions, and has its own names for remote places
	FindExpression                   // its words are folders and a find expression
	OnlyPaths                        // it shows nothing but what the paths among its words name
	Folders                          // it lists the contents of folders
	OnlyNames                        // it opens none of the files that its operands name
	KeepsStatus                      // its exit status is that of the program that it runs
	MayDiscard                       // its only word is a branch, or files whose changes it discards
	Moves                            // it changes the folder of the shell, and does nothing else
	Special                          // a builtin that a shell may run although a function has its name
)

// The possible values of Shows and Wipes. README.md explains them.
var (
	Showings = []string{"", "content", "patch", "revision", "objects", "named", "tracked"}
	Wipings  = []string{"", "removed", "asked", "files", "closed", "listed", "found", "matched", "moved", "synced", "untracked"}
)

// Traits maps the names of traits in the YAML files to traits.
var Traits = map[string]Trait{
	"escalates": Escalates, "runs-elsewhere": RunsElsewhere, "launcher": Launcher, "collector": Collector, "configured": Configured,
	"dash-is-file": DashIsFile, "prints-name": PrintsName, "prints-number": PrintsNumber, "takes-formats": TakesFormats,
	"option-files": OptionFiles, "runs-addresses": RunsAddresses, "takes-code": TakesCode, "runs-source": RunsSource,
	"runs-operands": RunsOperands, "spells": Spells, "prints": Prints, "reads-settings": ReadsSettings, "takes-process": TakesProcess,
	"shell": Shell, "project-tool": ProjectTool, "exact": Exact, "installs": Installs,
	"sends": Sends, "runs-scripts": RunsScripts, "runs-targets": RunsTargets, "runs-tasks": RunsTasks, "takes-sql": TakesSQL, "local-database": LocalDatabase,
	"reads-code": ReadsCode, "sends-queries": SendsQueries, "yes-is-harmless": YesIsHarmless, "package-runner": PackageRunner, "agent": Agent,
	"interpreter": Interpreter, "lists-names": ListsNames, "searches": Searches, "runs-hooks": RunsHooks, "runs-project": RunsProject,
	"formats": Formats, "can-send": CanSend, "sometimes-sends": SometimesSends, "talks": Talks, "copies": Copies, "uses-keys": UsesKeys,
	"kills": Kills, "runs-containers": RunsContainers, "takes-labels": TakesLabels, "runs-installed": RunsInstalled,
	"unoffered": Unoffered, "connects": Connects, "fetches": Fetches, "package-manager": PackageManager, "uploads": Uploads,
	"version-control": VersionControl, "find-expression": FindExpression, "only-paths": OnlyPaths,
	"control": Control, "folders": Folders, "only-names": OnlyNames, "keeps-status": KeepsStatus, "may-discard": MayDiscard, "moves": Moves,
	"special": Special,
}

// nothing is the entry for commands that the table does not have.
var nothing Command

// Find returns what is known of a command: a program and the subcommands after it. It is never nil; an unknown command
// has an empty Name. A word with a blank is never part of a name.
func Find(words ...string) *Command {
	for _, w := range words {
		if strings.IndexByte(w, ' ') >= 0 {
			return &nothing
		}
	}
	return find(words...)
}

// find is Find without the check for blanks: the first of words may be a program with its subcommands.
func find(words ...string) *Command {
	h := uint32(2166136261)
	for i, w := range words {
		if i > 0 {
			h = (h ^ ' ') * 16777619
		}
		for k := 0; k < len(w); k++ {
			h = (h ^ uint32(w[k])) * 16777619
		}
	}
	for slot := h % uint32(len(index)); ; slot = (slot + 1) % uint32(len(index)) {
		at := index[slot]
		if at == 0 {
			return &nothing
		}
		if c := &commands[at-1]; isNamed(c.Name, words) {
			return c
		}
	}
}

func isNamed(name string, words []string) bool {
	for i, w := range words {
		if i > 0 {
			if name == "" || name[0] != ' ' {
				return false
			}
			name = name[1:]
		}
		if !strings.HasPrefix(name, w) {
			return false
		}
		name = name[len(w):]
	}
	return name == ""
}

// Has reports whether a trait is set.
func (c *Command) Has(t Trait) bool { return c.Is&t != 0 }

// All yields every command of the table, sorted by name.
func All(yield func(*Command) bool) {
	for i := range commands {
		if !yield(&commands[i]) {
			return
		}
	}
}

// Canonical returns the table's name of a program: that of the program that reads its words the same way.
func Canonical(program string) string {
	if of, ok := canonical()[program]; ok {
		return of
	}
	return program
}

// canonical maps aliases to names.
var canonical = sync.OnceValue(func() map[string]string {
	of := make(map[string]string, len(aliases))
	for _, a := range aliases {
		of[a.name] = a.of
	}
	return of
})

type alias struct{ name, of string }

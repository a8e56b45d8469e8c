// Package script describes one shell text: its commands, what they touch, and what cannot be known.
package script

// Listing is data that says which files a command writes: a patch or an archive. A caller that cannot read the names in
// it MUST NOT assume that the command writes only what its words name.
type Listing struct {
	Format string   // "patch", "tar", or "zip"
	From   File     // where the data is; its Path is empty for Text, and for data that nobody can look at
	Text   string   // the data itself, when From is empty and the command line holds it
	Dirs   []string // the base folders of the names, like File.Path; empty if unknown
	Top    bool     // the names start at the top of the repository that Dirs are in
	Strip  int      // how many leading elements of each name are dropped; -1 drops all but the last
}

// Dialect is the shell that will read the text.
type Dialect uint8

const (
	Bash Dialect = iota
	POSIX
	Zsh
)

// Script describes one shell text.
type Script struct {
	Text     string
	Commands []Command // every effective command at any depth, in the order they are reached, wrappers unwrapped
	Problems []Problem // why the text cannot be known; empty if it can
	// Plain reports whether the text is one simple command and nothing else: no operator, redirection, substitution,
	// assignment, grouping, negation or comment.
	Plain bool
}

// Problem is one reason why a text cannot be known: a dynamic command word, text that does not parse or that shells
// read differently, or a limit exceeded.
type Problem struct {
	Code string // stable, for programs: "dynamic", "unparsable", "control", "disagreement", "too-long", "too-deep", "foreign"
	Text string // one sentence for people; quotes the offending text
}

// Command is one simple command that the script can reach.
type Command struct {
	Argv []Word // decoded words without wrappers, assignments, redirections and Globals; Argv[0] is the program
	// Globals are the options between the program and its subcommand, with their values: -C web in git -C web status.
	// Argv leaves them out, so that "git status *" matches as intended. Options that can execute something are in
	// Effects.
	Globals []Word
	Raw     string   // source text of the outermost simple command it came from, wrappers and redirections included
	Via     []string // wrappers it came through, outermost first, with their options: "timeout 60", "sudo -u root"
	Env     []Assignment
	Reads   []File
	Writes  []File
	Lists   []Listing
	Piped   bool // its standard input is certainly a pipe or a here-document
	Input   Word // the text on its standard input, if Known
	// Connects lists the addresses that redirections of the shell open: tcp://host:port, udp://host:port.
	Connects []string
	// Statements lists the SQL texts that a database client gets from its words or its standard input.
	Statements []Word
	// Computes means that the code given to an interpreter is known whole: it computes, prints, and uses the files in
	// Reads and Writes, unless the folder holds a module with one of the names in Imports.
	Computes bool
	Imports  []string
	// Named is how many leading words of Argv name the command, according to the tables.
	Named int
	// Operation is how many leading words of Argv a rule has to spell out to name what the command does: "git push"
	// two, "npm run build" three, "python3 -c" two. It is all of them if an option stands in between.
	Operation int
	Wants     int // how many words the tables ask for, even if Argv has fewer
	// Effects lists what the command may do beyond what its words show: "env LD_PRELOAD", "option -exec", one entry
	// each. An allow rule covers the effects that it names and no others.
	Effects []Effect
	// DenyOnly means that the command needs no allow rule of its own. Either its words are part of the command before
	// it, which an allow rule has to match as a whole (pytest in "uv run pytest"), or it only steers the script (exit
	// 1, [ -f go.mod ]) or moves within the workspace (cd web). Deny rules and risk treat it like any other command. A
	// script MUST NOT be allowed when all of its commands are DenyOnly and none matches an allow rule.
	DenyOnly bool
	// Remote means that the command runs on another machine or in a container, started by the command whose words
	// contain it. Files and rules of this machine say nothing about what it does.
	Remote bool
	// Concludes means that if the script succeeds, this command has run and succeeded.
	Concludes bool
	// Dir is where the command runs if that is certain: absolute if Options.Dir is known, otherwise relative to the
	// start. It is "" if not certain.
	Dir string
	// Dirs lists the known directories that it may run in: two if a cd may have failed.
	Dirs []string
	// Within lists more directories that it may run in, as patterns like File.Pattern. Anywhere means that it may also
	// run in a directory that neither Dirs nor Within names.
	Within   []string
	Anywhere bool
	// Escalates means that a wrapper gains privileges (sudo, doas, su, pkexec), or that the command itself does.
	Escalates bool
}

// Effect is something that a command may do beyond what its words show.
type Effect struct {
	Text string
	// Named is how many leading words of Argv a rule has to spell out to name the effect. The safe value is 0: no rule
	// for the words names it, because it comes from elsewhere (an assignment, a wrapper, the directory), or its word is
	// unknown. Whole means the text as it is, without any further word.
	Named int
	// Split means that the command has the effect only if a file that it reads or writes, whose name the shell splits
	// (see File.Split), has a name that contains a blank or begins with a dash.
	Split bool
}

// Whole means that only a rule without wildcards names an effect: "python3" alone, which runs its standard input.
const Whole = -1

// String returns the text of the effect.
func (e Effect) String() string { return e.Text }

// Word is one decoded word. If Known, Value is the text that the program receives. Otherwise it is the source text, and
// the value depends on the run.
type Word struct {
	Value string
	Known bool
	// NoOption means that a value which is not Known is no option of the program: it does not begin with a dash, or the
	// program has no option that it could be.
	NoOption bool
	// Vanishes means that the program may get no word for it: an empty list of files.
	Vanishes bool
}

// Assignment is an environment variable of the command.
type Assignment struct {
	Name  string
	Value Word
}

// File is a path that a redirection or an operand touches. It is absolute if the directory is known.
type File struct {
	Path Word
	By   string // "redirect", or the program whose operand it is: "tee", "cp"
	// Pattern limits what a Path that is not known can be: the value is one of the files that match. "" means anything.
	// It is a path.Match pattern with two additions: a segment ** is the directory and everything below it, and a
	// segment that does not begin with a dot matches no name that does, unless it follows such a segment or shell
	// options say otherwise. After ** names match in any case. It is absolute if the directory is known. A pattern that
	// ends in a slash matches only folders. If there are several possible patterns, there are several Files.
	Pattern string
	// Split means that the shell splits the matches of the pattern at blanks and globs the parts again.
	Split bool
	// Tracked means that the value is one of the files that git tracks below the directory of the pattern.
	Tracked bool
}

// Text returns the command as rules match it: words joined by single spaces, unknown words as their source text.
func (c *Command) Text() string {
	n := 0
	for _, w := range c.Argv {
		n += len(w.Value) + 1
	}
	b := make([]byte, 0, n)
	for i, w := range c.Argv {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, w.Value...)
	}
	return string(b)
}

// Package script describes what is known of one shell text: its commands, what they touch, and what cannot be known.
package script

// Listing is data that says which files a command writes: a patch or an archive. A caller that cannot read the names
// there MUST NOT assume that the command writes only what its words name.
type Listing struct {
	Format string   // "patch", "tar", or "zip"
	From   File     // where the data lies; its Path is empty for Text, and for data that nobody can look at
	Text   string   // the data itself, when From is empty and the command line holds it
	Dirs   []string // where the names lead from, like File.Path; none when that is not known
	Top    bool     // they lead from the top of the repository that Dirs are in
	Strip  int      // how many leading elements of each name are left out; -1 for all but the last
}

// Dialect is the shell that will read the text.
type Dialect uint8

const (
	Bash Dialect = iota
	POSIX
	Zsh
)

// Script is what is known of one shell text.
type Script struct {
	Text     string
	Commands []Command // every effective command at any depth, in the order they are reached, wrappers unwrapped
	Problems []Problem // why the text cannot be known; none when it can
	// Plain says that the text is one simple command and nothing else: no operator, redirection, substitution,
	// assignment, grouping, negation or comment.
	Plain bool
}

// Problem is one reason why a text cannot be known: a dynamic command word, text that does not parse or that shells
// read differently, or a limit that is exceeded.
type Problem struct {
	Code string // stable, for programs: "dynamic", "unparsable", "control", "disagreement", "too-long", "too-deep", "foreign"
	Text string // one sentence for people; quotes the offending text
}

// Command is one simple command that the script can reach.
type Command struct {
	Argv []Word // decoded words without wrappers, assignments, redirections and Globals; Argv[0] is the program
	// Globals are options that stood between the program and its subcommand, with their values: -C web in
	// git -C web status. They are not part of Argv, so that a rule for "git status *" meets what it means;
	// those that can execute something are in Effects.
	Globals []Word
	Raw     string   // source text of the outermost simple command it came from, wrappers and redirections included
	Via     []string // wrappers it came through, outermost first, with their options: "timeout 60", "sudo -u root"
	Env     []Assignment
	Reads   []File
	Writes  []File
	Lists   []Listing
	Piped   bool // its standard input is certainly a pipe or a here-document
	Input   Word // the text on its standard input, when that is Known
	// Connects are the addresses that redirections of the shell open: tcp://host:port, udp://host:port.
	Connects []string
	// Statements are the texts in SQL that a database client is given, by its words or from its standard input.
	Statements []Word
	// Named is how many leading words of Argv name the command, by the tables that the text was read with.
	Named int
	// Operation is how many leading words of Argv a rule has to spell out to name what the command does: "git push" two,
	// "npm run build" three, "python3 -c" two. It is all of them where an option stands between.
	Operation int
	Wants     int // how many the tables ask for, whatever words there are
	// Effects are what the command may do beyond what its words show: "env LD_PRELOAD", "option -exec", one entry
	// each. An allow rule covers those that it names and no other.
	Effects []Effect
	// DenyOnly says that the command needs no allow rule of its own: its words stand inside those of the command before
	// it, which an allow rule has to meet as a whole (pytest in "uv run pytest"), or it only steers the script (exit 1, [
	// -f go.mod ]) or moves within the workspace (cd web). Deny rules and risk look at it like at any other. A script MUST
	// NOT be allowed when all of its commands are DenyOnly and none meets an allow rule.
	DenyOnly bool
	// Remote says that the command runs on another machine or in a container, behind the one whose words it stands in:
	// files and rules of this machine say nothing of what it does.
	Remote bool
	// Concludes says that when the script ends well, the command has run and ended well.
	Concludes bool
	// Dir is where the command runs when that is certain: absolute where Options.Dir is known, else relative
	// to the start; "" when it is not certain.
	Dir string
	// Dirs are the places that it may run in, as far as they are known: two where a cd may have failed.
	Dirs []string
	// Within are patterns, like File.Pattern, of more places that it may run in. Anywhere says that it may run in a
	// place which neither Dirs nor Within name.
	Within   []string
	Anywhere bool
	// Escalates says that a wrapper gains privileges (sudo, doas, su, pkexec), or that the command is one.
	Escalates bool
}

// Effect is something that a command may do beyond what its words show.
type Effect struct {
	Text string
	// Named is how many leading words of Argv a rule has to spell out to name the effect. The safe value is 0: no rule
	// for the words names it, since it comes from elsewhere (an assignment, a wrapper, the directory), or nobody said
	// which word it comes from. Whole is the text as it is, without any further word.
	Named int
	// Split says that the command has the effect only where a file that it reads or writes, whose name is split (see
	// File.Split), has a name with a blank, or one that begins with a dash.
	Split bool
}

// Whole says that only a rule without wildcards names an effect: "python3" alone, which runs its standard input.
const Whole = -1

// String returns what the effect is.
func (e Effect) String() string { return e.Text }

// Word is one decoded word. Value is the text that the program receives when Known; else it is the source
// text, which stands for a value that depends on the run.
type Word struct {
	Value string
	Known bool
	// NoOption says that a value which is not Known is no option of the program: it begins with no dash, or the program
	// has no option that it can be.
	NoOption bool
}

// Assignment is a variable that the command runs under.
type Assignment struct {
	Name  string
	Value Word
}

// File is a path that a redirection or an operand touches, made absolute where the directory is known.
type File struct {
	Path Word
	By   string // "redirect", or the program whose operand it is: "tee", "cp"
	// Pattern says what a Path that is not known can be: the value is one of the files that it matches. "" means
	// anything. It is a pattern of path.Match with two additions: a segment ** is the directory and all that is
	// below it, and a segment that does not begin with a dot matches no name that does, unless it follows such
	// a segment or options of the shell say otherwise; after ** names match in any case. It is absolute where the
	// directory is known. One that ends in a slash matches folders alone. Several possible patterns make several files.
	Pattern string
	// Split says that the shell splits what the pattern matches at blanks, and globs it again.
	Split bool
	// Tracked says that the value is one of the files that git tracks below the directory of the pattern.
	Tracked bool
}

// Text returns the command as rules match it: its words joined by single spaces, an unknown word as its
// source text.
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

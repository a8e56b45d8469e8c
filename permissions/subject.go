package permissions

// Form is one reading of a subject's value, in all spellings that mean exactly the same: a path as given,
// cleaned, absolute and relative to the workspace; a command's decoded words. A rule matches a form when
// it matches any spelling of it.
type Form []string

// Subject is one (tool, value) pair that the rules judge. A call has one or more: each simple command of
// a shell line, each path of a multi-file tool, each redirect target.
type Subject struct {
	// Tool is the qualified name of the tool that was called, "{server}_{tool}".
	Tool string
	// Plain is the name that several tools of the server would have, each of which is told apart by a suffix in Tool; ""
	// when Tool has none. A rule that names it alone can only tighten: a server cannot take a tool away from a deny by
	// offering another one, nor give an allow to it.
	Plain string
	// Kind is the canonical tool that a rule may name instead ("read_file", "shell_exec"), or "".
	Kind string
	// KindBound says that the kind is bound to the configured server, not guessed. A rule that names an
	// unbound kind can only tighten: its allow does not count.
	KindBound bool
	// Value is the subject as a person reads it: one path, one command. "" when the tool has no value.
	Value string
	// Decides is the reading that an allow or a grant must match: a path with symbolic links resolved,
	// the decoded words of a command. Empty means that only patterns matching every value can allow.
	Decides Form
	// Head is how many leading words of Decides name the command, "git push" two; 0 when the value is no
	// command. An allow does not reach past the end of such a word: "npm run test*" is not "npm run test:evil".
	Head int
	// Also holds the other readings. A deny or confirm on any of them holds; an allow on them counts
	// nothing.
	Also []Form
	// Arguments is the call's arguments object when patterns of the form "arg=glob" apply, else nil.
	Arguments []byte
	// DeniesOnly marks a subject that can only add denies: a file that a shell command reads.
	DeniesOnly bool
	// Effect names what the subject does beyond what its text shows (an environment variable that makes
	// programs run code, an option that runs a command). No rule or grant releases such a subject.
	// "" when there is none.
	Effect string
	// Runs holds the files whose content the subject executes: scripts, by absolute path. nil when there is none.
	Runs []string
	// Content is a fingerprint of what Runs holds now. A grant that names one covers no other; who evaluates
	// MUST set it when Policy.BindsContent says so.
	Content string
	// Risk is the subject's class.
	Risk Risk
}

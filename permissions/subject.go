package permissions

import (
	"path/filepath"
	"strings"
)

// Form is one reading of a subject's value, in all spellings that mean exactly the same: a path as given,
// cleaned, absolute and relative to the workspace; a command's decoded words. A rule matches a form when
// it matches any spelling of it.
type Form []string

// Effect is something that a subject does beyond what its text shows.
type Effect struct {
	Text string
	// Named is how many leading bytes of Decides a rule has to spell out to name the effect. 0, the safe value: no rule
	// names it. Whole: only a rule that is the text, without wildcards.
	Named int
}

// Whole is the value of Effect.Named that asks for the text and nothing else.
const Whole = -1

// EffectText returns the effects as people read them, "" when there is none.
func (s *Subject) EffectText() string {
	list := make([]string, len(s.Effects))
	for i, e := range s.Effects {
		list[i] = e.Text
	}
	return strings.Join(list, "; ")
}

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
	// DeniesOnly marks a subject that needs no allow: a file that a shell command reads, exit in "exit 1; npm test". Rules
	// that deny or confirm hold for it, and an ask that names the command or is for reading.
	DeniesOnly bool
	// Operation is how many leading bytes of Decides name what the command does: "git push". An allow or a grant that
	// does not spell them out stops short: it covers only what is Harmless. 0 when the value is no command.
	Operation int
	// Harmless says that a pattern which stops short may cover the command: it looks, builds, tests, writes where that is
	// judged by itself, or talks to another machine without sending it anything.
	Harmless bool
	// Concludes says that the subject ran and ended well when the call did. A condition on earlier calls counts no
	// other.
	Concludes bool
	// Effects are what the subject does beyond what its text shows: an environment variable that makes programs run
	// code, an option that runs a command, a package that is fetched. An allow or a grant covers those that it names.
	Effects []Effect
	// By is the command that reads the file, where the file lies outside of the workspace: an ask of the rules for
	// reading then counts, unless what lets the command run names ByNamed bytes of it, which spell the file. nil
	// where that does not matter.
	By      *Subject
	ByNamed int
	// Runs holds the files whose content the subject executes: scripts, by absolute path. nil when there is none.
	Runs []string
	// Content is a fingerprint of what Runs holds now. A grant that names one covers no other; who evaluates
	// MUST set it when Policy.BindsContent says so.
	Content string
	// Carries are the labels of results whose text the call holds, From those of results that alone named where it goes.
	// Who evaluates MUST set them when Policy.AsksFlow says so.
	Carries, From []string
	// Risk is the subject's class.
	Risk Risk
}

// within reports whether dir is root or lies below it, by their text. Root is clean and absolute; a dir that
// is not absolute, "" included, lies nowhere.
func within(root, dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	rest, ok := strings.CutPrefix(filepath.Clean(dir), root)
	return ok && (rest == "" || rest[0] == filepath.Separator || root[len(root)-1] == filepath.Separator)
}

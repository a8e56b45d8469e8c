package permissions

import (
	"path/filepath"
	"strings"
)

// Form is one reading of a subject's value, in all spellings with exactly that meaning: a path as given, cleaned,
// absolute and relative to the workspace; a command's decoded words. A rule matches a form if it matches one of them.
type Form []string

// Effect is something that a subject does beyond what its text shows.
type Effect struct {
	Text string
	// Named is how many leading bytes of Decides a rule has to spell out to name the effect. The safe value is 0: no
	// rule names it. Whole means that only a rule that is the whole text, without wildcards, names it.
	Named int
}

// Whole is the value of Effect.Named that requires the whole text.
const Whole = -1

// EffectText returns the effects as people read them, or "" if there are none.
func (s *Subject) EffectText() string {
	list := make([]string, len(s.Effects))
	for i, e := range s.Effects {
		list[i] = e.Text
	}
	return strings.Join(list, "; ")
}

// Subject is one (tool, value) pair that the rules judge. A call has one or more: each simple command of a shell line,
// each path of a multi-file tool, each redirect target.
type Subject struct {
	// Tool is the qualified name of the tool that was called, "{server}_{tool}".
	Tool string
	// Plain is the name that several tools of the server would share; Tool tells them apart by a suffix. It is "" if
	// Tool has no suffix. A rule that matches only this name can only tighten: a server cannot take a tool away from a
	// deny, or put it under an allow, by offering a second tool.
	Plain string
	// Kind is the canonical tool that a rule may name instead ("read_file", "shell_exec"), or "".
	Kind string
	// KindBound means that the kind is bound to the configured server, not guessed. A rule that names an unbound kind
	// can only tighten: its allow does not count.
	KindBound bool
	// Value is the subject as a person reads it: one path, one command. "" means that the tool has no value.
	Value string
	// Decides is the reading that an allow or a grant must match: a path with symbolic links resolved, the decoded
	// words of a command. If it is empty, only patterns that match every value can allow.
	Decides Form
	// Head is how many leading words of Decides name the command, two for "git push"; 0 if the value is not a command.
	// An allow does not reach past the end of such a word: "npm run test*" is not "npm run test:evil".
	Head int
	// Also holds the other readings. A deny or confirm on any of them holds. An allow on them does not count.
	Also []Form
	// Arguments is the call's arguments object if patterns of the form "arg=glob" apply, otherwise nil.
	Arguments []byte
	// DeniesOnly marks a subject that needs no allow: a file that a shell command reads, exit in "exit 1; npm test".
	// Rules that deny or confirm still hold for it, and so does an ask that names the command or is for reading.
	DeniesOnly bool
	// Operation is how many leading bytes of Decides name what the command does: "git push". An allow or a grant that
	// spells out less covers the command only if it is Harmless. 0 means that the value is not a command.
	Operation int
	// Harmless means that a pattern which spells out less than the operation may cover the command: it looks, builds,
	// tests, writes files that are judged separately, or talks to another machine without sending it anything.
	Harmless bool
	// Concludes means that if the call succeeded, the subject did too. Conditions on earlier calls count only such
	// subjects.
	Concludes bool
	// Effects lists what the subject does beyond what its text shows: an environment variable that makes programs run
	// code, an option that runs a command, a fetched package. An allow or a grant covers the effects that it names.
	Effects []Effect
	// By is the command that reads this file, if the file lies outside the workspace. Then an ask of the rules for
	// reading counts, unless the rule or grant that lets the command run spells out its first ByNamed bytes, which
	// include the file. nil means that this does not matter.
	By      *Subject
	ByNamed int
	// Runs holds the absolute paths of files that the subject executes: scripts. nil means none.
	Runs []string
	// Content is a fingerprint of the current contents of Runs. A grant with a fingerprint covers no other. Callers of
	// Evaluate MUST set it if Policy.BindsContent is true.
	Content string
	// Carries are the labels of results whose text the call contains. From are the labels of results that alone named
	// its destination. Callers of Evaluate MUST set both if Policy.AsksFlow is true.
	Carries, From []string
	// Risk is the subject's risk class.
	Risk Risk
}

// within reports whether dir is root or lies below it, judged by the text of the paths. Root MUST be clean and
// absolute. A dir that is not absolute, "" included, lies nowhere.
func within(root, dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	rest, ok := strings.CutPrefix(filepath.Clean(dir), root)
	return ok && (rest == "" || rest[0] == filepath.Separator || root[len(root)-1] == filepath.Separator)
}

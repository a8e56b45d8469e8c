// Package tools says what a tool is and what a call of it touches.
//
// It finds the subjects of a call, its risk, and a summary for people. Its subpackages know kinds and roles, where
// paths lead, what commands do, and what definitions claim.
//
// A guessed kind, from a name or a schema, can only add denies and raise risk. A kind counts for allow rules and for
// low risk only if a catalogue entry is bound to the configured command, or if the user mapped the tool.
package tools

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
)

// KindTool returns the tool that a bare kind stands for: bound, of no server, with canonical arguments. It returns nil
// for a kind that does not exist. `callgate check shell_exec …` judges such a tool, and others stand for requests that
// are not tool calls: resource_read, prompt_get and sampling. The caller owns the Tool and may name a server in it.
func KindTool(name string) *Tool {
	k, ok := kinds.Of[name]
	if !ok {
		return nil
	}
	t := &Tool{Qualified: name, Name: name, Kind: name, Bound: true, Why: "the kind itself",
		Roles: make(map[string]Role, len(k.Arguments)), baseRisk: k.Risk, category: k.Category}
	for _, a := range k.Arguments {
		t.Roles[a.Name] = a.Role
	}
	return t
}

// PrimaryArgument returns the name of the argument that holds what rules for t match: "command" for a shell, "path" for
// files. It returns "" for a tool whose kind has no values.
func PrimaryArgument(t *Tool) string {
	k, ok := kinds.Of[t.Kind]
	if !ok {
		return ""
	}
	if t.guess.argument != "" {
		return t.guess.argument
	}
	for _, a := range k.Arguments {
		if a.Role.IsValue() && t.Roles[a.Name] == a.Role {
			return a.Name
		}
	}
	var names []string
	for name, role := range t.Roles {
		if role.IsValue() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// Server is what the configuration says about the server of a tool.
type Server struct {
	Name     string   // alias in the configuration, sanitized: the first part of the qualified name
	Packages []string // package names found in the configured command, arguments or URL
	Identity string   // which program or address it is, whatever its alias; definitions are pinned under it
	Trusted  bool     // the user trusts its annotations to lower risk
	Mappings []Mapping
}

// Mapping is one tool that the user mapped in the configuration.
type Mapping struct {
	Tool  string          // the upstream's own name for the tool, or a glob over names; the first mapping that matches counts
	Kind  string          // "" for a tool of no kind; its arguments can have roles all the same
	Roles map[string]Role // by argument name; arguments not named are Unmapped
	// Risk is the class of the tool's calls; Unknown leaves it to the labels or the kind. The content of a call, such
	// as a command or a statement, can only raise it.
	Risk   permissions.Risk
	Labels Labels
}

// Tool is what is known of one tool. It is computed once per definition and immutable.
type Tool struct {
	Qualified  string // "{server}_{tool}", what rules see
	Plain      string // the qualified name without the suffix that a collision adds; "" or Qualified if there is none
	Server     string
	Name       string // the upstream's own name
	Kind       string // canonical kind, or ""
	Bound      bool   // the kind is bound to the configured server, see the package comment
	Why        string // how the kind was found, for people: "catalogue: @modelcontextprotocol/server-filesystem"
	Roles      map[string]Role
	Labels     Labels // from the catalogue or the configuration; empty for a tool that neither knows
	Definition []byte // the upstream's raw definition; nil if none was seen
	Local      bool   // its server is known to keep everything that it is given on this machine
	Outgrown   bool   // its labels do not count, because they were made for other arguments than its definition has
	Hash       string // SHA-256 of Definition in hex, "" if there is none

	unroled   bool // a person labelled it and gave no argument a role
	baseRisk  permissions.Risk
	category  string              // of a call whose subjects have none
	remote    bool                // its paths and commands belong to another machine
	enums     map[string][]string // by argument: the only values that the schema allows
	suspected Labels              // labels that may only tighten: suggested by the name, or outgrown
	guess     guess               // what name and schema suggest about a tool that is not bound
}

// Reads reports whether the name of an unlabelled tool says that it only looks.
func (t *Tool) Reads() bool { return t.guess.reads }

// MayOpen reports whether an unlabelled tool may open the page that it is given: its name says so, or nothing says that
// it changes something.
func (t *Tool) MayOpen() bool { return !t.guess.changes || t.guess.opens }

// Call is what Analyze looks at.
type Call struct {
	Tool      *Tool
	Arguments []byte // the raw arguments object, checked by jsonx; nil means {}
	Place     Place
}

// Mark is a reason why only a person can release a call.
type Mark struct {
	Code string `json:"code"` // stable, for programs: "dynamic", "unparsable", "start-up-file", "process-input", "no-subject", …
	Text string `json:"text"` // one sentence for people
	// Quote holds the words of the arguments that a mark about the origin of values speaks of, and From the result that
	// they are known from.
	Quote string `json:"quote,omitempty"`
	From  Source `json:"from,omitzero"`
}

// Source is the result of an earlier call.
type Source struct {
	Call   string    `json:"call"` // its id
	Tool   string    `json:"tool"` // qualified name
	Server string    `json:"server"`
	At     time.Time `json:"at"` // in whole seconds of UTC, so that two sources can be compared
}

// Written is one path that a call writes.
type Written struct {
	Path  string // absolute; not resolved if the call may write the link itself
	Whole bool   // a folder is written, moved or removed with all that is in it
	// Guessed says that nobody knows whether the call writes it: the text looks like a path, and what the tool does with
	// it is unknown.
	Guessed bool
}

// CommandView is one effective command of a shell text as approvers see it.
type CommandView struct {
	Argv     []string         `json:"argv"`
	Via      []string         `json:"via,omitempty"`
	Writes   []string         `json:"writes,omitempty"`
	Reads    []string         `json:"reads,omitempty"`
	Connects []string         `json:"-"` // addresses that the shell connects to: tcp://host:port
	Input    string           `json:"-"` // the text on its standard input, where that is known
	Code     bool             `json:"-"` // it runs a text in another language: a word of it, or its standard input
	Around   []string         `json:"-"` // variables that are set for it, and options before its subcommand
	Dirs     []string         `json:"-"` // the known folders that it may run in; two if a cd may have failed
	Sends    bool             `json:"-"` // the command is for sending data to another machine
	Risk     permissions.Risk `json:"risk"`
}

// Offer is one pattern that an approver may grant with "always", narrow ones first within a subject.
type Offer struct {
	Tool        string           `json:"tool"`
	Pattern     string           `json:"pattern"`
	Risk        permissions.Risk `json:"risk"`                  // ceiling that the grant would have
	Subject     int              `json:"subject"`               // index into Analysis.Subjects
	NewlyAllows *Widening        `json:"newlyAllows,omitempty"` // known commands that the pattern would newly allow; nil for none
	Approved    int              `json:"approved,omitempty"`    // how many approved calls of the project the pattern would have answered
	Default     bool             `json:"default,omitempty"`     // what "always" grants for this subject if nobody chooses
	// Folder and Denied are those of the grant. With them, Pattern is text for people, and Glob is the grant's pattern.
	Folder string `json:"folder,omitempty"`
	Denied string `json:"denied,omitempty"`
	Glob   string `json:"glob,omitempty"`
	Bound  bool   `json:"-"` // it may be made the default, see shellparse.Pattern
}

// Widening counts commands that an offer would newly allow, and names a few.
type Widening struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// Analysis is everything about one call that does not depend on rules.
type Analysis struct {
	Subjects []permissions.Subject
	Marks    []Mark
	Folders  []string // folders read recursively, absolute: denied files beneath make the call ask
	Paths    []string // every reading, absolute, with links resolved and not, of every path that the call reads, writes or lists
	Commands []CommandView
	// Operators says that a shell text of the call is more than one plain command: it has an operator, a redirection,
	// a substitution or something else around its words.
	Operators bool
	Writes    []Written // every reading of every path that the call writes, or may write, on this machine
	Wipes     []Wipe    // every reading of every path that the call may remove, overwrite, move or close as a whole
	// Runs says that the call runs something on this machine that may write unknown files: a command, input to a
	// process, a change of a repository.
	Runs bool
	// Builds says that the call runs what the manifests of a project say: a build, a test, a named script or target.
	// Hooks says that it makes git run hooks.
	Builds, Hooks bool
	Dir           string           // where it runs, absolute; "" if unknown
	Risk          permissions.Risk // the worst subject's
	Category      string           // the furthest-reaching of all that the call does: "read", "workspace-write", "network", …
	Summary       string           // one or two plain sentences; every quoted field escaped
	// Refuse says why the call must not run at all, whoever approves it: its arguments cannot be read, or there are
	// more of them than can be looked at. It is "" if there is no such reason.
	Refuse string

	searches []*searches.Search // by folder: what the program leaves out; nil if it reads all of it

	sources []source // by subject: what Offers needs of it
}

// Fetches reports whether the call asks for a web address, whatever its tool is for.
func (a *Analysis) Fetches() bool {
	return slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool { return s.Kind == KindFetch && !s.DeniesOnly })
}

// DeniedBeneath is workspace.DeniedBeneath for the i-th of Folders, without the files that the program leaves out. cure
// tells people how it would leave out the first of the paths; it is "" if it cannot.
func (a *Analysis) DeniedBeneath(i int, denied func(path string) bool) (paths []string, cure string, err error) {
	folder := a.Folders[i]
	var s *searches.Search
	if i < len(a.searches) {
		s = a.searches[i]
	}
	paths, err = workspace.DeniedBeneath(folder, func(path string) bool { return denied(path) && !s.LeavesOut(folder, path) })
	if len(paths) > 0 && s != nil && s.Cure != "" {
		cure = fmt.Sprintf(s.Cure, filepath.Base(paths[0]))
	}
	return paths, cure, err
}

package permissions

import (
	"time"

	"callgate/permissions/internal/pattern"
)

// Layer names where a rule or grant comes from.
type Layer string

const (
	LayerAgent   Layer = "agent"   // the subagent profile of the session; its denies are a veto
	LayerFile    Layer = "file"    // the worker's permissions.jsonc
	LayerAlways  Layer = "always"  // a grant kept in permissions.jsonc under "$always"
	LayerSession Layer = "session" // a grant that ends with the session
	LayerDefault Layer = "default" // no rule matched
)

// Rule is one line of a permissions file: for tools that match Tool, values that match Pattern get Action.
type Rule struct {
	Tool    string // glob over the qualified tool name; matches a kind's name too
	Pattern string // glob over the value, "arg=glob" over an argument, or "*"
	Action  Action
	Capped  bool // an allow with the ceiling Risk: it does not match riskier subjects
	Risk    Risk // the worst class that a capped allow covers
	When    When // the condition under which the rule matches; the zero value always holds
	// Approvers is how many persons have to approve, each with their own credential; for Confirm only. 0 means anyone.
	Approvers int
	Layer     Layer
	Source    string // "path:line", for people

	tool      *Glob
	pattern   *pattern.Value
	path      *pattern.Value // for values that are paths
	paths     bool           // the rule may be about paths
	others    bool           // the rule may be about other values
	condition *condition     // compiled from When; nil if that needs no Circumstances
	text      string         // the result of String: every record of an allowed call names its rule
}

// MaxApprovers is the largest number of approvers that a rule can require.
const MaxApprovers = 9

// Grant is what a person's earlier "always" allows. It loosens asks, but never a deny or a mark, and nothing above its
// risk ceiling. Empty fields do not restrict it.
type Grant struct {
	Tool      string `json:"tool"`
	Pattern   string `json:"pattern"`
	Risk      Risk   `json:"risk"`
	Server    string `json:"server,omitempty"`    // the server's name in the configuration
	Workspace string `json:"workspace,omitempty"` // directory in or below which the call must run
	Content   string `json:"content,omitempty"`   // the Subject.Content that it is bound to: the script as it was then
	// Folder and Denied come together. Such a grant covers only reading the folder and the files below it that rules
	// deny to read, as long as Denied is the digest of these files.
	Folder  string    `json:"folder,omitempty"`
	Denied  string    `json:"denied,omitempty"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Expires time.Time `json:"expires,omitzero"`

	Layer  Layer  `json:"-"`
	Source string `json:"-"`

	tool    *Glob
	pattern *pattern.Value
}

// SameReach reports whether two grants release the same calls.
func (g Grant) SameReach(h Grant) bool {
	return g.Tool == h.Tool && g.Pattern == h.Pattern && g.Risk == h.Risk && g.Server == h.Server &&
		g.Workspace == h.Workspace && g.Content == h.Content && g.Folder == h.Folder && g.Denied == h.Denied && g.Expires.Equal(h.Expires)
}

// Same reports whether two grants are equal, wherever they come from.
func (g Grant) Same(h Grant) bool { return g.SameReach(h) && g.By == h.By && g.At.Equal(h.At) }

// Context says where a call comes from, for grants that are bound to a server or a workspace.
type Context struct {
	Server    string // the server's name in the configuration
	Workspace string // absolute directory the call runs in, or ""
	Now       time.Time
	// Graded means that an autonomy level decides. The level may ask about calls that the rules allow, so Evaluate
	// looks for grants for them too.
	Graded bool
	// Session holds what conditions of rules look at; nil if nothing is known. Callers of Evaluate MUST set it if
	// Policy.AsksSession is true.
	Session *Circumstances
}

// Finding is the answer of the rules for one subject.
type Finding struct {
	Subject Subject
	Action  Action // of the winning rule; Ask if none matches
	Layer   Layer
	Rule    *Rule  // nil when no rule matched
	Grant   *Grant // the grant that releases the subject; nil if none does
	Veto    bool   // an agent profile's deny
	// Unbound means that Rule names the subject's kind, which is only a guess: an allow counts as ask.
	Unbound bool
	// Short is the last allow that matches a subject which asks, but does not cover all of it. Beyond is the uncovered
	// part.
	Short  *Rule
	Beyond string
	// Weak is the last allow that matches a subject which asks, but does not count: it names a kind that is only a
	// guess, or the common name of several tools.
	Weak *Rule
	// Unmet is the last allow that matches a subject which asks, but whose condition does not hold. Why is the reason.
	Unmet *Rule
	Why   string
}

// EffectKeys lists the keys of a permissions file that stand for all calls with an effect (see docs/flow.md). Their
// patterns are about destinations.
var EffectKeys = []string{"outside", "money", "access", "deletes"}

// ShellKind is the kind whose values are commands.
const ShellKind = "shell_exec"

// FetchKind is the kind whose values are addresses.
const FetchKind = "web_fetch"

// PathKinds lists the kinds whose values are paths. For them, ./x in a pattern means x, and a deny or confirm of a
// folder holds for everything in it.
var PathKinds = []string{"read_file", "write_file", "edit_file", "delete_file", "move_file", "grep", "glob", "sandbox_read", "sandbox_write"}

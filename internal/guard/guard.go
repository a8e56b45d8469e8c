// Package guard starts programs behind a wall that the kernel enforces.
//
// Behind it, programs cannot reach callgate's files, memory and processes, nor the sockets through which a program can
// act outside its user's session. Everything else works as before.
//
// On Linux, a keeper builds the wall: this binary, started again under another name. It starts the program and becomes
// the parent of everything that the program leaves behind. It ends all of it when callgate says so or dies. The keeper
// runs in this package's init, before anything heavier is loaded. A program that imports guard MUST NOT depend on being
// started with the name "callgate-guard".
package guard

import "fmt"

// Mode says whether a wall is wanted or required.
type Mode string

const (
	On      Mode = "on"      // as good as the system allows
	Require Mode = "require" // do not start a program without a wall
	Off     Mode = "off"
)

// ParseMode parses a mode; "" means On.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return On, nil
	case On, Require, Off:
		return m, nil
	}
	return "", fmt.Errorf("guard is %q: use on, require or off", s)
}

// Kind names the mechanism that enforces a wall.
type Kind string

const (
	None       Kind = "none"
	Namespaces Kind = "namespaces" // a user and a mount namespace (Linux)
	Landlock   Kind = "landlock"   // where there are no namespaces (Linux)
	Seatbelt   Kind = "seatbelt"   // macOS
)

// State describes the wall that a program runs behind, as confirmed by the process that put it up.
type State struct {
	Kind  Kind
	Why   string // why there is no wall, if Kind is None
	Boxed bool   // the program has a box

	Limits string // what enforces the box's limits: "cgroup", or "rlimits" and why; "" without limits
	Unseen string // why the box's refusals are not reported; "" if they are
}

func (s State) String() string {
	if s.Kind == None && s.Why != "" {
		return string(s.Kind) + " (" + s.Why + ")"
	}
	text := string(s.Kind)
	if s.Boxed {
		text += ", sandbox"
	}
	if s.Limits != "" {
		text += ", limits by " + s.Limits
	}
	if s.Unseen != "" {
		text += ", refused files are not seen (" + s.Unseen + ")"
	}
	return text
}

// Wall keeps programs away from what it lists. The zero value restricts nothing and starts programs unchanged.
type Wall struct {
	Mode Mode // "" is Off

	// Hidden lists files and folders by absolute path that do not exist for programs. Those that are missing when a
	// program starts are left out.
	Hidden []string
	// Fixed lists files and folders that programs may read, but not change, replace or remove. Landlock protects only
	// the folders: for a file it would have to close the folder that holds it.
	Fixed []string
	// Sockets lists sockets, and folders of sockets, that programs cannot connect to. Landlock has no rule for them.
	Sockets []string
	// Apart lists folders that programs see as empty private ones. Missing ones are made: tmux keeps its sockets in
	// such a folder. Landlock has no rule for them either.
	Apart []string
	// Box lists everything that programs can reach; nil means everything but the above.
	Box *Box

	// For tests: kinds lists the kinds of wall that may be used (nil means all), and cgroups says where to make groups.
	kinds   []Kind
	cgroups *cgroups
	group   *cgroup
}

// Package guard starts programs behind a wall that the kernel keeps.
//
// Behind it they cannot reach callgate's files, memory and processes, nor the sockets through which a program leaves
// its user's session. Everything else works as before.
//
// On Linux a keeper builds the wall: this binary, started again under another name. It starts the program, stays the
// parent of the program and of everything it leaves behind, and ends all of it when callgate says so or dies. That
// happens in this package's init, before anything heavier is loaded: a program that imports guard MUST NOT depend on
// being started with the name "callgate-guard".
package guard

import "fmt"

// Mode says how much a wall is wanted.
type Mode string

const (
	On      Mode = "on"      // as good as the system allows
	Require Mode = "require" // a program that cannot be walled in is not started
	Off     Mode = "off"
)

// ParseMode reads a mode; "" is On.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return On, nil
	case On, Require, Off:
		return m, nil
	}
	return "", fmt.Errorf("guard is %q: use on, require or off", s)
}

// Kind is what keeps a wall.
type Kind string

const (
	None       Kind = "none"
	Namespaces Kind = "namespaces" // a user and a mount namespace of Linux
	Landlock   Kind = "landlock"   // of Linux, where there are no namespaces
	Seatbelt   Kind = "seatbelt"   // of macOS
)

// State is the wall that a program runs behind, as the process that put it up has confirmed.
type State struct {
	Kind  Kind
	Why   string // of None
	Boxed bool   // the program has a box

	Limits string // what keeps the limits of the box: "cgroup", or "rlimits" and why; "" without limits
	Unseen string // why nobody hears what the box refuses, "" where that is heard
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

// Wall is what programs are kept away from. The zero value keeps them away from nothing, and starts them unchanged.
type Wall struct {
	Mode Mode // "" is Off

	// Hidden are files and folders, absolute, that are not there for programs. A folder has to exist when a program
	// starts; what does not exist is left out.
	Hidden []string
	// Fixed are files and folders that programs may read, but not change, replace or remove. Landlock keeps folders and
	// not files: it would have to close the folder that a file is in.
	Fixed []string
	// Sockets are what programs cannot connect to, and folders of such. Landlock knows no rule for them.
	Sockets []string
	// Apart are folders of which programs have an empty one of their own, made when missing: tmux keeps its sockets in
	// one. Landlock knows no rule for them either.
	Apart []string
	// Box is all that programs can reach; nil is everything but the above.
	Box *Box

	// kinds are those that may be used; nil is all. For tests, as is where groups of processes are made.
	kinds   []Kind
	cgroups *cgroups
	group   *cgroup
}

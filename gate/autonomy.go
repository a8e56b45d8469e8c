package gate

import (
	"fmt"
	"slices"
	"strings"

	"callgate/permissions"
)

// Autonomy is how much runs without a person. With the zero value, rules alone decide.
type Autonomy uint8

const (
	AutonomyNone Autonomy = iota
	FullAuto
	Supervised
	Cautious
	Manual
	AskOnWrite        // reading runs, everything else asks
	AskOnExternal     // reading and writing in the workspace run; terminal, network and git writes ask
	AllowSafeReadonly // the same as AskOnWrite, under another name
	Guided            // reading runs, and so do own work that can be undone and what goes to a place that somebody named
)

var autonomyNames = [...]string{
	AutonomyNone: "NONE", FullAuto: "FULL_AUTO", Supervised: "SUPERVISED", Cautious: "CAUTIOUS", Manual: "MANUAL",
	AskOnWrite: "ask-on-write", AskOnExternal: "ask-on-external", AllowSafeReadonly: "allow-safe-readonly", Guided: "GUIDED",
}

func (a Autonomy) String() string { return autonomyNames[a] }

// ParseAutonomy parses a level or a category preset, in any case. "" and NONE mean that none is set.
func ParseAutonomy(s string) (Autonomy, error) {
	switch strings.ToLower(s) {
	case "":
		return AutonomyNone, nil
	case "always-ask":
		return Manual, nil
	}
	if i := slices.IndexFunc(autonomyNames[:], func(name string) bool { return strings.EqualFold(name, s) }); i >= 0 {
		return Autonomy(i), nil
	}
	return AutonomyNone, fmt.Errorf("unknown autonomy %q: use %s or always-ask", s, strings.Join(autonomyNames[:], ", "))
}

// runs reports whether a call of that risk and category runs without a person. sends says that data goes out. Call it
// only if a level is set. Nothing critical ever runs by level.
func (a Autonomy) runs(risk permissions.Risk, category string, sends bool) bool {
	label := risk.Label()
	if label == "critical" {
		return false
	}
	switch a {
	case FullAuto:
		return true
	case Supervised:
		return label != "high" && !sends
	case Guided: // Unguided has looked at the whole call
		return true
	case Cautious:
		return label == "low"
	case AskOnWrite, AllowSafeReadonly:
		return risk == permissions.ReadOnly && readsOnly(category)
	case AskOnExternal:
		return label != "high" && (readsOnly(category) || category == "workspace-write")
	default:
		return false
	}
}

// guardsStores reports whether the level asks before a call opens a credential store.
func (a Autonomy) guardsStores() bool {
	switch a {
	case Cautious, AskOnWrite, AskOnExternal, AllowSafeReadonly:
		return true
	}
	return false
}

func readsOnly(category string) bool {
	return category == "read" || category == "git-read" || category == "terminal-read"
}

// Mode says what happens to calls that would ask. The zero value asks a person.
type Mode uint8

const (
	ModeAsk         Mode = iota
	ModeAutoApprove      // what would ask runs; never under MANUAL, never a marked call
	ModeAutoDeny         // nothing runs at all
	ModeNoPrompt         // what would ask is denied; for machines without a person
)

var modeNames = [...]string{ModeAsk: "ask", ModeAutoApprove: "auto-approve", ModeAutoDeny: "auto-deny", ModeNoPrompt: "no-prompt"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode parses a mode, in any case. "" means ask, and event-based is another name for it.
func ParseMode(s string) (Mode, error) {
	if s == "" || strings.EqualFold(s, "event-based") {
		return ModeAsk, nil
	}
	if i := slices.IndexFunc(modeNames[:], func(name string) bool { return strings.EqualFold(name, s) }); i >= 0 {
		return Mode(i), nil
	}
	return ModeAutoDeny, fmt.Errorf("unknown mode %q: use %s or event-based", s, strings.Join(modeNames[:], ", "))
}

package permissions

import "fmt"

// Action is the answer of a rule, from strictest to loosest. The zero value is Deny, so a missing decision is a
// refusal.
type Action uint8

const (
	Deny    Action = iota // never runs; nothing lifts it
	Confirm               // a person decides every time, whatever was granted
	Ask                   // a person decides, unless a grant or the autonomy level does
	Allow                 // runs
)

var actionNames = [...]string{Deny: "deny", Confirm: "confirm", Ask: "ask", Allow: "allow"}

// Stricter returns the stricter of a and b.
func (a Action) Stricter(b Action) Action { return min(a, b) }

func (a Action) String() string { return actionNames[a] }

// ParseAction reads an action as permissions.jsonc spells it.
func ParseAction(s string) (Action, error) {
	for a, name := range actionNames {
		if name == s {
			return Action(a), nil
		}
	}
	return Deny, fmt.Errorf("unknown action %q: use allow, ask, confirm or deny", s)
}

// MarshalText implements encoding.TextMarshaler.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Action) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAction(string(text))
	return err
}

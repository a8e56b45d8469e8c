// Package presence lets people prove with a passkey that they are present when they approve. It keeps the public keys,
// makes the challenges, and checks the signatures: at once, and later in the audit trail.
package presence

import (
	"fmt"

	"callgate/permissions"
)

// Class says which answers need a passkey.
type Class string

const (
	None   Class = "none"
	High   Class = "high"   // a yes to calls of high or critical risk, to marked ones, and whatever loosens the gate
	Always Class = "always" // every yes, and whatever loosens the gate
)

// ParseClass reads the value of approvers.presence; "" is none.
func ParseClass(s string) (Class, error) {
	switch c := Class(s); c {
	case "":
		return None, nil
	case None, High, Always:
		return c, nil
	}
	return "", fmt.Errorf("%q: use none, high or always", s)
}

// Needs reports whether a yes to a call of that risk needs a passkey.
func (c Class) Needs(risk permissions.Risk, marked bool) bool {
	switch c {
	case None:
		return false
	case High:
		label := risk.Label()
		return marked || label != "low" && label != "medium"
	}
	return true
}

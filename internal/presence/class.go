// Package presence lets people prove with a passkey that they are present when they approve. It keeps the public keys,
// makes the challenges, and checks the signatures, both at once and later in the audit trail.
package presence

import (
	"fmt"

	"callgate/permissions"
)

// Class says which answers need a passkey.
type Class string

const (
	None   Class = "none"
	High   Class = "high"   // approvals of high or critical risk or with marks, and changes that loosen the gate
	Always Class = "always" // all approvals, and changes that loosen the gate
)

// ParseClass parses the value of approvers.presence. "" means none.
func ParseClass(s string) (Class, error) {
	switch c := Class(s); c {
	case "":
		return None, nil
	case None, High, Always:
		return c, nil
	}
	return "", fmt.Errorf("%q: use none, high or always", s)
}

// Needs reports whether approving a call of that risk needs a passkey.
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

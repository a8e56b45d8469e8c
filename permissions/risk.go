package permissions

import "fmt"

// Risk is the class of the worst thing a subject may do. The zero value is Unknown.
type Risk uint8

const (
	Unknown     Risk = iota // cannot be judged; high
	ReadOnly                // looks, changes nothing; low
	BuildTest               // runs the project's own build or tests; low
	Write                   // changes files or state that can be restored; medium
	Network                 // talks to other machines; medium
	Destructive             // loses data or history; high
	Escalation              // gains privileges; critical
)

// riskOrder ranks the classes from harmless to worst. The worst subject of a call counts.
var riskOrder = [...]uint8{ReadOnly: 0, BuildTest: 1, Write: 2, Network: 3, Unknown: 4, Destructive: 5, Escalation: 6}

var riskNames = [...]string{
	Unknown: "UNKNOWN", ReadOnly: "READ_ONLY", BuildTest: "BUILD_TEST", Write: "WRITE",
	Network: "NETWORK", Destructive: "DESTRUCTIVE", Escalation: "ESCALATION",
}

var riskLabels = [...]string{
	Unknown: "high", ReadOnly: "low", BuildTest: "low", Write: "medium",
	Network: "medium", Destructive: "high", Escalation: "critical",
}

// Exceeds reports whether r is worse than ceiling.
func (r Risk) Exceeds(ceiling Risk) bool { return riskOrder[r] > riskOrder[ceiling] }

// Worse returns the worse of r and other.
func (r Risk) Worse(other Risk) Risk {
	if other.Exceeds(r) {
		return other
	}
	return r
}

// String returns the class as rules, records and the wire spell it, such as "READ_ONLY".
func (r Risk) String() string { return riskNames[r] }

// Label returns the class in words for people: low, medium, high or critical.
func (r Risk) Label() string { return riskLabels[r] }

// ParseRisk parses the result of String.
func ParseRisk(s string) (Risk, error) {
	for r, name := range riskNames {
		if name == s {
			return Risk(r), nil
		}
	}
	return Unknown, fmt.Errorf("unknown risk %q: use READ_ONLY, BUILD_TEST, WRITE, NETWORK, UNKNOWN, DESTRUCTIVE or ESCALATION", s)
}

// MarshalText implements encoding.TextMarshaler.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Risk) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRisk(string(text))
	return err
}

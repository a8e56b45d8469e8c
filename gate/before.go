package gate

import (
	"encoding/json"
	"fmt"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Before holds what hooks said about a call before the gate decided. It can only make the decision stricter.
type Before struct {
	DeniedBy string       // the hook that refuses the call; "" if none does
	Reason   string       // why it refuses
	Marks    []tools.Mark // why a person has to look at it
	Rewrite  *Rewrite     // nil if the arguments are unchanged
}

// Rewrite says that hooks changed the arguments.
type Rewrite struct {
	By       string          `json:"by"`       // the hooks that changed them, in order
	Original json.RawMessage `json:"original"` // as they came; null when there were none
	digest   string          // of Original
}

// Rewritten returns the call with other arguments. The gate checks, judges, shows, records and sends these instead. An
// approval stays bound to the original arguments too.
func (c Call) Rewritten(arguments []byte, by string) (Call, error) {
	if c.Fixed {
		return c, fmt.Errorf("the arguments of this call stand for more than arguments and cannot be changed")
	}
	changed, err := c.withArguments(arguments)
	if err != nil {
		return c, err
	}
	rewrite := &Rewrite{By: by, Original: c.Arguments, digest: c.Digest}
	if c.Arguments == nil {
		rewrite.Original = json.RawMessage("null")
	}
	if first := c.Before.Rewrite; first != nil {
		rewrite = &Rewrite{By: first.By + ", " + by, Original: first.Original, digest: first.digest}
	}
	changed.Before.Rewrite = rewrite
	return changed, nil
}

// reason returns the rewrite as a Reason for people.
func (r *Rewrite) reason() Reason {
	original := tools.Visible(string(r.Original))
	if runes := []rune(original); len(runes) > 300 {
		original = string(runes[:300]) + "…"
	}
	return Reason{
		Subject: "arguments", Rule: fmt.Sprintf("The hook %s changed the arguments, which came as %s", r.By, original), Layer: "mark", Action: permissions.Ask,
	}
}

// note returns what the model is told when the call runs, or "" if no hook changed the arguments.
func (b *Before) note(call Call) string {
	if b.Rewrite == nil {
		return ""
	}
	return fmt.Sprintf("A hook of the user (%s) changed the arguments. The call ran with %s", b.Rewrite.By, call.Arguments)
}

// recorded returns the reason of a decision as the audit trail has it: with the rewrite, if there was one.
func (b *Before) recorded(reason string) string {
	if b.Rewrite == nil {
		return reason
	}
	if reason != "" {
		reason += " "
	}
	return reason + fmt.Sprintf("The hook %s changed the arguments, whose digest was %s.", b.Rewrite.By, b.Rewrite.digest)
}

// digestAsCame returns the digest of the original arguments.
func (c *Call) digestAsCame() string {
	if c.Before.Rewrite != nil {
		return c.Before.Rewrite.digest
	}
	return c.Digest
}

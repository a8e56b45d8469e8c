package gate

import (
	"encoding/json"
	"fmt"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Before holds what hooks said about a call before the gate decided. It can only make the decision stricter.
type Before struct {
	DeniedBy string       // who refuses the call; "" when nobody does
	Reason   string       // why
	Marks    []tools.Mark // why a person has to look at it
	Rewrite  *Rewrite     // nil while the arguments are those that came
}

// Rewrite says that the arguments are not those that came.
type Rewrite struct {
	By       string          `json:"by"`       // which hook put others in their place
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

// reason tells people beside what the rules say.
func (r *Rewrite) reason() Reason {
	original := tools.Visible(string(r.Original))
	if runes := []rune(original); len(runes) > 300 {
		original = string(runes[:300]) + "…"
	}
	return Reason{
		Subject: "arguments", Rule: fmt.Sprintf("The hook %s changed the arguments, which came as %s", r.By, original), Layer: "mark", Action: permissions.Ask,
	}
}

// note is what the model is told when the call runs, "" when there is nothing.
func (b *Before) note(call Call) string {
	if b.Rewrite == nil {
		return ""
	}
	return fmt.Sprintf("A hook of the user (%s) changed the arguments. The call ran with %s", b.Rewrite.By, call.Arguments)
}

// recorded is what the audit trail says beside the reason of a decision.
func (b *Before) recorded(reason string) string {
	if b.Rewrite == nil {
		return reason
	}
	if reason != "" {
		reason += " "
	}
	return reason + fmt.Sprintf("The hook %s changed the arguments, whose digest was %s.", b.Rewrite.By, b.Rewrite.digest)
}

// digestAsCame is the digest of the original arguments.
func (c *Call) digestAsCame() string {
	if c.Before.Rewrite != nil {
		return c.Before.Rewrite.digest
	}
	return c.Digest
}

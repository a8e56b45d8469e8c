// Package elicitation words the questions that callgate puts to the person at a host, and reads the answers.
package elicitation

import (
	"fmt"
	"strings"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
)

// Question returns a form with one required field, because an empty answer decides nothing.
func Question(a *gate.Approval) []byte {
	return fmt.Appendf(nil, `{"message":%s,"requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]}},"required":["decision"]}}`, jsonx.Quote(describe(a)))
}

func describe(a *gate.Approval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "callgate: %s wants to run. %s Risk: %s (%s).", a.Tool, a.Analysis.Summary, a.Analysis.Risk.Label(), a.Analysis.Risk)
	for _, m := range a.Marks {
		b.WriteString(" " + m.Text)
	}
	return tools.Visible(b.String())
}

// Decision reads the answer to a Question: "approve", "reject", or "" if it decides nothing.
func Decision(result []byte) string {
	var m [2]jsonx.Member
	if result == nil || jsonx.Members(result, []string{"action", "content"}, m[:]) != nil {
		return ""
	}
	switch action, _ := jsonx.String(m[0].Value); action {
	case "decline":
		return "reject"
	case "accept":
		var field [1]jsonx.Member
		if m[1].Value == nil || jsonx.Members(m[1].Value, []string{"decision"}, field[:]) != nil {
			return ""
		}
		switch decision, _ := jsonx.String(field[0].Value); decision {
		case "approve":
			return "approve"
		case "deny":
			return "reject"
		}
	}
	return ""
}

// Signpost returns a question that leads the person to the page. The address proves nothing about who opens it.
// Revisions without elicitationId get one too, because some of their hosts do not understand an address without it.
func Signpost(a *gate.Approval, page string) []byte {
	return fmt.Appendf(nil, `{"mode":"url","elicitationId":%s,"url":%s,"message":%s}`, jsonx.Quote(a.ID), jsonx.Quote(page), jsonx.Quote(describe(a)))
}

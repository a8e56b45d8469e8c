package provenance

import (
	"fmt"
	"strings"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/secrets"
	"callgate/permissions"
)

// Codes of the marks for arguments that hold a credential: one of an earlier result, or text in the form of one.
const (
	MarkSecret     = "secret-of-a-result"
	markCredential = "credential-leaves"
)

// SecretMark marks a call that may take a credential elsewhere: one that a result of the session or a file of variables
// held, or text in the form of a credential that the user did not say. Neither the mark nor what is remembered contains
// the credential.
func (j *Asker) SecretMark(call *facts.Call, a *tools.Analysis) (tools.Mark, bool) {
	reads := a.Risk == permissions.ReadOnly && a.Category != tools.CategoryNetwork
	if j.Secrets == nil || facts.FileKind(call.Tool.Kind) && call.Tool.Bound || !a.Risk.Exceeds(permissions.Write) && len(a.Commands) > 0 || reads && (call.Tool.Local || call.Tool.Kind != "") {
		return tools.Mark{}, false
	}
	texts := make([]string, 0, 8)
	for _, t := range call.Said() {
		texts = append(texts, t.Said)
	}
	goesBack := func(f secrets.Found) bool { // what a server gave, a cursor for instance
		return reads && strings.HasPrefix(f.Place, "result of "+call.Tool.Server+"_")
	}
	found, ok := j.Secrets.FindBut(goesBack, texts...)
	if !ok {
		return j.credentialMark(call, a)
	}
	for _, v := range call.Values() {
		if found, ok := j.Secrets.FindBut(goesBack, v.Text); ok {
			return tools.Mark{Code: MarkSecret, Text: fmt.Sprintf("The argument %s contains a credential (%s) from the %s: the call can take it elsewhere.", tools.Visible(v.Name), found.Kind, found.Place)}, true
		}
	}
	return tools.Mark{Code: MarkSecret, Text: fmt.Sprintf("The arguments contain a credential (%s) from the %s: the call can take it elsewhere.", found.Kind, found.Place)}, true
}

// credentialMark marks a call that may take text in the form of a credential off this machine.
func (j *Asker) credentialMark(call *facts.Call, a *tools.Analysis) (tools.Mark, bool) {
	said := func(value string) bool {
		return j.Session != nil && j.Session.Memory.Know(value).Said&(flow.Prompt|flow.Answer) != 0
	}
	before := ""
	for _, v := range call.Values() {
		if v.Number {
			continue
		}
		var known secrets.Words
		if t := call.Known(v.Text); t != nil {
			known = t
		}
		f, ok := secrets.Form(v.Text, known, said)
		if word := len(v.Text) <= 64 && !strings.ContainsAny(v.Text, " \n/"); !word {
			before = ""
		} else if !ok && before != "" { // one argument may hold the beginning, and the next the rest
			f, ok = secrets.Form(before+v.Text, nil, said)
			before = v.Text
		} else {
			before = v.Text
		}
		if ok {
			if o := outgoingOf(call, a); !o.leaves() && o.effect != effectFetch && (len(a.Commands) > 0 || call.Tool.Local) {
				return tools.Mark{}, false
			}
			return tools.Mark{Code: markCredential, Text: fmt.Sprintf("The argument %s contains text in the form of a credential (%s): the call can take it elsewhere.", tools.Visible(v.Name), f.Kind)}, true
		}
	}
	return tools.Mark{}, false
}

package gate

import (
	"fmt"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/jsonx"
	"callgate/internal/secrets"
	"callgate/permissions"
)

// Codes of the marks for arguments that hold a credential: of an earlier result, or one by its form.
const (
	markSecret     = "secret-of-a-result"
	markCredential = "credential-leaves"
)

// secretMark marks a call that takes a credential elsewhere: one that a result of the session or a file of variables held, or
// one that its form gives away and that the user did not say. Neither the mark nor what is remembered holds the credential.
func (j *Judge) secretMark(call Call, a *tools.Analysis) (tools.Mark, bool) {
	reads := a.Risk == permissions.ReadOnly && a.Category != tools.CategoryNetwork
	if j.secrets == nil || isFileKind(call.Tool.Kind) && call.Tool.Bound || !a.Risk.Exceeds(permissions.Write) && len(a.Commands) > 0 || reads && (call.Tool.Local || call.Tool.Kind != "") {
		return tools.Mark{}, false
	}
	texts := make([]string, 0, 8)
	for _, t := range call.said() {
		texts = append(texts, t.said)
	}
	found, ok := j.secrets.Find(texts...)
	if !ok || reads && strings.HasPrefix(found.Place, "result of "+call.Tool.Server+"_") { // what a server gave may go back to it, a cursor for instance
		return j.credentialMark(call, a)
	}
	for _, v := range call.values() {
		if found, ok := j.secrets.Find(v.text); ok {
			return tools.Mark{Code: markSecret, Text: fmt.Sprintf("The argument %s holds a credential (%s) that the %s held: the call can take it elsewhere.", tools.Visible(v.name), found.Kind, found.Place)}, true
		}
	}
	return tools.Mark{Code: markSecret, Text: fmt.Sprintf("The arguments hold a credential (%s) that the %s held: the call can take it elsewhere.", found.Kind, found.Place)}, true
}

// credentialMark marks a call that leaves this machine with something that has the form of a credential.
func (j *Judge) credentialMark(call Call, a *tools.Analysis) (tools.Mark, bool) {
	said := func(value string) bool {
		return j.flow != nil && j.flow.memory.Know(value).Said&(flow.Prompt|flow.Answer) != 0
	}
	before := ""
	for _, v := range call.values() {
		if v.number {
			continue
		}
		f, ok := secrets.Form(v.text, said)
		if word := len(v.text) <= 64 && !strings.ContainsAny(v.text, " \n/"); !word {
			before = ""
		} else if !ok && before != "" { // one argument may hold the beginning, and the next the rest
			f, ok = secrets.Form(before+v.text, said)
			before = v.text
		} else {
			before = v.text
		}
		if ok {
			if o := outgoingOf(call, a); !o.leaves() && o.effect != effectFetch && (len(a.Commands) > 0 || call.Tool.Local) {
				return tools.Mark{}, false
			}
			return tools.Mark{Code: markCredential, Text: fmt.Sprintf("The argument %s holds what has the form of a credential (%s): the call can take it elsewhere.", tools.Visible(v.name), f.Kind)}, true
		}
	}
	return tools.Mark{}, false
}

// learn remembers the credentials of a result. It is done when the host has its answer; the next call waits for it.
func (s *Session) learn(call Call, result []byte) (learn func()) {
	o := s.flow.taken(call)
	if len(result) == 0 {
		return func() {}
	}
	done, flowed := s.secrets.Begin(), s.flow.memory.Begin()
	return func() {
		defer done()
		if !s.flow.off {
			s.flow.saw(call, o, result)
		}
		flowed()
		for text := range jsonx.Strings(result) {
			s.secrets.Learn(text, "result of "+call.Tool.Qualified)
		}
	}
}

package gate

import (
	"fmt"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// markSecret is the code of the mark for arguments that hold a credential of an earlier result.
const markSecret = "secret-of-a-result"

// secretMark marks a call that takes a credential elsewhere which a result of the session held. Neither the mark nor what
// is remembered holds the credential.
func (j *Judge) secretMark(call Call, a *tools.Analysis) (tools.Mark, bool) {
	if j.secrets == nil || isFileKind(call.Tool.Kind) && call.Tool.Bound || !a.Risk.Exceeds(permissions.Write) && (len(a.Commands) > 0 || a.Risk == permissions.ReadOnly && a.Category != tools.CategoryNetwork) {
		return tools.Mark{}, false
	}
	var texts []string
	for _, t := range call.said() {
		texts = append(texts, t.said)
	}
	found, ok := j.secrets.Find(texts...)
	if !ok {
		return tools.Mark{}, false
	}
	for _, v := range argumentsOf(call.Arguments) {
		if found, ok := j.secrets.Find(v.text); ok {
			return tools.Mark{Code: markSecret, Text: fmt.Sprintf("The argument %s holds a credential (%s) that the %s held: the call can take it elsewhere.", tools.Visible(v.name), found.Kind, found.Place)}, true
		}
	}
	return tools.Mark{Code: markSecret, Text: fmt.Sprintf("The arguments hold a credential (%s) that the %s held: the call can take it elsewhere.", found.Kind, found.Place)}, true
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

package provenance

import (
	"fmt"
	"slices"
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
	texts = append(append(texts, spelled(call, a)...), joined(call, a)...)
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
	for _, line := range spelled(call, a) {
		if f, ok := secrets.Form(line, nil, said); ok {
			return leaving(call, a, "command", f)
		}
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
		if !isWord(v.Text) {
			before = ""
		} else if !ok && before != "" { // one argument may hold the beginning, and the next the rest
			f, ok = secrets.Form(before+v.Text, nil, said)
			before = v.Text
		} else {
			before = v.Text
		}
		if ok {
			return leaving(call, a, "argument "+tools.Visible(v.Name), f)
		}
	}
	return tools.Mark{}, false
}

// leaving returns the mark for a credential that a call holds, if the call may take it off this machine.
func leaving(call *facts.Call, a *tools.Analysis, what string, f secrets.Formed) (tools.Mark, bool) {
	if o := outgoingOf(call, a); !o.leaves() && o.effect != effectFetch && (len(a.Commands) > 0 || call.Tool.Local) {
		return tools.Mark{}, false
	}
	return tools.Mark{Code: markCredential, Text: fmt.Sprintf("The %s contains text in the form of a credential (%s): the call can take it elsewhere.", what, f.Kind)}, true
}

// spelled returns the commands that the arguments spell in another way, as with quotes within a word.
func spelled(call *facts.Call, a *tools.Analysis) (lines []string) {
	for _, c := range a.Commands {
		line := strings.Join(append(c.Argv[:len(c.Argv):len(c.Argv)], c.Around...), " ")
		if !slices.ContainsFunc(call.Said(), func(t facts.Text) bool { return strings.Contains(t.Said, line) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// joined returns the words of the commands, or the short values of other arguments, as one text: something may have
// been divided among them.
func joined(call *facts.Call, a *tools.Analysis) []string {
	var all []string
	for _, c := range a.Commands {
		all = append(append(all, c.Argv...), c.Input)
	}
	for _, v := range call.Values() {
		if len(a.Commands) == 0 && isWord(v.Text) {
			all = append(all, v.Text)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return []string{unquoting.Replace(strings.Join(all, ""))}
}

// unquoting removes what a shell removes from a word, for words that come as they were written.
var unquoting = strings.NewReplacer(`"`, "", `'`, "", "\\\n", "", `\`, "")

// isWord reports whether a text is short and without blanks.
func isWord(text string) bool { return len(text) <= 64 && !strings.ContainsAny(text, " \n/") }

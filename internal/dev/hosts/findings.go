package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// answeredName is the host's answer when the server asks for a name.
const answeredName = "Ada"

// The two scripts. In the second, the host's own limit ends the first call, and the host is interrupted in the next.
var (
	features = []step{
		{tool: "echo", arguments: object{"text": "allowed"}},
		{tool: "echo", arguments: object{"text": "denied"}},
		{tool: "echo", arguments: object{"text": "asked"}},
		{tool: "ask_form", arguments: object{}},
		{tool: "ask_url", arguments: object{}},
		{tool: "change", arguments: object{}},
		{tool: "echo", arguments: object{"text": "meanwhile"}, pause: 2 * time.Second}, // time to list again
		{tool: "added", arguments: object{}, pause: time.Second},
	}
	cancels = []step{
		{tool: "wait", arguments: object{"key": "limited"}},
		{tool: "wait", arguments: object{"key": "interrupted"}},
	}
)

// Places in the script features.
const (
	stepAllowed = iota
	stepDenied
	stepAsked
	stepForm
	stepURL
	_
	_
	stepAdded
)

// callLimit is the limit of a call that the host is given in the second script.
const callLimit = 8 * time.Second

// row holds the findings about one host over one transport.
type row struct {
	host, version, transport, era string

	offered, allowed, denied, asked, form, url, relisted, limited, interrupted string
}

const ok = "ok"

// find returns the findings of both runs.
func find(first, second *evidence) row {
	return row{
		era: first.era(), offered: first.offered(), allowed: first.got(stepAllowed, "allowed"), denied: first.got(stepDenied, "callgate denied"),
		asked: first.asked(), form: first.elicited(stepForm), url: first.elicited(stepURL), relisted: first.relisted(),
		limited: second.gaveUp("limited"), interrupted: second.gaveUp("interrupted"),
	}
}

// envelope is the part of a message that the findings need.
type envelope struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion string
		RequestID       json.RawMessage
		Arguments       json.RawMessage
		Capabilities    capabilities
		Meta            struct {
			Version      string       `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities capabilities `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	Result struct{ ProtocolVersion string }
}

type capabilities struct {
	Elicitation *struct{ Form, URL *struct{} }
}

// read decodes the message. It returns an empty envelope for an end and for text that is not an object.
func (m message) read() (e envelope) {
	if json.Unmarshal(m.Text, &e) != nil {
		return envelope{}
	}
	return e
}

// era returns the revision in which the host called tools.
func (e *evidence) era() (version string) {
	for _, m := range e.host {
		switch said := m.read(); {
		case said.Method == "tools/call" && said.Params.Meta.Version != "":
			return said.Params.Meta.Version
		case m.Down && said.Result.ProtocolVersion != "":
			version = said.Result.ProtocolVersion
		}
	}
	return version
}

// offered returns how the model learned of the server's tools.
func (e *evidence) offered() string {
	named := func(o offer) bool { return strings.HasSuffix(o.Name, "echo") }
	switch {
	case slices.ContainsFunc(e.turns, func(t turn) bool { return slices.ContainsFunc(t.Offered, named) }):
		return ok
	case len(e.results()) > 0:
		return "by search"
	}
	return "**no**"
}

// results returns the results of the script's calls, in order, without those of pending approvals.
func (e *evidence) results() (all []string) {
	for _, t := range e.turns {
		done := slices.DeleteFunc(slices.Clone(t.Results), func(r string) bool { return strings.Contains(r, pending) })
		if len(done) > len(all) {
			all = done
		}
	}
	return all
}

// result returns what the model read after that step.
func (e *evidence) result(step int) string {
	if all := e.results(); step < len(all) {
		return all[step]
	}
	return ""
}

func (e *evidence) got(step int, want string) string {
	if strings.Contains(e.result(step), want) {
		return ok
	}
	return problem(e.result(step))
}

// problem shows what came instead of what was expected.
func problem(got string) string {
	if got == "" {
		return "**nothing**"
	}
	got = strings.Map(func(r rune) rune {
		if strings.ContainsRune("|`*<>\n", r) {
			return ' '
		}
		return r
	}, got)
	return "**" + got[:min(len(got), 80)] + "**"
}

// asked returns how the call that waited for a person ended.
func (e *evidence) asked() string {
	if len(e.approvals) != 1 || e.approvals[0].given.IsZero() || !strings.Contains(e.result(stepAsked), "asked") || strings.Contains(e.result(stepAsked), "denied") {
		return problem(fmt.Sprintf("%d questions, then %s", len(e.approvals), e.result(stepAsked)))
	}
	handed := 0
	if n := len(e.turns); n > 0 {
		for _, r := range e.turns[n-1].Results {
			if strings.Contains(r, pending) {
				handed++
			}
		}
	}
	if handed == 0 {
		return ok
	}
	return fmt.Sprintf("ok, handed over %s", times(handed))
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

var action = regexp.MustCompile(`action\W+(accept|decline|cancel)`)

// elicited returns the host's answer when the server asked in the middle of a call. callgate answers for a host that
// does not declare that it can be asked.
func (e *evidence) elicited(step int) string {
	found := action.FindStringSubmatch(e.result(step))
	switch {
	case !e.declares(step) && (found == nil || found[1] == "cancel"):
		return "not declared"
	case !e.declares(step) || found == nil:
		return problem(e.result(step))
	}
	return map[string]string{"accept": "accepted", "decline": "declined", "cancel": "cancelled"}[found[1]]
}

// declares reports whether the host declares that it can be asked that step's question. A host that declares
// elicitation without details can be asked by form.
func (e *evidence) declares(step int) bool {
	for _, m := range e.host {
		said := m.read()
		for _, c := range []capabilities{said.Params.Capabilities, said.Params.Meta.Capabilities} {
			if c.Elicitation != nil && (step == stepForm || c.Elicitation.URL != nil) {
				return true
			}
		}
	}
	return false
}

// relisted reports whether the model got a tool that was added in the middle of the run.
func (e *evidence) relisted() string {
	if strings.Contains(e.result(stepAdded), "added") {
		return ok
	}
	told, asked := false, false
	for _, m := range e.host {
		switch said := m.read(); {
		case m.Down && strings.HasSuffix(said.Method, "tools/list_changed"):
			told, asked = true, false
		case said.Method == "tools/list" && told:
			asked = true
		}
	}
	switch {
	case !told:
		return "**not told**"
	case asked:
		return "listed, not offered"
	}
	return "told, did not list"
}

// callOf finds the call of a tool by a string among its arguments. It returns the call's id and place; "" if there is
// none.
func callOf(all []message, argument string) (id string, at int) {
	for i, m := range all {
		if said := m.read(); said.Method == "tools/call" && strings.Contains(string(said.Params.Arguments), `"`+argument+`"`) {
			return string(said.ID), i
		}
	}
	return "", 0
}

// gaveUp returns how the server learned that the host no longer waited for the call.
func (e *evidence) gaveUp(argument string) string {
	id, at := callOf(e.server, argument)
	if id == "" {
		return "**not tried**"
	}
	began := e.server[at].At
	for _, m := range e.server[at+1:] {
		said := m.read()
		switch {
		case said.Method == "notifications/cancelled" && string(said.Params.RequestID) == id && m.At.Sub(began) < 2*callLimit:
			return ok
		case said.Method == "notifications/cancelled" && string(said.Params.RequestID) == id:
			return fmt.Sprintf("ok, after %d s", int(m.At.Sub(began).Seconds()))
		case !m.Down && m.Text == nil:
			return "server ended"
		case m.Down && said.Method == "" && string(said.ID) == id:
			return fmt.Sprintf("waited %d s", int(m.At.Sub(began).Seconds()))
		}
	}
	if !e.alive {
		return "server ended"
	}
	return "said nothing"
}

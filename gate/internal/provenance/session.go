// Package provenance asks about where the values of a call come from and where they would go. It never allows a denied
// call. Its flow marks ask nothing until the session has read untrusted text.
package provenance

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// Codes of the marks that flow sets.
const (
	markFlowSecret    = "flow-secret"    // a secret of a result leaves
	markFlowPrivate   = "flow-private"   // private text of a result leaves to a place that nobody named
	markFlowUntrusted = "flow-untrusted" // a destination, command, package, URL or amount is known only from untrusted text
	markFlowRuns      = "flow-runs"      // a file that was made of untrusted text is run
	markFlowUnnamed   = "flow-unnamed"   // private and untrusted data were read, and something leaves to a place that nobody named
)

// Tool names of flow grants in the rules file: for a destination that is fine, for a tool whose results are trusted,
// and for one call whose result is trusted.
const (
	GrantDestination = "flow:destination"
	GrantSource      = "flow:source"
	GrantResult      = "flow:result"
)

// Session is what flow remembers of a session.
type Session struct {
	Off    bool // nothing is remembered
	Memory flow.Memory

	mu      sync.Mutex
	Results map[string]origin      // what the results of running calls will be, by call id
	made    map[string]flow.Source // files and folders that the session made of untrusted text
	prompt  string                 // the beginning of what the user said last
}

// origin says what a result is: its label, or that it holds the user's own files or records.
type origin struct {
	label  flow.Label
	own    flow.Speaker
	fields map[string][]string // as in tools.Labels
	guess  bool                // nobody labelled the tool
}

// Before notes what a call is about to return, and the files that it makes.
func (p *Session) Before(id string, call *facts.Call, a *tools.Analysis) {
	o := OriginOf(call, a)
	p.mu.Lock()
	for _, path := range a.Paths {
		if from, ok := p.madeOf(path); ok {
			o.label |= from.Label
			o.own, o.fields = 0, nil
		}
	}
	if p.Results == nil || len(p.Results) >= 4096 { // calls whose end nobody reported
		p.Results = map[string]origin{}
	}
	p.Results[id] = o
	p.mu.Unlock()
	p.makes(id, call, a, o)
}

// makes notes the files that a call makes of untrusted text: of what it fetches, or of a result.
func (p *Session) makes(id string, call *facts.Call, a *tools.Analysis, o origin) {
	if len(a.Writes) == 0 {
		return
	}
	from, made := flow.Source{}, false
	if _, armed := p.Memory.Seen(flow.Untrusted, nil); armed {
		for _, v := range call.Values() {
			if c, ok := p.Memory.Match(v.Text, flow.Untrusted); ok && (len(c.Text) >= 24 || 2*len(c.Text) >= len(v.Text)) {
				from, made = c.From, true
				break
			}
		}
	}
	if !made && len(a.Commands) > 0 && o.label&flow.Untrusted != 0 {
		from, made = flow.Source{Call: id, Tool: call.Tool.Qualified, Server: call.Tool.Server, At: time.Now(), Label: flow.Untrusted}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range a.Writes {
		if !made {
			continue
		}
		if p.made == nil {
			p.made = map[string]flow.Source{}
		}
		path := filepath.Clean(w.Path)
		if len(p.made) >= maxMade { // any file may be one of them from now on
			path = filepath.VolumeName(path) + string(filepath.Separator)
		}
		p.made[path] = from
	}
}

// maxMade bounds how many files and folders a session remembers one by one.
const maxMade = 4096

// madeOf returns what a file, or a folder above it, was made of; the caller holds mu.
func (p *Session) madeOf(path string) (flow.Source, bool) {
	if len(p.made) == 0 {
		return flow.Source{}, false
	}
	for path = filepath.Clean(path); ; {
		if from, ok := p.made[path]; ok {
			return from, true
		}
		up := filepath.Dir(path)
		if up == path {
			return flow.Source{}, false
		}
		path = up
	}
}

// runsMade returns a file that the call runs and that the session made of untrusted text. trusted reports whether a
// person trusts a tool's results.
func (p *Session) runsMade(a *tools.Analysis, trusted func(string) bool) (string, flow.Source, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var files []string
	for i := range a.Subjects {
		files = append(files, a.Subjects[i].Runs...)
	}
	for _, c := range a.Commands {
		if c.Risk == permissions.Unknown {
			files = append(files, c.Reads...)
		}
	}
	if a.Builds && a.Dir != "" {
		files = append(files, a.Dir)
	}
	for _, f := range files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(a.Dir, f)
		}
		if from, ok := p.madeOf(f); ok && !trusted(from.Tool) {
			return f, from, true
		}
	}
	return "", flow.Source{}, false
}

// Prompted remembers what the user said to the model.
func (p *Session) Prompted(text string) {
	if p.Off {
		return
	}
	p.Memory.Said(flow.Prompt, text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if runes := []rune(text[:min(len(text), 4*maxPrompt)]); len(runes) > maxPrompt {
		text = string(runes[:maxPrompt]) + "…"
	}
	p.prompt = text
}

// maxPrompt is how many characters of a prompt people see beside a question.
const maxPrompt = 500

// LastPrompt returns the beginning of what the user said last.
func (p *Session) LastPrompt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.prompt
}

// Taken returns what the result of a call is, and forgets it.
func (p *Session) Taken(id string) origin {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.Results[id]
	delete(p.Results, id)
	return o
}

// Saw learns from a result. o is what Taken returned.
func (p *Session) Saw(id string, call *facts.Call, o origin, result []byte) {
	if hints := tools.HintsOf(result); len(hints) > 0 {
		h := origin{}
		h.ofLabels(hints)
		o.label |= h.label
		o.fields, o.guess = nil, false
		if h.label != flow.Private {
			o.own = 0
		}
	}
	switch {
	case o.label != 0:
		if o.label&flow.Untrusted != 0 && orders(result) {
			o.label |= flow.Orders
			o.fields = nil // whoever gives orders may have written any field
		}
		s := flow.Source{Call: id, Tool: call.Tool.Qualified, Server: call.Tool.Server, At: time.Now(), Label: o.label, Guess: o.guess}
		if len(o.fields) == 0 {
			p.Memory.Saw(s, jsonx.SharedStrings(result))
			break
		}
		parts, documents := split(result, o)
		for label, texts := range parts {
			s.Label = label
			p.Memory.Saw(s, slices.Values(texts))
		}
		if o.label&flow.Private != 0 {
			for _, d := range documents {
				p.Memory.Relate(d, o.label&flow.Untrusted != 0)
			}
		}
	case o.own == 0:
		return
	}
	if o.own != 0 {
		p.Memory.Said(o.own, slices.Collect(jsonx.Strings(result))...)
	}
}

// Approved remembers the destinations and packages of a call that a person approved.
func (p *Session) Approved(call *facts.Call, a *tools.Analysis) {
	out := outgoingOf(call, a)
	p.Memory.Said(flow.Answer, slices.Concat(out.To, out.packages)...)
}

package gate

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// Flow adds questions about where the values of a call come from and where they would go. It never allows anything, and a
// session that read nothing untrusted is never asked by it.

// Codes of the marks that flow sets.
const (
	markFlowSecret    = "flow-secret"    // a secret of a result leaves
	markFlowPrivate   = "flow-private"   // private text of a result leaves to a place that nobody named
	markFlowUntrusted = "flow-untrusted" // a destination, command, package, URL or amount is known only from untrusted text
	markFlowRuns      = "flow-runs"      // a file that was made of untrusted text is run
	markFlowUnnamed   = "flow-unnamed"   // private and untrusted data were read, and something leaves to a place that nobody named
)

// What grants of flow are called in the rules file: a destination that is fine, a tool whose results are trusted.
const (
	grantDestination = "flow:destination"
	grantSource      = "flow:source"
)

// provenance is what flow keeps of a session.
type provenance struct {
	off    bool // nothing is remembered
	memory flow.Memory

	mu      sync.Mutex
	results map[string]origin      // by call id: what the result of a call that runs will be
	made    map[string]flow.Source // files and folders that the session made of untrusted text
	prompt  string                 // the beginning of what the user said last
}

// origin is what a result is: its label, or that it holds the user's own files or records.
type origin struct {
	label flow.Label
	own   flow.Speaker
}

// will notes what an allowed call is about to give, and what it makes.
func (s *Session) will(call Call, v *Verdict) {
	if s.flow.off || v.Analysis == nil {
		return
	}
	s.flow.before(call, v.Analysis)
	if v.Decision == DecidedApproved {
		out := outgoingOf(call, v.Analysis)
		s.flow.memory.Said(flow.Answer, slices.Concat(out.to, out.packages)...)
	}
}

// before notes what a call is about to give, and what it makes.
func (p *provenance) before(call Call, a *tools.Analysis) {
	o := originOf(call, a)
	p.mu.Lock()
	for _, path := range a.Paths {
		if from, ok := p.madeOf(path); ok {
			o.label |= from.Label
			o.own = 0
		}
	}
	if p.results == nil || len(p.results) >= 4096 { // calls whose end nobody told
		p.results = map[string]origin{}
	}
	p.results[call.ID] = o
	p.mu.Unlock()
	p.makes(call, a, o)
}

// makes notes the files that a call makes of untrusted text: what it fetches, and what it writes of a result.
func (p *provenance) makes(call Call, a *tools.Analysis, o origin) {
	if len(a.Writes) == 0 {
		return
	}
	from, made := flow.Source{}, false
	if _, armed := p.memory.Seen(flow.Untrusted, nil); armed {
		for _, v := range call.values() {
			if c, ok := p.memory.Carry(v.text, flow.Untrusted); ok && (len(c.Text) >= 24 || 2*len(c.Text) >= len(v.text)) {
				from, made = c.From, true
				break
			}
		}
	}
	if !made && len(a.Commands) > 0 && o.label&flow.Untrusted != 0 {
		from, made = flow.Source{Call: call.ID, Tool: call.Tool.Qualified, Server: call.Tool.Server, At: time.Now(), Label: flow.Untrusted}, true
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
		if len(p.made) < 4096 {
			p.made[filepath.Clean(w.Path)] = from
		}
	}
}

// madeOf returns what a file, or a folder above it, was made of; the caller holds mu.
func (p *provenance) madeOf(path string) (flow.Source, bool) {
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

// runsMade returns a file that the call runs and that the session made of untrusted text.
func (p *provenance) runsMade(a *tools.Analysis, trusted func(string) bool) (string, flow.Source, bool) {
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

// Heard takes what the user said to the host of a session. It holds for all sessions that were begun in the same
// folder: a host has one for its own tools and one for those of MCP.
func (g *Gate) Heard(s *Session, text string) {
	s.Prompt(text)
	folder := s.Origin().Folder
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, other := range g.sessions {
		if other != s && folder != "" && other.Origin().Folder == folder {
			other.Prompt(text)
		}
	}
}

// Prompt is Session.Prompt for the session with that id.
func (g *Gate) Prompt(sessionID, text string) error {
	s, err := g.session(sessionID)
	if err == nil {
		s.Prompt(text)
	}
	return err
}

// Prompt tells the session what its user said to the model: what the user names may be written to and sent to.
func (s *Session) Prompt(text string) { s.flow.prompted(text) }

func (p *provenance) prompted(text string) {
	if p.off {
		return
	}
	p.memory.Said(flow.Prompt, text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if runes := []rune(text[:min(len(text), 4*maxPrompt)]); len(runes) > maxPrompt {
		text = string(runes[:maxPrompt]) + "…"
	}
	p.prompt = text
}

// maxPrompt is how many characters of a prompt people see beside a question.
const maxPrompt = 500

// lastPrompt returns the beginning of what the user said last.
func (p *provenance) lastPrompt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.prompt
}

// taken returns what the result of a call is, and forgets it.
func (p *provenance) taken(call Call) origin {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.results[call.ID]
	delete(p.results, call.ID)
	return o
}

// saw takes over a result.
func (p *provenance) saw(call Call, o origin, result []byte) {
	if hints := tools.HintsOf(result); len(hints) > 0 {
		h := origin{}
		h.ofLabels(hints)
		o.label |= h.label
		if h.label != flow.Private {
			o.own = 0
		}
	}
	switch {
	case o.label != 0:
		if o.label&flow.Untrusted != 0 && orders(result) {
			o.label |= flow.Orders
		}
		p.memory.Saw(flow.Source{Call: call.ID, Tool: call.Tool.Qualified, Server: call.Tool.Server, At: time.Now(), Label: o.label}, jsonx.Strings(result))
	case o.own == 0:
		return
	}
	if o.own != 0 {
		p.memory.Said(o.own, slices.Collect(jsonx.Strings(result))...)
	}
}

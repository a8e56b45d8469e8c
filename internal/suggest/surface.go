package suggest

import (
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rulebook"
	"callgate/permissions"
	"callgate/permissions/store"
)

// Surface counts what a grant newly allows besides the approved calls.
type Surface struct {
	Everyday int      `json:"everyday"` // common commands
	Examples []string `json:"examples,omitempty"`
	Operands int      `json:"operands"` // kinds of unapproved operands
	Hosts    int      `json:"hosts"`    // unapproved hosts
}

func (s *Surface) total() int { return s.Everyday + s.Operands + s.Hosts }

// bypassText has commands that get around rules, one JSON string per line. They come from shellparse/testdata.
//
//go:embed bypasses.jsonl
var bypassText string

// outsideText has commands that reach a place that nobody named, one per line.
//
//go:embed outside.txt
var outsideText string

// Samples of operands and hosts that nobody approved.
var (
	unseenOperands = []string{"unseen", "-x", "--unseen=1", "../unseen/file", "/srv/unseen", "./unseen/...", "unseen@1.2.3", "'*'"}
	unseenHosts    = []string{"https://unseen.example/x", "unseen.example", "git@unseen.example:x/y"}
)

// corpus has the commands that grants are tested against.
type corpus struct {
	ch       *rulebook.Checker
	policy   *permissions.Policy
	bypasses []*bypass // those that ask
	everyday []permissions.Subject
}

type bypass struct {
	question
	text string
}

// newCorpus judges the commands by today's rules, in a folder that does not exist.
func newCorpus(ch *rulebook.Checker, policy *permissions.Policy) (*corpus, error) {
	c := &corpus{ch: ch, policy: policy, everyday: tools.CommonCommands()}
	for text := range bypassTexts() {
		b := &bypass{text: text}
		var err error
		b.call, b.verdict, err = ch.Judged(b.request(), policy)
		if err != nil {
			return nil, fmt.Errorf("bypass %s: %w", b.text, err)
		}
		if b.verdict.Action != permissions.Ask || len(b.verdict.Marks) > 0 {
			continue // no grant can release it
		}
		b.needs = needsOf(b.call, &b.verdict, ch.Judge.Autonomy != gate.AutonomyNone)
		for i := range b.needs {
			b.needs[i].anywhere = true
		}
		c.bypasses = append(c.bypasses, b)
	}
	return c, nil
}

// bypassTexts yields the commands that no proposal may allow, as JSON strings.
func bypassTexts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(bypassText) {
			if !yield(strings.TrimSpace(line)) {
				return
			}
		}
		for line := range strings.Lines(outsideText) {
			if !yield(string(jsonx.Quote(strings.TrimSpace(line)))) {
				return
			}
		}
	}
}

var nowhere = filepath.FromSlash("/nonexistent/workspace")

func (b *bypass) request() rulebook.Request {
	return rulebook.Request{Tool: tools.KindShell, Arguments: jsontext.Value(`{"command":` + b.text + `}`), Cwd: nowhere}
}

// opened reports whether the grant alone releases some bypass.
func (c *corpus) opened(by *candidate) bool {
	return slices.ContainsFunc(c.bypasses, func(b *bypass) bool { return b.released(by) })
}

// together blames the candidates that release a bypass only together.
func (c *corpus) together(chosen []*candidate, blame func([]need)) error {
	grants := make([]permissions.Grant, len(chosen))
	for i := range chosen {
		grants[i] = chosen[i].anywhere()
	}
	with, err := c.policy.With(nil, grants)
	if err != nil {
		return err
	}
	for _, b := range c.bypasses {
		if !slices.ContainsFunc(b.needs, func(n need) bool {
			return slices.ContainsFunc(chosen, func(by *candidate) bool { return by.releases(n) })
		}) {
			continue
		}
		_, v, err := c.ch.Judged(b.request(), with)
		if err != nil {
			return err
		}
		if v.Action == permissions.Allow {
			blame(b.needs)
		}
	}
	return nil
}

// surface counts what the grant newly allows.
func (c *corpus) surface(by *candidate, p *project) Surface {
	var s Surface
	if by.kind != tools.KindShell {
		if strings.HasSuffix(by.grant.Pattern, "*") {
			s.Operands = len(unseenOperands) // of all kinds
		}
		if by.grant.Pattern == "*" && !permissions.Network.Exceeds(by.grant.Risk) {
			s.Hosts = len(unseenHosts)
		}
		return s
	}
	seen := map[string]bool{}
	for _, q := range p.examined {
		for _, n := range q.needs {
			seen[n.subject.Value] = true
		}
	}
	for i := range c.everyday {
		if e := &c.everyday[i]; !seen[e.Value] && c.newly(by, e) {
			if s.Everyday++; len(s.Examples) < maxExamples {
				s.Examples = append(s.Examples, e.Value)
			}
		}
	}
	s.Operands, s.Hosts = c.unseen(by, unseenOperands), c.unseen(by, unseenHosts)
	return s
}

// unseen counts the operands that may follow the pattern's words.
func (c *corpus) unseen(by *candidate, operands []string) (n int) {
	words, open := strings.CutSuffix(by.grant.Pattern, "*")
	if !open || strings.ContainsAny(words, "\\*?[{(") {
		return 0
	}
	texts := make([]string, len(operands))
	for i, operand := range operands {
		texts[i] = words + operand
	}
	subjects := tools.CommandSubjects(texts)
	for i := range subjects {
		if c.newly(by, &subjects[i]) {
			n++
		}
	}
	return n
}

// newly reports whether the grant releases a command about which the current rules ask.
func (c *corpus) newly(by *candidate, s *permissions.Subject) bool {
	from := permissions.Context{Workspace: nowhere, Now: time.Now()}
	if !by.releases(need{subject: s, from: from, anywhere: true}) {
		return false
	}
	f := permissions.Evaluate(c.policy, from, s)
	return f.Action == permissions.Ask && f.Grant == nil
}

// shippedPolicy returns the policy of the unchanged shipped rules.
func shippedPolicy(home string) (policy *permissions.Policy, err error) {
	dir, err := os.MkdirTemp("", "callgate-rules-")
	if err != nil {
		return nil, err
	}
	policy, err = store.Open(filepath.Join(dir, "permissions.jsonc"), store.Options{Home: home}).Policy()
	return policy, errors.Join(err, os.RemoveAll(dir))
}

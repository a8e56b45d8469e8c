package suggest_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rulebook"
	"callgate/internal/suggest"
	"callgate/permissions"
	"callgate/permissions/store"
)

// traces is testdata/traces.json: the calls of a day in six kinds of projects, with weights and a person's answers.
type traces struct {
	Operands map[string][]string `json:"operands"`
	Projects map[string][]*habit `json:"projects"`
}

type habit struct {
	weight  int
	command string
	answer  string
}

func (h *habit) UnmarshalJSON(text []byte) error {
	var parts [3]jsontext.Value
	return errors.Join(json.Unmarshal(text, &parts), json.Unmarshal(parts[0], &h.weight), json.Unmarshal(parts[1], &h.command), json.Unmarshal(parts[2], &h.answer))
}

func readTraces(t *testing.T) traces {
	t.Helper()
	text, err := os.ReadFile("testdata/traces.json")
	if err != nil {
		t.Fatal(err)
	}
	var all traces
	if err := json.Unmarshal(text, &all, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return all
}

// made is one generated call.
type made struct{ command, answer string }

var operand = regexp.MustCompile(`\{(\w+)\}`)

// generate returns n calls of a project, the same each time.
func (all *traces) generate(t *testing.T, project string, n int) []made {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(len(project))+uint64(project[0])))
	habits, total := all.Projects[project], 0
	for _, h := range habits {
		total += h.weight
	}
	calls := make([]made, n)
	for i := range calls {
		at := random.IntN(total)
		k := slices.IndexFunc(habits, func(h *habit) bool { at -= h.weight; return at < 0 })
		calls[i] = made{operand.ReplaceAllStringFunc(habits[k].command, func(name string) string {
			pool := all.Operands[name[1:len(name)-1]]
			if len(pool) == 0 {
				t.Fatalf("%s: no operands %s", habits[k].command, name)
			}
			return pool[random.IntN(len(pool))]
		}), habits[k].answer}
	}
	return calls
}

// workplace is a checker in a fresh home, with an audit trail.
type workplace struct {
	*rulebook.Checker
	t   *testing.T
	log *audit.Log
}

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // a call that reaches something through a link counts for no proposal
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(audit.Dir(data), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return &workplace{t: t, log: log, Checker: &rulebook.Checker{
		Store: store.Open(filepath.Join(data, "permissions.jsonc"), store.Options{Home: home}),
		Home:  home, Cwd: home, Worker: "default", DataDir: data,
	}}
}

func (w *workplace) project(name string) string {
	w.t.Helper()
	dir := filepath.Join(w.Home, "src", name)
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

func request(dir, command string) rulebook.Request {
	return rulebook.Request{Tool: tools.KindShell, Arguments: slices.Concat([]byte(`{"command":`), jsonx.Quote(command), []byte("}")), Cwd: dir}
}

func (w *workplace) judged(dir, command string, policy *permissions.Policy) gate.Verdict {
	w.t.Helper()
	_, v, err := w.Judged(request(dir, command), policy)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// answered records the call and its answer as the gate does, if the call asks. It reports whether it asks.
func (w *workplace) answered(dir string, m made, change func(*audit.Record)) bool {
	w.t.Helper()
	return w.recorded(request(dir, m.command), m.answer, change)
}

func (w *workplace) recorded(r rulebook.Request, answer string, change func(*audit.Record)) bool {
	w.t.Helper()
	call, v, err := w.Judged(r, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	digest, err := jsonx.Digest(r.Arguments, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if v.Action != permissions.Ask {
		return false
	}
	record := audit.Record{
		Event: audit.Decision, Decision: map[string]string{"yes": gate.DecidedApproved, "no": gate.DecidedRejected}[answer], By: "web:alice", Worker: "default",
		Tool: call.Tool.Qualified, Kind: call.Tool.Kind, Server: call.Tool.Server, Project: r.Cwd, Host: "a-host",
		Digest: digest, Arguments: r.Arguments, Risk: v.Risk().String(), Summary: v.Analysis.Summary,
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		record.Subjects = append(record.Subjects, audit.Subject{Tool: f.Subject.Tool, Kind: f.Subject.Kind, Value: f.Subject.Value, Action: f.Action.String(), Risk: f.Subject.Risk.String()})
	}
	if change != nil {
		change(&record)
	}
	if _, err := w.log.Append(record); err != nil {
		w.t.Fatal(err)
	}
	return true
}

// TestProposalsFromTheFirstHalfAnswerTheSecond tests proposals from the first half of a thousand calls, in each of six
// kinds of projects, on the second half.
func TestProposalsFromTheFirstHalfAnswerTheSecond(t *testing.T) {
	all := readTraces(t)
	for _, name := range slices.Sorted(maps.Keys(all.Projects)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t)
			dir := w.project(name)
			calls := all.generate(t, name, 1000)
			for _, m := range calls[:500] {
				w.answered(dir, m, nil)
			}
			report, err := suggest.Suggest(w.Checker, suggest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			before, err := w.Policy()
			if err != nil {
				t.Fatal(err)
			}
			after, err := before.With(nil, report.Grants("test", time.Now()))
			if err != nil {
				t.Fatal(err)
			}
			asked, still := 0, 0
			for _, m := range calls[500:] {
				if w.judged(dir, m.command, before).Action != permissions.Ask {
					continue
				}
				asked++
				v := w.judged(dir, m.command, after)
				if v.Action == permissions.Ask {
					still++
				} else if m.answer == "no" {
					t.Errorf("%q was rejected and would run: %s", m.command, v.Rule)
				}
			}
			t.Logf("%d questions in the first half, %d saved, gap %.2f; %d of %d in the second half still ask: %.0f%% fewer", report.Questions, report.Saved, report.Gap, still, asked, 100*(1-float64(still)/float64(asked)))
			for _, p := range report.Proposals {
				t.Logf("%3d %-40q up to %-10s %d calls, opens %+v", p.Saves, p.Pattern, p.Ceiling, p.Calls, p.Opens)
			}
			t.Log(report.Left)
			if asked < 100 || 100*(asked-still) < 45*asked {
				t.Errorf("%d of %d questions are left", still, asked)
			}
			if n := len(report.Proposals); n == 0 || n > suggest.MaxPatterns {
				t.Errorf("%d patterns", n)
			}
			w.noBypass(before, after, dir)
			w.noIncident(before, after, dir)
		})
	}
}

// noBypass checks that no bypass case of shellparse's tests newly runs in the project.
func (w *workplace) noBypass(before, after *permissions.Policy, dir string) {
	w.t.Helper()
	for _, command := range bypassCommands(w.t) {
		if w.judged(dir, command, before).Action == permissions.Allow {
			continue
		}
		if v := w.judged(dir, command, after); v.Action == permissions.Allow {
			w.t.Errorf("%s would run: %s", fmt.Sprintf("%.80q", command), v.Rule)
		}
	}
}

// noIncident checks that no command like those that did harm in people's projects newly runs.
func (w *workplace) noIncident(before, after *permissions.Policy, dir string) {
	w.t.Helper()
	text, err := os.ReadFile("testdata/incidents.txt")
	if err != nil {
		w.t.Fatal(err)
	}
	for command := range strings.Lines(string(text)) {
		command = strings.TrimSpace(command)
		if v := w.judged(dir, command, before); v.Action == permissions.Allow {
			w.t.Errorf("%s runs without any proposal: %s", command, v.Rule)
		}
		if v := w.judged(dir, command, after); v.Action == permissions.Allow {
			w.t.Errorf("%s would run: %s", command, v.Rule)
		}
	}
}

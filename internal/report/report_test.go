package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"callgate/audit"
	"callgate/docs"
	"callgate/internal/checkpoint"
)

const hostile = `"'><img src=x onerror=alert(1)><script>alert(1)</script>`

// week returns three days of records.
func week() []audit.Record {
	start := time.Date(2026, 11, 18, 9, 0, 0, 0, time.Local)
	var list []audit.Record
	add := func(day int, seconds int, r audit.Record) {
		r.Time = start.AddDate(0, 0, day).Add(time.Duration(seconds) * time.Second)
		list = append(list, r)
	}
	ask := func(day, seconds, wait int, id, command, decision string) {
		subjects := []audit.Subject{{Tool: "sh_run", Kind: "shell_exec", Value: command, Action: "ask", Risk: "NETWORK"}}
		add(day, seconds, audit.Record{Event: audit.Asked, CallID: id, SessionID: "s1", Tool: "sh_run", Kind: "shell_exec", Host: "host", Project: "/src/app", By: "rule", Rule: `shell_exec "*" ask`, Subjects: subjects})
		add(day, seconds+wait, audit.Record{Event: audit.Decision, CallID: id, SessionID: "s1", Tool: "sh_run", Host: "host", Project: "/src/app", Decision: decision, By: "web:alice", Subjects: subjects, Arguments: []byte(`{"command":"x"}`), Summary: hostile, Risk: "NETWORK"})
	}
	ask(0, 0, 4, "a", "git push origin main", "approved")
	ask(0, 100, 6, "b", "git push origin dev", "approved")
	ask(0, 200, 8, "c", "git push", "approved")
	ask(2, 0, 20, "d", "npm publish", "rejected")
	ask(2, 100, 120, "e", "npm publish", "timeout")
	add(0, 300, audit.Record{Event: audit.Decision, CallID: "f", SessionID: "s1", Tool: "fs_read", Host: "host", Project: "/src/app", Decision: "auto_approved", By: "rule"})
	add(0, 301, audit.Record{Event: audit.Outcome, CallID: "f", SessionID: "s1", Tool: "fs_read", Result: 7, Duration: 12})
	add(2, 300, audit.Record{Event: audit.Decision, CallID: "g", SessionID: "s2", Tool: "fs_read", Host: "other", Project: "/src/other", Decision: "denied", By: "rule", Rule: `read_file "*.env" deny`})
	add(2, 301, audit.Record{Event: audit.Decision, CallID: "h", SessionID: "s2", Tool: "x", Host: "other", Project: "/src/other", Decision: "pending"})
	return list
}

// Every question has an end, and failures are counted with their calls.
func TestReportCountsWhatEndedBadly(t *testing.T) {
	records := week()
	now := records[len(records)-1].Time
	records = append(records,
		audit.Record{Event: audit.Asked, Time: now, CallID: "i", SessionID: "s2", Tool: "x", Host: "host"},
		audit.Record{Event: audit.Decision, Time: now, CallID: "i", SessionID: "s2", Tool: "x", Host: "host", Decision: "cancelled"},
		audit.Record{Event: audit.Outcome, Time: now, CallID: "a", SessionID: "s1", Tool: "sh_run", IsError: true},
		audit.Record{Event: audit.Outcome, Time: now, CallID: "b", SessionID: "s1", Tool: "sh_run", Error: "callgate was stopped"},
		audit.Record{Event: audit.Outcome, Time: now, CallID: "of another host", Tool: "sh_run", IsError: true})
	r := summed(records, Options{Host: "host"})
	if ended := r.Approved + r.Rejected + r.Missed + r.Withdrawn; r.Withdrawn != 1 || r.Questions != ended || r.Failed != 2 {
		t.Errorf("%+v", r)
	}
}

func TestReportCounts(t *testing.T) {
	r := summed(week(), Options{})
	if r.Calls != 7 || r.Sessions != 2 || r.Unasked != 1 || r.Denied != 1 || r.Questions != 5 || r.Approved != 3 || r.Rejected != 1 || r.Missed != 1 || r.Withdrawn != 0 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	if r.Answer != 6 || r.Slowest != 20 {
		t.Errorf("answers took %v and %v", r.Answer, r.Slowest)
	}
	if len(r.Days) != 3 || r.Days[0].Questions != 3 || r.Days[1].Calls != 0 || r.Days[2].Denied != 1 {
		t.Errorf("days are %+v", r.Days)
	}
	if r.ByFamily[0].Name != "git push" || r.ByFamily[0].Asked != 3 || r.ByFamily[1].Name != "npm" || r.ByFamily[1].Rejected != 1 {
		t.Errorf("families are %+v", r.ByFamily)
	}
	if len(r.Constant) != 1 || r.Constant[0].Name != "git push" || r.ByProject[0].Name != "/src/app" || r.Denials[0].Name != `read_file "*.env" deny` {
		t.Errorf("%+v %+v %+v", r.Constant, r.ByProject, r.Denials)
	}
	if only := summed(week(), Options{Host: "other"}); only.Calls != 1 || only.Questions != 0 {
		t.Errorf("of one host: %+v", only)
	}
	if only := summed(week(), Options{Project: "/src/app"}); only.Calls != 6 || only.Denied != 0 {
		t.Errorf("of one project: %+v", only)
	}
	if none := summed(nil, Options{}); none.Calls != 0 || len(none.Days) != 0 || len(none.Chart) != 0 {
		t.Errorf("of nothing: %+v", none)
	}
	long := week()
	long[0].Time = long[0].Time.AddDate(-2, 0, 0)
	if r := summed(long, Options{}); len(r.Days) != maxDays || r.Days[maxDays-1].Day != "2026-11-20" {
		t.Errorf("of two years: %d days to %s", len(r.Days), r.Days[len(r.Days)-1].Day)
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "3 approved (60%), 1 rejected") {
		t.Errorf("%v\n%s", err, &b)
	}
}

func TestPercentile(t *testing.T) {
	var ten []float64
	for n := range 10 {
		ten = append(ten, float64(10-n))
	}
	for _, c := range []struct {
		values  []float64
		percent int
		want    float64
	}{{nil, 50, 0}, {ten[:1], 90, 10}, {ten[:2], 50, 9}, {ten, 50, 5}, {ten, 90, 9}, {ten[1:], 50, 5}} {
		if got := percentile(c.values, c.percent); got != c.want {
			t.Errorf("%d%% of %v: %v, want %v", c.percent, c.values, got, c.want)
		}
	}
}

// load matches what would make a page load something or run a foreign script.
var load = regexp.MustCompile(`(?i)<script>alert|<img|<link|<[a-z]+[^>]*\ssrc=|@import|url\(|https?://`)

func TestPagesLoadNothing(t *testing.T) {
	r := summed(week(), Options{})
	r.ByRule[0].Name = hostile
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	if found := load.FindString(b.String()); found != "" || !strings.Contains(b.String(), "git push") || strings.Count(b.String(), "<rect") != 4 {
		t.Errorf("%q, %d bars\n%s", found, strings.Count(b.String(), "<rect"), &b)
	}
}

// The page gets what the protocol specifies.
func TestReportIsAsTheProtocolSays(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(docs.ProtocolSchema, &schema); err != nil {
		t.Fatal(err)
	}
	report, err := (&jsonschema.Schema{Ref: "#/$defs/report", Defs: schema.Defs}).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, records := range [][]audit.Record{week(), nil} {
		text, err := json.Marshal(summed(records, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if err := report.Validate(v); err != nil {
			t.Errorf("%v in %s", err, text)
		}
	}
}

func TestReplay(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := audit.Record{Event: audit.Control, SessionID: "s1", Kind: "sampling", By: "web:alice", Summary: "Ask the host's model, in 9 bytes.", Arguments: []byte(`{"text":"why? password=hunter2hunter2"}`)}
	for _, record := range append(week(), said) {
		if _, err := log.Append(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	workspace := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(workspace, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(dir, "checkpoints")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	paths := []checkpoint.Path{{Path: file("a.go", "old\n")}, {Path: file(".env", "A=1\n")}}
	taken, err := store.Take(t.Context(), checkpoint.Request{CallID: "f", SessionID: "s1", Workspace: workspace, Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	file("a.go", "token = ghp_abcdefghijklmnopqrstuvwxyz0123456789\n<img src=x>\n")
	file(".env", "A=2\n")
	if _, err := taken.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	hidden := func(*checkpoint.Checkpoint) func(string) bool {
		return func(path string) bool { return filepath.Base(path) == ".env" }
	}
	s, err := Replay(dir, "s1", &Files{Store: store, Hidden: hidden})
	if err != nil {
		t.Fatal(err)
	}
	if chat := s.Events[len(s.Events)-1]; !strings.HasPrefix(chat.Chat, "why?") || strings.Contains(chat.Chat, "hunter2") {
		t.Errorf("the chat is %+v", chat)
	}
	if len(s.Events) != 7 || s.Project != "/src/app" || s.Host != "host" {
		t.Fatalf("%+v", s)
	}
	read := s.Events[5]
	if read.Tool != "fs_read" || read.Bytes != 7 || !read.Ended || len(read.Files) != 2 || read.Class() != "allow" {
		t.Errorf("%+v", read)
	}
	for _, f := range read.Files {
		switch shown := filepath.Base(f.Path) + " " + f.What + " " + f.Why + f.Diff; filepath.Base(f.Path) {
		case "a.go":
			if !strings.Contains(shown, "-old\n+token = ") || strings.Contains(shown, "ghp_") {
				t.Error(shown)
			}
		case ".env":
			if shown != ".env changed the rules deny reading it" {
				t.Error(shown)
			}
		}
	}
	push := s.Events[0]
	if !push.Asked || push.Decision != "approved" || !strings.Contains(push.Test, `"want":"ask"`) || !strings.Contains(push.Test, `"cwd":"/src/app"`) {
		t.Errorf("%+v", push)
	}
	var b bytes.Buffer
	if err := s.HTML(&b); err != nil {
		t.Fatal(err)
	}
	if found := load.FindString(b.String()); found != "" || strings.Count(b.String(), `<li id="e`) != 7 || !strings.Contains(b.String(), "As a rule test") {
		t.Errorf("%q\n%s", found, &b)
	}
	if _, err := Replay(dir, "s9", nil); err == nil {
		t.Error("a session that never was")
	}
	made, err := Make(dir, Options{})
	if err != nil || made.Questions != 5 {
		t.Errorf("%+v %v", made, err)
	}
}

// Without answers, the text says nothing about the time to answer.
func TestPrintWithoutAnswers(t *testing.T) {
	for answer, want := range map[float64]string{0: ", 1 withdrawn\n", 3: ", 1 withdrawn; half of the answers took less than 3.0 s\n"} {
		var b strings.Builder
		if err := (&Report{Questions: 1, Withdrawn: 1, Answer: answer}).Print(&b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v: %s", err, b.String())
		}
	}
}

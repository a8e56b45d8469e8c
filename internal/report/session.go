package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/visible"
	"callgate/permissions"
)

// Session is one session as a timeline.
type Session struct {
	ID      string    `json:"id"`
	Host    string    `json:"host,omitzero"`
	Project string    `json:"project,omitzero"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Events  []Event   `json:"events"`
}

// Event is one call or another event.
type Event struct {
	ID        string        `json:"id"` // the anchor in the page
	Time      time.Time     `json:"time"`
	Tool      string        `json:"tool,omitzero"`
	Risk      string        `json:"risk,omitzero"`
	Summary   string        `json:"summary,omitzero"`
	Decision  string        `json:"decision,omitzero"`
	By        string        `json:"by,omitzero"`
	Reason    string        `json:"reason,omitzero"`
	Rule      string        `json:"rule,omitzero"`
	Arguments string        `json:"arguments,omitzero"`
	Asked     bool          `json:"asked,omitzero"`
	Waited    float64       `json:"waited,omitzero"` // seconds for a person
	Ended     bool          `json:"ended,omitzero"`
	Failed    string        `json:"failed,omitzero"`
	Took      time.Duration `json:"-"`
	Bytes     int           `json:"bytes,omitzero"` // of the result
	Files     []File        `json:"files,omitzero"`
	Chat      string        `json:"chat,omitzero"` // a message to the host's model, or from it
	Test      string        `json:"test,omitzero"` // a case of permissions.test.jsonc
}

// File is a file that a call changed.
type File struct {
	Path string `json:"path"`
	What string `json:"what"`
	Diff string `json:"diff,omitzero"` // unified, without secrets
	Why  string `json:"why,omitzero"`  // why there is no diff
}

// Files gives access to a session's checkpoints.
type Files struct {
	Store *checkpoint.Store
	// Hidden returns which files the rules deny reading, for the checkpoint's worker.
	Hidden func(*checkpoint.Checkpoint) func(path string) bool
}

// maxDiff limits the diff of a file, in bytes.
const maxDiff = 32 << 10

// changed lists what the call of a checkpoint changed.
func (f *Files) changed(c *checkpoint.Checkpoint) (files []File, err error) {
	list, err := f.Store.Left(c.ID, checkpoint.ShowOptions{Hidden: f.Hidden(c)})
	for i := range list {
		d := &list[i]
		file := File{Path: d.Path, What: d.What, Diff: audit.RedactText(d.Diff, maxDiff)}
		switch {
		case d.Hidden:
			file.Why = "the rules deny reading it"
		case d.Binary:
			file.Why = "it is not text, or too large"
		case d.Gone:
			file.Why = "it has changed since, and there is no snapshot of it after this call"
		}
		files = append(files, file)
	}
	return files, err
}

// Class returns the CSS class of the decision.
func (e *Event) Class() string {
	switch e.Decision {
	case "denied", "rejected", "limited", "timeout", "cancelled":
		return "deny"
	case "approved", "pending":
		return "ask"
	}
	return "allow"
}

// Replay returns the timeline of a session. files may be nil. It can return a timeline and an error, which names
// unreadable records.
func Replay(dataDir, session string, files *Files) (*Session, error) {
	var damaged []error
	var records []audit.Record
	for r, err := range audit.Read(audit.Dir(dataDir), audit.Filter{SessionID: session}) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, errors.Join(append(damaged, fmt.Errorf("no records of a session %q: callgate audit --json shows session ids", session))...)
	}
	slices.SortStableFunc(records, func(a, b audit.Record) int { return a.Time.Compare(b.Time) })
	s := &Session{ID: session, Began: records[0].Time, Ended: records[len(records)-1].Time}
	at := map[string]int{}
	asked := map[string]time.Time{}
	for i := range records {
		s.add(&records[i], at, asked)
	}
	if files == nil {
		return s, errors.Join(damaged...)
	}
	kept, err := files.Store.List(checkpoint.Filter{SessionID: session})
	damaged = append(damaged, err)
	for k := range kept {
		i, ok := at[kept[k].CallID]
		if !ok {
			continue
		}
		changed, err := files.changed(&kept[k])
		s.Events[i].Files = append(s.Events[i].Files, changed...)
		damaged = append(damaged, err)
	}
	return s, errors.Join(damaged...)
}

func (s *Session) add(r *audit.Record, at map[string]int, asked map[string]time.Time) {
	i, known := at[r.CallID]
	if r.CallID == "" || !known {
		i = len(s.Events)
		s.Events = append(s.Events, Event{ID: fmt.Sprintf("e%d", i+1), Time: r.Time})
		if r.CallID != "" {
			at[r.CallID] = i
		}
	}
	e := &s.Events[i]
	e.Tool, e.Risk = cmp.Or(e.Tool, r.Tool), cmp.Or(e.Risk, r.Risk)
	e.Summary = cmp.Or(e.Summary, r.Summary)
	s.Host, s.Project = cmp.Or(s.Host, r.Host), cmp.Or(s.Project, r.Project)
	switch r.Event {
	case audit.Asked:
		e.Asked = true
		e.Reason, e.Rule = r.Reason, r.Rule
		asked[r.CallID] = r.Time
	case audit.Decision:
		e.Decision, e.By, e.Reason, e.Rule = r.Decision, r.By, cmp.Or(r.Reason, e.Reason), cmp.Or(r.Rule, e.Rule)
		e.Arguments = indented(r.Arguments)
		if since, ok := asked[r.CallID]; ok {
			e.Waited = r.Time.Sub(since).Seconds()
		}
		e.Test = testOf(r)
	case audit.Outcome:
		e.Ended, e.Bytes, e.Took = true, r.Result, time.Duration(r.Duration*float64(time.Millisecond))
		if e.Failed = r.Error; e.Failed == "" && r.IsError {
			e.Failed = "the tool reported an error"
		}
	case audit.Control:
		e.By, e.Reason = r.By, r.Reason
		e.Chat = chatOf(r)
	}
}

// chatOf returns the chat message in a record, or "".
func chatOf(r *audit.Record) string {
	var said struct {
		Text string `json:"text"`
	}
	if r.Kind != tools.KindSampling || json.Unmarshal(r.Arguments, &said) != nil {
		return ""
	}
	return said.Text
}

func indented(arguments []byte) string {
	v := jsontext.Value(bytes.Clone(arguments))
	if len(v) == 0 || v.Indent() != nil {
		return string(arguments)
	}
	return string(v)
}

// testOf returns a rule test with the call and its decision, or "" if the record does not hold all arguments.
func testOf(r *audit.Record) string {
	if len(r.Arguments) == 0 || bytes.Contains(r.Arguments, []byte("[redacted]")) || bytes.Contains(r.Arguments, []byte("…[truncated:")) {
		return ""
	}
	want := permissions.Ask.String()
	switch r.Decision {
	case "auto_approved", "trusted":
		want = permissions.Allow.String()
	case "denied":
		want = permissions.Deny.String()
	}
	type call struct {
		Tool      string         `json:"tool"`
		Arguments jsontext.Value `json:"arguments"`
		Cwd       string         `json:"cwd,omitzero"`
	}
	text, err := json.Marshal(struct {
		Name string `json:"name"`
		Call call   `json:"call"`
		Want string `json:"want"`
	}{r.Summary, call{r.Tool, r.Arguments, r.Project}, want})
	if err != nil {
		return ""
	}
	return string(text)
}

// Print shows the timeline to a person.
func (s *Session) Print(w io.Writer) error {
	var b strings.Builder
	for i := range s.Events {
		e := &s.Events[i]
		fmt.Fprintf(&b, "%s  %-13s %-11s %s\n", e.Time.Local().Format("15:04:05"), cmp.Or(e.Decision, "–"), e.Risk, visible.Text(cmp.Or(e.Summary, e.Tool)))
		for _, f := range e.Files {
			fmt.Fprintf(&b, "            %s %s\n", f.What, visible.Text(f.Path))
		}
		if e.Chat != "" {
			fmt.Fprintf(&b, "            %s\n", strings.ReplaceAll(visible.Text(e.Chat), "\n", "\n            "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

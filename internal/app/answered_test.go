package app

import (
	"context"
	"fmt"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/config"
)

// People's answers are read only from the newest records, because the first question of a process waits for that.
func TestAnsweredReadsTheNewestRecords(t *testing.T) {
	c := &config.Config{DataDir: t.TempDir(), Worker: "default"}
	log, err := audit.Open(audit.Dir(c.DataDir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(event audit.Event, id, decision, by string) {
		t.Helper()
		r := audit.Record{Event: event, Worker: "default", CallID: id, Decision: decision, By: by, Tool: "sh_run", Server: "sh"}
		if event == audit.Decision {
			r.Subjects = []audit.Subject{{Tool: "sh_run", Kind: "shell_exec", Value: "git push", Action: "ask", Risk: "NETWORK"}}
		}
		if _, err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	add(audit.Decision, "long ago", gate.DecidedApproved, "web:alice")
	for i := range rememberedAnswers {
		add(audit.Outcome, fmt.Sprint("c", i), "", "")
	}
	add(audit.Asked, "marked", "", "mark")
	add(audit.Decision, "marked", gate.DecidedApproved, "web:alice")
	add(audit.Decision, "approved", gate.DecidedApproved, "web:alice")
	add(audit.Decision, "rejected", gate.DecidedRejected, "web:alice")
	add(audit.Decision, "by a rule", "auto_approved", "rule")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range answered(t.Context(), c, time.Now().Add(-time.Hour)) {
		got = append(got, fmt.Sprint(a.CallID, " ", a.Rejected))
	}
	if want := "[approved false rejected true]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got := answered(ended, c, time.Now().Add(-time.Hour)); len(got) > 0 || len(history(ended, c)) > 0 {
		t.Errorf("callgate, which ends, went on reading: %v", got)
	}
}

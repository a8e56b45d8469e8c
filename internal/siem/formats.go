package siem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"strings"

	"callgate/audit"
	"callgate/internal/visible"
)

// Formats of records that security systems read.
const (
	FormatOCSF = "ocsf" // class API Activity, one JSON object per line
	FormatCEF  = "cef"  // one line of text
)

// ocsf is a record as API Activity (6003) of OCSF 1.6.
type ocsf struct {
	ActivityID   int            `json:"activity_id"`
	ActivityName string         `json:"activity_name"`
	CategoryUID  int            `json:"category_uid"`
	ClassUID     int            `json:"class_uid"`
	TypeUID      int            `json:"type_uid"`
	Time         int64          `json:"time"` // ms
	SeverityID   int            `json:"severity_id"`
	StatusID     int            `json:"status_id"`
	Message      string         `json:"message,omitempty"`
	ActionID     int            `json:"action_id"` // 1 allowed, 2 denied
	Actor        map[string]any `json:"actor"`
	API          map[string]any `json:"api"`
	Source       map[string]any `json:"src_endpoint"`
	Metadata     map[string]any `json:"metadata"`
	Unmapped     map[string]any `json:"unmapped,omitempty"`
}

// OCSF returns the record as one line of JSON, without a newline.
func OCSF(r *audit.Record) ([]byte, error) {
	const class = 6003
	host, _ := addressOf(r.From)
	o := ocsf{
		ActivityID: 99, ActivityName: string(r.Event), CategoryUID: 6, ClassUID: class, TypeUID: class*100 + 99, Time: r.Time.UnixMilli(),
		SeverityID: severityOf(r), StatusID: statusOf(r), Message: cmp.Or(r.Reason, r.Summary, r.Error), ActionID: actionOf(r),
		Actor:  map[string]any{"user": map[string]any{"name": cmp.Or(r.By, "callgate")}, "app_name": r.Host, "app_uid": r.Principal, "session": map[string]any{"uid": r.SessionID}},
		API:    map[string]any{"operation": cmp.Or(r.Tool, string(r.Event)), "service": map[string]any{"name": cmp.Or(r.Server, "callgate")}, "request": map[string]any{"uid": r.CallID}},
		Source: map[string]any{"name": cmp.Or(host, "callgate")},
		Metadata: map[string]any{
			"version": "1.6.0", "uid": r.Hash, "sequence": r.Seq, "log_name": "audit", "product": map[string]any{"name": "callgate", "vendor_name": "callgate"},
		},
		Unmapped: map[string]any{},
	}
	for name, value := range map[string]string{
		"decision": r.Decision, "risk": r.Risk, "category": r.Category, "rule": r.Rule, "digest": r.Digest, "worker": r.Worker, "agent": r.Agent, "kind": r.Kind,
		"project": r.Project, "approval": r.Approval, "prev": r.Prev, "arguments": string(r.Arguments),
	} {
		if value != "" {
			o.Unmapped[name] = value
		}
	}
	if len(r.Subjects) > 0 {
		o.Unmapped["subjects"] = r.Subjects
	}
	text, err := json.Marshal(o)
	return []byte(visible.JSON(text)), err
}

// addressOf splits the place that somebody acted from into host and port. The port is "" if there is none.
func addressOf(from string) (host, port string) {
	if host, port, err := net.SplitHostPort(from); err == nil {
		return host, port
	}
	return from, ""
}

// severityOf returns 1 informational, 2 low, 3 medium, 4 high or 5 critical.
func severityOf(r *audit.Record) int {
	switch r.Risk {
	case "READ_ONLY", "BUILD_TEST":
		return 2
	case "WRITE", "NETWORK":
		return 3
	case "DESTRUCTIVE", "UNKNOWN":
		return 4
	case "ESCALATION":
		return 5
	}
	return 1
}

// actionOf returns 0 if nothing was decided, 1 if a call may run, 2 if it may not.
func actionOf(r *audit.Record) int {
	switch r.Decision {
	case "":
		return 0
	case "auto_approved", "approved", "trusted":
		return 1
	}
	return 2
}

// statusOf returns 0 unknown, 1 success or 2 failure.
func statusOf(r *audit.Record) int {
	switch {
	case r.Event == audit.Outcome && (r.IsError || r.Error != "") || actionOf(r) == 2:
		return 2
	case r.Event == audit.Asked:
		return 0
	}
	return 1
}

var (
	cefHeader = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "\n", " ", "\r", " ")
	cefValue  = strings.NewReplacer(`\`, `\\`, `=`, `\=`, "\n", `\n`, "\r", `\n`)
)

// CEF returns the record as one line in the Common Event Format, without a newline.
func CEF(r *audit.Record) []byte {
	what := strings.TrimSpace(cmp.Or(r.Decision, string(r.Event)) + " " + r.Tool)
	var b strings.Builder
	fmt.Fprintf(&b, "CEF:0|callgate|callgate|1|%s|%s|%d|", cefHeader.Replace(string(r.Event)), cefHeader.Replace(visible.Text(what)), []int{0, 1, 3, 5, 8, 10}[severityOf(r)])
	from, port := addressOf(r.From)
	where := "shost"
	if net.ParseIP(from) != nil {
		where = "src"
	}
	fields := [][2]string{{"rt", fmt.Sprint(r.Time.UnixMilli())}, {"externalId", r.Hash}, {"act", r.Decision}, {"suser", r.By}, {where, from}, {"spt", port}, {"suid", r.Principal}, {"requestClientApplication", r.Host}, {"app", r.Server}, {"request", r.Tool}, {"msg", cmp.Or(r.Reason, r.Summary, r.Error)}}
	for i, f := range [][2]string{{"callId", r.CallID}, {"sessionId", r.SessionID}, {"rule", r.Rule}, {"risk", r.Risk}, {"worker", r.Worker}, {"digest", r.Digest}} {
		if f[1] != "" {
			fields = append(fields, [2]string{fmt.Sprintf("cs%dLabel", i+1), f[0]}, [2]string{fmt.Sprintf("cs%d", i+1), f[1]})
		}
	}
	first := true
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(f[0] + "=" + cefValue.Replace(visible.Text(f[1])))
	}
	return []byte(b.String())
}

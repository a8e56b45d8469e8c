package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/audit"
	"callgate/internal/siem"
	"callgate/internal/visible"
)

// AuditTrail prints records, one line each.
type AuditTrail struct {
	w      io.Writer
	asJSON bool
	format string // a format of package siem, or ""
	palette
}

// NewAuditTrail returns an AuditTrail that prints to w: in colour on a terminal, or as JSON.
func NewAuditTrail(w io.Writer, asJSON bool) *AuditTrail {
	return &AuditTrail{w: w, asJSON: asJSON, palette: paletteOf(w)}
}

// As makes Print use a format of security systems. "" keeps the usual one.
func (p *AuditTrail) As(format string) error {
	if format != "" && format != siem.FormatOCSF && format != siem.FormatCEF {
		return fmt.Errorf("--format %q: use %s or %s", format, siem.FormatOCSF, siem.FormatCEF)
	}
	p.format = format
	return nil
}

// Print prints one record.
func (p *AuditTrail) Print(r *audit.Record) error {
	switch p.format {
	case siem.FormatOCSF:
		line, err := siem.OCSF(r)
		if err == nil {
			_, err = fmt.Fprintf(p.w, "%s\n", line)
		}
		return err
	case siem.FormatCEF:
		_, err := fmt.Fprintf(p.w, "%s\n", siem.CEF(r))
		return err
	}
	if p.asJSON {
		_, err := io.WriteString(p.w, visible.JSON(r.AppendJSON(nil))+"\n")
		return err
	}
	word, colour := auditWord(r)
	word = p.paint(colour, fmt.Sprintf("%-13s", visible.Text(word)))
	by, rule := r.By, r.Rule
	if by == "rule" || by == "mark" {
		by, rule = strings.TrimSpace(by+" "+rule), ""
	}
	fields := []string{r.Time.Local().Format("2006-01-02 15:04:05.000"), word}
	for _, field := range []struct{ label, text string }{
		{"", r.Tool}, {"", r.Risk}, {"", cmp.Or(r.Summary, r.Reason, r.Error)}, {"by ", by}, {"from ", r.From}, {"rule ", rule}, {"", r.CallID},
	} {
		if field.text != "" {
			fields = append(fields, field.label+visible.Text(visible.Shorten(field.text, maxAuditField)))
		}
	}
	_, err := fmt.Fprintln(p.w, strings.Join(fields, "  "))
	return err
}

// maxAuditField is how many characters of a field are printed; `callgate audit show` prints all.
const maxAuditField = 160

// auditWord returns a word for what happened, and its colour.
func auditWord(r *audit.Record) (word, colour string) {
	took := time.Duration(r.Duration * float64(time.Millisecond)).Round(time.Millisecond / 10)
	switch {
	case r.Event == audit.Outcome && r.Error != "":
		return "no result", red
	case r.Event == audit.Outcome && r.IsError:
		return "failed " + took.String(), yellow
	case r.Event == audit.Outcome:
		return "done " + took.String(), grey
	}
	switch r.Decision {
	case "auto_approved", "approved", "trusted":
		return r.Decision, green
	case "timeout", "cancelled":
		return r.Decision, yellow
	case "":
		return string(r.Event), grey
	}
	return r.Decision, red
}

// AuditReport prints the results of checking all logs.
func AuditReport(w io.Writer, dir string, report *audit.Report) error {
	var b strings.Builder
	if len(report.Logs) == 0 {
		fmt.Fprintf(&b, "no logs in %s\n", visible.Text(dir))
	}
	for _, log := range report.Logs {
		fmt.Fprintf(&b, "%s  %-7s  %s: %s", visible.Text(log.File), log.State, visible.Count(log.Records, "record"), completeness(&log))
		if log.Torn > 0 {
			fmt.Fprintf(&b, "; then %s of one that was not finished", visible.Count(log.Torn, "byte"))
		}
		b.WriteByte('\n')
	}
	for _, broken := range report.Breaks {
		fmt.Fprintf(&b, "BROKEN %s\n", visible.Text(broken.String()))
	}
	if report.OK() && len(report.Logs) > 0 {
		fmt.Fprintf(&b, "nothing is broken: %s in %s", visible.Count(report.Records, "record"), visible.Count(len(report.Logs), "log"))
		if report.Proofs > 0 {
			fmt.Fprintf(&b, ", %s of a passkey", visible.Count(report.Proofs, "signature"))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "head %s\n", report.Manifest)
	_, err := io.WriteString(w, b.String())
	return err
}

// completeness describes how far a log is complete.
func completeness(log *audit.LogReport) string {
	switch {
	case log.Break != nil:
		return fmt.Sprintf("good up to record %d", log.Good.Seq)
	case log.State == audit.Closed || log.State == audit.Sealed:
		return "complete"
	case log.Good.Seq > log.Vouched:
		return fmt.Sprintf("complete; nobody would notice yet if records after %d were removed", log.Vouched)
	}
	return "complete so far"
}

// AuditRecord prints a whole record, one member per line.
func AuditRecord(w io.Writer, r *audit.Record) error {
	line := jsontext.Value(r.AppendJSON(nil))
	if err := line.Indent(jsontext.AllowDuplicateNames(true), jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, visible.JSON(line))
	return err
}

package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"callgate/internal/visible"
)

// Each page is one file that loads nothing, so people can send it on. The code does not use html/template, which calls
// methods by name: the linker would then keep every exported method of the program, 6 MB.
var (
	//go:embed page.css
	pageStyle string
	//go:embed session.js
	sessionScript string
)

// page collects the HTML of a page.
type page struct{ strings.Builder }

// put adds HTML. It escapes the arguments for the verbs.
func (p *page) put(format string, arguments ...any) {
	for i, a := range arguments {
		if text, ok := a.(string); ok {
			arguments[i] = html.EscapeString(visible.Text(text))
		}
	}
	fmt.Fprintf(&p.Builder, format, arguments...)
}

// begin writes everything before the text. script is the page's JavaScript; "" means none.
func (p *page) begin(title, script string) {
	p.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	policy := "default-src 'none'; style-src 'unsafe-inline'"
	if script != "" {
		policy += "; script-src 'unsafe-inline'"
	}
	p.WriteString(`<meta http-equiv="Content-Security-Policy" content="` + policy + "\">\n<title>" + title + "</title>\n<style>" + pageStyle + "</style>\n</head>\n<body>\n")
}

func (p *page) end(script string) {
	if script != "" {
		p.WriteString("<script>\n" + script + "</script>\n")
	}
	p.WriteString("</body>\n</html>\n")
}

func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func percent(part, of int) int { return 100 * part / max(1, of) }

// HTML writes the report as one page.
func (r *Report) HTML(w io.Writer) error {
	var p page
	p.begin("callgate report", "")
	p.put("<h1>Questions and their reasons</h1>\n<p class=\"muted\">")
	if !r.Since.IsZero() {
		p.put("%s to ", moment(r.Since))
	}
	p.put("%s, %d sessions</p>\n<ul class=\"facts\">\n", moment(r.Until), r.Sessions)
	p.put("<li><b>%d</b> calls</li>\n<li><b>%d</b> ran without a question</li>\n", r.Calls, r.Unasked)
	p.put("<li><b>%d</b> questions, %d marked</li>\n<li><b>%d%%</b> of them approved</li>\n", r.Questions, r.Marked, percent(r.Approved, r.Questions))
	p.put("<li><b>%d</b> denied</li>\n<li><b>%s</b> to half of the answers, %s to nine of ten</li>\n</ul>\n", r.Denied, seconds(r.Answer), seconds(r.Slowest))
	if len(r.Days) > 0 {
		p.put("<figure>\n<svg viewBox=\"0 0 1000 120\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Calls by day\">")
		for _, b := range r.Chart {
			p.put(`<rect class="%s" x="%g" y="%g" width="%g" height="%g"><title>%s</title></rect>`, b.Class, b.X, b.Y, b.Width, b.Height, b.Title)
		}
		p.put("</svg>\n<figcaption>Calls by day, %s and later: ran without a question (blue), questions (amber), marked ones (violet), denials (red)</figcaption>\n</figure>\n", r.Days[0].Day)
	}
	p.put("<h2>Why so many questions?</h2>\n")
	p.shares("<h3>By command or tool</h3>", r.ByFamily)
	p.shares("<h3>By rule</h3>", r.ByRule)
	p.shares("<h3>By project</h3>", r.ByProject)
	p.shares("<h3>By host</h3>", r.ByHost)
	p.shares("<h2>Always the same answer</h2>\n<p class=\"muted\">Three questions or more, and one answer.</p>\n", r.Constant)
	if s := r.Suggested; s != nil && len(s.Proposals) > 0 {
		p.put("<h2>Grants that would end questions</h2>\n<p>%d grants would have answered %d of %d questions. <code>callgate rules suggest --apply</code> adds them.</p>\n", len(s.Proposals), s.Saved, s.Questions)
		p.put("<table><thead><tr><th class=\"n\">Saves</th><th>Grant</th><th>Up to</th><th>In</th></tr></thead><tbody>\n")
		for _, g := range s.Proposals {
			p.put("<tr><td class=\"n\">%d</td><td><code>%s %s</code></td><td>%s</td><td><code>%s</code></td></tr>\n", g.Saves, g.Tool, g.Pattern, fmt.Sprint(g.Ceiling), g.Workspace)
		}
		p.put("</tbody></table>")
	}
	p.put("<h2>Denied by</h2>\n")
	if len(r.Denials) == 0 {
		p.put("<p class=\"muted\">Nothing was denied.</p>\n")
	} else {
		p.put("<table><tbody>")
		for _, d := range r.Denials {
			p.put("<tr><td class=\"n\">%d</td><td><code>%s</code></td></tr>\n", d.Asked, d.Name)
		}
		p.put("</tbody></table>\n")
	}
	p.end("")
	_, err := io.WriteString(w, p.String())
	return err
}

// shares adds a table under a heading of HTML.
func (p *page) shares(heading string, list []Share) {
	p.WriteString(heading)
	if len(list) == 0 {
		p.put("<p class=\"muted\">None.</p>\n")
		return
	}
	p.put("<table><thead><tr><th class=\"n\">Questions</th><th class=\"n\">Approved</th><th class=\"n\">Answered in</th><th>Of</th></tr></thead><tbody>\n")
	for _, s := range list {
		p.put("<tr><td class=\"n\">%d</td><td class=\"n\">%d%%</td><td class=\"n\">%s</td><td><code>%s</code></td></tr>\n", s.Asked, percent(s.Approved, s.Asked), seconds(s.Answer), s.Name)
	}
	p.put("</tbody></table>\n")
}

// HTML writes the timeline as a page with a filter.
func (s *Session) HTML(w io.Writer) error {
	var p page
	p.begin("callgate session", sessionScript)
	p.put("<h1>Session <code>%s</code></h1>\n", s.ID)
	p.put("<p class=\"muted\">%s in <code>%s</code>, %s to %s, %d events. Secrets are redacted.</p>\n", s.Host, s.Project, moment(s.Began), moment(s.Ended), len(s.Events))
	p.put("<p><label>Filter <input type=\"search\" id=\"filter\" placeholder=\"denied, npm, write_file\"></label> <span id=\"shown\" role=\"status\"></span></p>\n<ol class=\"events\">\n")
	for i := range s.Events {
		p.event(&s.Events[i])
	}
	p.put("</ol>\n")
	p.end(sessionScript)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) event(e *Event) {
	p.put("<li id=\"%s\">\n<a href=\"#%s\">%s</a>", e.ID, e.ID, e.Time.Local().Format("15:04:05"))
	if e.Decision != "" {
		p.put(` <span class="badge %s">%s</span>`, e.Class(), e.Decision)
	}
	if e.Risk != "" {
		p.put(` <span class="badge">%s</span>`, e.Risk)
	}
	p.put(" %s\n<div class=\"muted\">", e.Summary)
	if e.Tool != "" {
		p.put("<code>%s</code>", e.Tool)
	}
	if e.By != "" {
		p.put(" by %s", e.By)
	}
	if e.Asked {
		p.put(", asked")
	}
	if e.Waited > 0 {
		p.put(", answered in %s", seconds(e.Waited))
	}
	if e.Ended {
		p.put(", result %d bytes in %s", e.Bytes, e.Took.String())
	}
	if e.Failed != "" {
		p.put(", failed: %s", e.Failed)
	}
	p.put("</div>\n")
	if e.Reason != "" {
		p.put("<div>%s</div>\n", e.Reason)
	}
	if e.Chat != "" {
		p.put("<blockquote>%s</blockquote>\n", e.Chat)
	}
	for _, f := range e.Files {
		switch {
		case f.Diff != "":
			p.put("<details><summary>%s <code>%s</code></summary><pre>", f.What, f.Path)
			p.diff(f.Diff)
			p.put("</pre></details>\n")
		case f.Why != "":
			p.put("<div>%s <code>%s</code> <span class=\"muted\">(no difference to show: %s)</span></div>\n", f.What, f.Path, f.Why)
		default:
			p.put("<div>%s <code>%s</code></div>\n", f.What, f.Path)
		}
	}
	if e.Arguments != "" {
		p.put("<details><summary>Arguments</summary><pre>%s</pre></details>\n", e.Arguments)
	}
	if e.Test != "" {
		p.put("<details><summary>As a rule test</summary><pre>%s</pre><p class=\"muted\">Put it into permissions.test.jsonc; <code>callgate rules test</code> runs it.</p></details>\n", e.Test)
	}
	p.put("</li>\n")
}

// diff adds the lines of a unified diff without its headers.
func (p *page) diff(text string) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "+"):
			p.put("<ins>%s</ins>\n", strings.TrimSuffix(line, "\n"))
		case strings.HasPrefix(line, "-"):
			p.put("<del>%s</del>\n", strings.TrimSuffix(line, "\n"))
		default:
			p.put("%s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}

// Bar is one part of a day in the chart.
type Bar struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Class  string  `json:"class"` // denied, marked, asked or ran
	Title  string  `json:"title"`
}

// chart stacks each day's bars in a field of 1000 by 120.
func chart(days []Day) []Bar {
	bars, most := []Bar{}, 1
	for _, d := range days {
		most = max(most, d.Calls)
	}
	width := 1000 / float64(max(1, len(days)))
	for i, d := range days {
		y, left := 120.0, d.Calls
		add := func(n int, class, what string) {
			if n = min(n, left); n <= 0 {
				return
			}
			left -= n
			height := 120 * float64(n) / float64(most)
			y -= height
			bars = append(bars, Bar{float64(i) * width, y, max(1, width-2), height, class, d.Day + ": " + visible.Count(n, what)})
		}
		add(d.Denied, "denied", "denial")
		add(d.Marked, "marked", "question about a marked call")
		add(d.Questions-d.Marked, "asked", "question")
		add(left, "ran", "call that ran without a question")
	}
	return bars
}

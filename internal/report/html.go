package report

import (
	_ "embed"
	"html/template"
	"io"
	"time"

	"callgate/internal/visible"
)

// The pages are one file each: they load nothing, and can be sent as they are.
var (
	//go:embed report.html
	reportPage string
	//go:embed session.html
	sessionPage string
	//go:embed page.css
	pageStyle string
)

var functions = template.FuncMap{
	"style":   func() template.CSS { return template.CSS(pageStyle) },
	"text":    visible.Text,
	"seconds": seconds,
	"percent": func(part, of int) int { return 100 * part / max(1, of) },
	"moment":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
	"clock":   func(t time.Time) string { return t.Local().Format("15:04:05") },
}

var pages = template.Must(template.Must(template.New("report").Funcs(functions).Parse(reportPage)).New("session").Parse(sessionPage))

// HTML writes the report as one page.
func (r *Report) HTML(w io.Writer) error { return pages.ExecuteTemplate(w, "report", r) }

// bar is one part of a day in the chart.
type bar struct {
	X, Y, Width, Height float64
	Class, Title        string
}

// Chart is a day's bars, stacked, in a field of 1000 by 120.
func (r *Report) Chart() (bars []bar) {
	most := 1
	for _, d := range r.Days {
		most = max(most, d.Calls)
	}
	width := 1000 / float64(max(1, len(r.Days)))
	for i, d := range r.Days {
		y := 120.0
		add := func(n int, class, what string) {
			if n <= 0 {
				return
			}
			height := 120 * float64(n) / float64(most)
			y -= height
			bars = append(bars, bar{float64(i) * width, y, max(1, width-2), height, class, d.Day + ": " + visible.Count(n, what)})
		}
		add(min(d.Denied, d.Calls), "denied", "denial")
		add(min(d.Questions, d.Calls-d.Denied), "asked", "question")
		add(d.Calls-d.Denied-min(d.Questions, d.Calls-d.Denied), "ran", "call that ran unasked")
	}
	return bars
}

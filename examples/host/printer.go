package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
)

// printer tells the story. It is for use by one goroutine.
type printer struct {
	out      io.Writer
	color    bool
	callgate string // the program, as another terminal has to call it
	steps    int
}

func newPrinter(out io.Writer, color bool) *printer { return &printer{out: out, color: color} }

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *printer) paint(style, text string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (p *printer) connected(hello *mcp.InitializeResult, tools []mcp.Tool, took time.Duration) {
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = plain(tool.Name)
	}
	fmt.Fprintf(p.out, "%s %s, MCP %s, in %s\n", p.paint(bold, "Connected to"), plain(hello.ServerInfo.Name+" "+hello.ServerInfo.Version),
		plain(hello.ProtocolVersion), round(took))
	fmt.Fprintf(p.out, "%s %s\n", p.paint(bold, "Tools:"), strings.Join(names, ", "))
}

// step shows the next call.
func (p *printer) step(what, tool string, args map[string]any) {
	p.steps++
	text, err := json.Marshal(args)
	if err != nil {
		text = fmt.Append(nil, args)
	}
	fmt.Fprintf(p.out, "\n%s\n   %s %s\n", p.paint(bold, fmt.Sprintf("%d. %s", p.steps, what)), tool, text)
}

func (p *printer) result(o outcome, good bool) {
	mark, style := "✓", green
	if !good {
		mark, style = "✗", red
	}
	verb := "ran"
	if o.isError {
		verb = "refused"
	}
	fmt.Fprintf(p.out, "   %s %s\n", p.paint(style, mark+" "+verb), p.paint(dim, "after "+round(o.took)))
	p.quote(o.text)
}

// unanswered shows a call that was refused because nobody answered, which is as it should be.
func (p *printer) unanswered(o outcome) {
	p.result(o, true)
	fmt.Fprintln(p.out, "     Nobody answered in time, so callgate refused the call. Run the demo again to answer it.")
}

func (p *printer) failed(o outcome) {
	fmt.Fprintf(p.out, "   %s %s\n", p.paint(red, "✗ no result"), p.paint(dim, "after "+round(o.took)))
	p.quote(o.err.Error())
}

// quote shows the first lines of text.
func (p *printer) quote(text string) {
	const most = 6
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if i == most {
			fmt.Fprintf(p.out, "     %s\n", p.paint(dim, fmt.Sprintf("… %d lines more", len(lines)-most)))
			return
		}
		if line = plain(line); line != "" {
			fmt.Fprintf(p.out, "     %s\n", p.paint(dim, line))
		}
	}
}

// question shows what waits for a person, and how to answer from elsewhere.
func (p *printer) question(c *companion, a approval) {
	fmt.Fprintf(p.out, "   %s %s %s\n", p.paint(yellow, "? waits for a person:"), plain(a.Summary), p.paint(dim, fmt.Sprintf("(%s, %s risk)", plain(a.Risk.Class), plain(a.Risk.Label))))
	fmt.Fprintf(p.out, "     on the page    %[1]s open --data-dir %[2]s\n     in a terminal  %[1]s approve --data-dir %[2]s\n     by REST        POST %[3]s/api/approvals/%[4]s\n", p.callgate, c.dataDir, c.address, plain(a.ID))
	for _, offer := range a.Always {
		if offer.Default {
			fmt.Fprintf(p.out, "     always means   %s %q\n", plain(offer.Tool), plain(offer.Pattern))
		}
	}
}

func (p *printer) waiting(a approval) {
	until := ""
	if !a.ExpiresAt.IsZero() {
		until = " until " + a.ExpiresAt.Local().Format(time.TimeOnly)
	}
	fmt.Fprintf(p.out, "     Waiting for an answer%s.\n", until)
}

func (p *printer) prompt(always bool) {
	text := "Let it run? [y]es, [n]o:"
	if always {
		text = "Let it run? [y]es, [n]o, [a]lways:"
	}
	fmt.Fprintf(p.out, "     %s ", p.paint(bold, text))
}

func (p *printer) answered(decision string) { fmt.Fprintf(p.out, "     Answered: %s.\n", decision) }

func (p *printer) answeredElsewhere() { fmt.Fprintln(p.out, "\n     No answer from here was needed.") }

func round(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }

// plain removes what could steer a terminal or change the direction of writing: the text comes from a server.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}

package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/internal/visible"
	"callgate/rag"
)

// Progress shows the progress of indexing, as a bar on a terminal, and the results.
type Progress struct {
	mu            sync.Mutex // several workspaces may be watched
	out, err      io.Writer
	json, verbose bool
	terminal      bool
	drawn         time.Time
	skipped       map[string]int // by reason
	failed        error
}

// NewProgress returns a Progress that prints results to out and progress to errOut, or events to out as JSON lines.
func NewProgress(out, errOut io.Writer, asJSON, verbose bool) *Progress {
	return &Progress{
		out: out, err: errOut, json: asJSON, verbose: verbose, skipped: map[string]int{},
		terminal: terminal(errOut) && !asJSON,
	}
}

// Event shows one event. It is safe for concurrent use.
func (p *Progress) Event(e rag.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		p.write(e)
		return
	}
	switch e.Kind {
	case rag.EventStart:
		clear(p.skipped)
	case rag.EventSkip:
		if p.verbose {
			fmt.Fprintf(p.err, "%s: %s\n", visible.Text(e.Path), visible.Text(e.Reason))
		}
		if !e.Expected {
			p.skipped[e.Reason]++
		}
	case rag.EventProgress:
		if p.terminal && time.Since(p.drawn) > 50*time.Millisecond {
			p.drawn = time.Now()
			fmt.Fprintf(p.err, "\r\x1b[K%s %d/%d %s", bar(e.Indexed, e.Total), e.Indexed, e.Total, visible.Text(visible.Shorten(e.Path, 50)))
		}
	case rag.EventDone:
		if p.terminal {
			fmt.Fprint(p.err, "\r\x1b[K")
		}
		s := e.Summary
		fmt.Fprintf(p.out, "%s: %s, %s; %s changed, %s removed in %s\n", visible.Text(e.Path), visible.Count(s.Files, "file"), visible.Count(s.Chunks, "chunk"),
			visible.Count(s.Changed, "file"), visible.Count(s.Removed, "file"), s.Duration.Round(time.Millisecond))
		p.sayUnsupported()
	}
}

// write prints the event with the names of the side protocol.
func (p *Progress) write(e rag.Event) {
	line := map[string]any{"type": "index_" + string(e.Kind), "path": e.Path}
	switch e.Kind {
	case rag.EventStart:
		line["totalFiles"] = e.Total
	case rag.EventProgress:
		line = map[string]any{"type": "index_progress", "indexedFiles": e.Indexed, "totalFiles": e.Total, "currentFile": e.Path}
	case rag.EventSkip:
		line["reason"] = e.Reason
	case rag.EventDone:
		line["fileCount"], line["chunkCount"], line["duration"] = e.Summary.Files, e.Summary.Chunks, e.Summary.Duration.Milliseconds()
	}
	data, err := json.Marshal(line, json.Deterministic(true))
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s\n", data)
	}
	p.failed = cmp.Or(p.failed, err)
}

// sayUnsupported reports what people may expect to be read and is not: some formats, and what exceeds a limit.
func (p *Progress) sayUnsupported() {
	for reason, n := range p.skipped {
		switch {
		case strings.HasPrefix(reason, "PDF"), strings.HasPrefix(reason, "it is not UTF-8"):
			if fmt.Fprintf(p.err, "left out %s: %s", visible.Count(n, "file"), reason); !p.verbose {
				fmt.Fprint(p.err, " (callgate index -v lists them)")
			}
			fmt.Fprintln(p.err)
		case strings.Contains(reason, "are left out: "), strings.HasPrefix(reason, "no room: "):
			fmt.Fprintln(p.err, reason)
		}
	}
}

// Close clears the bar and returns the first error of printing events as JSON.
func (p *Progress) Close() error {
	if p.terminal {
		fmt.Fprint(p.err, "\r\x1b[K")
	}
	return p.failed
}

// bar returns a progress bar.
func bar(done, total int) string {
	const width = 24
	n := width * done / max(1, total)
	return "[" + strings.Repeat("#", min(n, width)) + strings.Repeat(".", width-min(n, width)) + "]"
}

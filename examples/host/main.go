// Host plays an LLM host: it starts callgate as its MCP server and makes three calls.
//
// Rules allow the first call, deny the second, and leave the third to a person. Host shows the results, and exits with
// 0 only if all three ended as they should.
//
// For the third call it sends the answer itself over REST (--answer), or asks at the terminal. Without a terminal it
// waits until somebody answers elsewhere.
//
//	host --data-dir DIR [--answer approve|reject|always] -- callgate run [FLAG...]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err == nil {
		o.terminal = term.IsTerminal(int(os.Stdin.Fd()))
		err = run(ctx, o, os.Stdin, newPrinter(os.Stdout, term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

// options describes what to start and who answers.
type options struct {
	command  []string // callgate and its arguments
	dataDir  string   // where the started callgate keeps its data
	answer   string   // approve, reject, always, or "" for a person
	timeout  time.Duration
	verbose  bool
	terminal bool // a person is at stdin
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("host", flag.ContinueOnError)
	flags.StringVar(&o.dataDir, "data-dir", "", "data `directory` of the callgate that is started (required)")
	flags.StringVar(&o.answer, "answer", "", "answer the question by REST: approve, reject or always")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after this `time`")
	flags.BoolVar(&o.verbose, "verbose", false, "show what callgate logs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.command = flags.Args()
	switch {
	case o.dataDir == "":
		return o, errors.New("--data-dir is missing")
	case len(o.command) == 0:
		return o, errors.New("the command that starts callgate is missing: host --data-dir DIR -- callgate run")
	case !slices.Contains([]string{"", "approve", "reject", "always"}, o.answer):
		return o, fmt.Errorf("--answer %s: use approve, reject or always", o.answer)
	}
	return o, nil
}

// run plays the whole story. It returns an error for an unexpected outcome.
func run(ctx context.Context, o options, in io.Reader, p *printer) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	var log logs
	if o.verbose {
		log.also = os.Stderr
	}
	p.callgate = o.command[0]
	if path, err := exec.LookPath(p.callgate); err == nil {
		p.callgate = path // make run has its own PATH
	}
	begun := time.Now()
	c, err := client.NewStdioMCPClientWithOptions(o.command[0], nil, o.command[1:], transport.WithCommandStderrWriter(&log))
	if err != nil {
		return err
	}
	err = play(ctx, &host{client: c, options: o, in: in, printer: p}, begun)
	if closeErr := c.Close(); closeErr != nil && err == nil {
		err = fmt.Errorf("end callgate: %w", closeErr)
	}
	if text := log.text(); err != nil && text != "" && !o.verbose {
		err = fmt.Errorf("%w\ncallgate logged:\n%s", err, text)
	}
	return err
}

func play(ctx context.Context, h *host, begun time.Time) error {
	var request mcp.InitializeRequest
	request.Params.ClientInfo = mcp.Implementation{Name: "callgate-example-host", Version: "1.0.0"}
	hello, err := h.client.Initialize(ctx, request)
	if err != nil {
		return fmt.Errorf("shake hands: %w", err)
	}
	list, err := h.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	h.connected(hello, list.Tools, time.Since(begun))
	return errors.Join(h.allowed(ctx), h.denied(ctx), h.asked(ctx))
}

// logs keeps the end of callgate's stderr.
type logs struct {
	also io.Writer // nil: nobody
	mu   sync.Mutex
	kept []byte
}

func (l *logs) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, line...)
	if over := len(l.kept) - 4096; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	if l.also != nil {
		return l.also.Write(line)
	}
	return len(line), nil
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.kept))
}

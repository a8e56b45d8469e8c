package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
)

func newHookCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook HOST [EVENT]",
		Short: "Gate the built-in tools of a host (the host runs this)",
		Long: `A host runs "callgate hook" before and after it uses its own tools (shell, files, web). "callgate connect" installs
it. Hook reads the host's JSON on standard input, asks the gate, waits for a person as long as the host waits, and
answers in the host's format. A call that it cannot judge does not run.

The first hook starts a process in the background that judges the calls; it ends when no host has used it for a
while. It uses callgate.yaml and the worker's rules, and ignores CALLGATE_ variables of a host.

Hosts: ` + strings.Join(hosthooks.IDs(), ", ") + `.`,
		Example: `  callgate connect claude     # installs it
  echo '{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/tmp","tool_name":"Bash","tool_input":{"command":"ls"}}' | callgate hook claude`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cobra.FixedCompletions(hosthooks.IDs(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := door.Order{Host: args[0]}
			if len(args) == 2 {
				o.Event = args[1]
			}
			return s.hook(cmd, o)
		},
	}
	serve := &cobra.Command{
		Use: "serve", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serveHooks(cmd) },
	}
	cmd.AddCommand(serve)
	return cmd
}

// hook answers the host. Whatever goes wrong is a denial in the host's words, for an event that waits for one.
func (s *settings) hook(cmd *cobra.Command, o door.Order) error {
	dialect, err := hosthooks.Find(o.Host)
	if err != nil {
		return err
	}
	body := door.Read
	if !door.HasRead {
		if body, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), door.MaxBody+1)); err != nil {
			return err
		}
	}
	reply, err := s.askGate(&o, body)
	if err != nil {
		reply = door.Reply(dialect.Fail(o.Event, body, fmt.Sprintf("callgate could not judge this call, so it does not run: %v", err)))
	}
	fmt.Fprint(cmd.OutOrStdout(), reply.Stdout)
	fmt.Fprint(cmd.ErrOrStderr(), reply.Stderr)
	if reply.Exit != 0 {
		return exitCode(reply.Exit)
	}
	return nil
}

// askGate asks the process that judges, and starts it when there is none.
func (s *settings) askGate(o *door.Order, body []byte) (door.Reply, error) {
	switch {
	case door.Broken != nil:
		return door.Reply{}, door.Broken
	case len(body) > door.MaxBody:
		return door.Reply{}, fmt.Errorf("the host sent more than %d MiB", door.MaxBody>>20)
	}
	var err error
	if o.DataDir, err = s.dataDir(); err != nil {
		return door.Reply{}, err
	}
	o.Config, _ = s.common.GetString("config") // they are declared
	o.Worker, _ = s.common.GetString("worker")
	reply, err := door.Ask(*o, body)
	if !errors.Is(err, door.ErrNobody) {
		return reply, err
	}
	ended, log, err := startJudge(o)
	if err != nil {
		return reply, err
	}
	for deadline := time.Now().Add(judgeStart); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if reply, err = door.Ask(*o, body); !errors.Is(err, door.ErrNobody) {
			return reply, err
		}
		select {
		case failed := <-ended:
			if ended = nil; failed != nil {
				return reply, errors.New(lastLine(log))
			}
		default:
		}
	}
	return reply, fmt.Errorf("the process that judges does not begin: see %s", log)
}

// judgeStart bounds how long the process that judges may take to begin.
const judgeStart = 15 * time.Second

// startJudge starts the process that judges, which outlives this one. A host's variables do not configure it: it judges
// for all hosts.
func startJudge(o *door.Order) (ended <-chan error, log string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	log = filepath.Join(o.DataDir, "hub", "hook.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return nil, "", err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(log); err == nil && info.Size() > 1<<20 {
		flags |= os.O_TRUNC
	}
	out, err := os.OpenFile(log, flags, 0o600)
	if err != nil {
		return nil, "", err
	}
	defer out.Close()
	args := []string{"hook", "serve", "--data-dir=" + o.DataDir, "--worker=" + o.Worker}
	if o.Config != "" {
		args = append(args, "--config="+o.Config)
	}
	judge := exec.Command(program, args...)
	judge.Dir, judge.Stderr = o.DataDir, out
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CALLGATE_") {
			judge.Env = append(judge.Env, entry)
		}
	}
	detach(judge)
	if err := judge.Start(); err != nil {
		return nil, "", fmt.Errorf("the process that judges cannot be started: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- judge.Wait() }()
	return done, log, nil
}

// lastLine is what a program that failed said last.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

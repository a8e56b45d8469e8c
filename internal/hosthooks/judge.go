package hosthooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/hosthooks/door"
)

// Ask asks the judging process, and starts it if there is none.
func Ask(ctx context.Context, o door.Order, body []byte) (door.Reply, error) {
	if len(body) > door.MaxBody {
		return door.Reply{}, fmt.Errorf("the host sent more than %d MiB", door.MaxBody>>20)
	}
	reply, err := door.Ask(ctx, o, body)
	if !errors.Is(err, door.ErrNobody) {
		return reply, err
	}
	ended, log, err := startJudge(o)
	if err != nil {
		return reply, err
	}
	for deadline := time.Now().Add(judgeStart); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if reply, err = door.Ask(ctx, o, body); !errors.Is(err, door.ErrNobody) {
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
	return reply, fmt.Errorf("callgate's process for hooks does not start: see %s", log)
}

// judgeStart bounds how long the judging process may take to start.
const judgeStart = 15 * time.Second

// startJudge starts the judging process, which outlives this one. The host's variables do not configure it, because it
// judges for all hosts.
func startJudge(o door.Order) (ended <-chan error, log string, err error) {
	args := []string{"hook", "serve", "--data-dir=" + o.DataDir, "--worker=" + o.Worker}
	if o.Config != "" {
		args = append(args, "--config="+o.Config)
	}
	return begin(o.DataDir, args)
}

// Launch starts a callgate that outlives this process, and waits until it is ready or fails.
func Launch(dataDir string, ready func() bool, args ...string) error {
	ended, log, err := begin(dataDir, args)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(judgeStart); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ready() {
			return nil
		}
		select {
		case failed := <-ended:
			return errors.Join(failed, errors.New(lastLine(log)))
		default:
		}
	}
	return fmt.Errorf("it does not start: see %s", log)
}

// begin starts a callgate with a log file.
func begin(dataDir string, args []string) (ended <-chan error, log string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	log = filepath.Join(dataDir, "hub", args[0]+".log")
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
	return start(program, args, dataDir, out), log, nil
}

// start starts a callgate that outlives this process and takes no settings from its environment. The channel gets its
// exit error, or the reason why it did not start.
func start(program string, args []string, dir string, log *os.File) <-chan error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stderr = dir, log
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CALLGATE_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	detach(cmd)
	done := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(log, "cannot start callgate:", err)
		done <- err
		return done
	}
	go func() { done <- cmd.Wait() }()
	return done
}

// lastLine returns the last line of a failed program's log.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

package tui

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// maxOwnCommand limits the person's own shell command, in characters.
const maxOwnCommand = 4000

// own is the dialog for the person's own shell command. The command is not a tool call: it runs as the person, outside
// the gate, and is recorded first.
type own struct{ input input }

func (d *own) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.dialog = nil
		return nil
	case "enter":
		command := strings.TrimSpace(string(d.input.text))
		if m.dialog = nil; command == "" {
			return nil
		}
		return m.recordOwn(ownCommand{command: command})
	}
	d.input.key(k)
	return nil
}

func (d *own) paste(p tea.PasteMsg) { d.input.insert(p.Content) }

func (d *own) content(m *model, width, _ int) boxed {
	s := &m.styles
	return boxed{
		title: s.title.Styled("Your own shell command"), edge: s.warn, focus: 1,
		lines: append([]string{
			"Runs as you, outside the gate, in the folder of this terminal:",
			d.input.view(s, "git status", width),
		}, wrap("Enter runs and records it · Esc goes back", width, "")...),
	}
}

// ownCommand is a command and, once it has run, its outcome.
type ownCommand struct {
	command string
	ended   bool
	took    time.Duration
	err     error
}

// ownMsg says that the command was recorded and may run or, if it has ended, that its outcome was recorded.
type ownMsg struct {
	of  ownCommand
	err error // of recording; nil if it was recorded
}

// recordOwn records the command before it runs, and its outcome afterwards.
func (m *model) recordOwn(c ownCommand) tea.Cmd {
	if m.rest == nil || m.address == "" {
		return m.takeOwn(ownMsg{c, errors.New("there is no connection")})
	}
	ctx, address, ask := m.ctx, m.address, m.rest
	dir, err := os.Getwd()
	if err != nil {
		dir = "an unknown folder"
	}
	return func() tea.Msg { return ownMsg{c, ask.own(ctx, address, dir, c)} }
}

func (m *model) takeOwn(msg ownMsg) tea.Cmd {
	c := msg.of
	switch {
	case c.ended && msg.err != nil:
		m.unrecorded = append(m.unrecorded, c)
		m.toast(toastBad, "callgate could not record how your command ended: %v. The next connection tries again.", msg.err)
	case c.ended:
		m.toast(toastInfo, "Your command %s.", c.outcome())
	case msg.err != nil:
		m.toast(toastBad, "Your command did not run, because it could not be recorded: %v.", msg.err)
	default:
		run := &running{text: c.command}
		began := time.Now()
		return tea.Exec(run, func(err error) tea.Msg {
			c.ended, c.took, c.err = true, time.Since(began), err
			return ownEndedMsg{c}
		})
	}
	return nil
}

// ownEndedMsg means that the command has ended, and the screen is back.
type ownEndedMsg struct{ of ownCommand }

func (c *ownCommand) outcome() string {
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return "ended with exit code 0"
	case errors.As(c.err, &exit) && exit.ExitCode() >= 0:
		return fmt.Sprintf("ended with exit code %d", exit.ExitCode())
	}
	return fmt.Sprintf("failed: %v", c.err)
}

// running runs the command while the screen is off.
type running struct {
	streams
	text string
}

var _ tea.ExecCommand = (*running)(nil)

// Run runs the command in the person's shell, without callgate's own variables. It then waits for Enter, so that the
// person can read the output.
func (r *running) Run() error {
	shell, flag := os.Getenv("SHELL"), "-c"
	if runtime.GOOS == "windows" {
		shell, flag = os.Getenv("COMSPEC"), "/c"
	}
	shell = cmp.Or(shell, "/bin/sh")
	fmt.Fprintf(r.stdout, "$ %s\n", shown(r.text))
	cmd := exec.CommandContext(context.Background(), shell, flag, r.text)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(entry), "CALLGATE_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.stdin, r.stdout, r.stderr
	err := cmd.Run()
	c := ownCommand{err: err}
	fmt.Fprintf(r.stdout, "\nIt %s. Press Enter to go back to callgate.", c.outcome())
	if _, failed := bufio.NewReader(r.stdin).ReadString('\n'); failed != nil && !errors.Is(failed, io.EOF) {
		return errors.Join(err, failed)
	}
	return err
}

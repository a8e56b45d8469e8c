package tui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// maxEdited limits edited arguments, in bytes, so that they fit into a frame.
const maxEdited = 3 << 20

// editedMsg is the result of the editor.
type editedMsg struct {
	call, digest string // of the approval
	text         []byte
	err          error
}

// edit opens the arguments in the person's editor.
func (m *model) edit(a *approval) tea.Cmd {
	e := &editing{text: bytes.Clone(a.Args)}
	call, digest := a.ToolCallID, a.ArgsDigest
	return tea.Exec(e, func(err error) tea.Msg { return editedMsg{call, digest, e.text, err} })
}

// editing runs the editor on text while the screen is off.
type editing struct {
	streams
	text []byte // the arguments; after Run, the edited text
}

var _ tea.ExecCommand = (*editing)(nil)

// streams are the terminal's streams for a program that runs while the screen is off.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (s *streams) SetStdin(r io.Reader)  { s.stdin = r }
func (s *streams) SetStdout(w io.Writer) { s.stdout = w }
func (s *streams) SetStderr(w io.Writer) { s.stderr = w }

// Run lets the person edit the arguments in a private temporary file.
func (e *editing) Run() (err error) {
	dir, err := os.MkdirTemp("", "callgate-edit-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "arguments.json")
	text := e.text
	var indented bytes.Buffer
	if json.Indent(&indented, text, "", "  ") == nil { // otherwise the text stays as it is
		text = append(indented.Bytes(), '\n')
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	command := editor()
	cmd := exec.Command(command[0], append(command[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.stdin, e.stdout, e.stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	e.text, err = os.ReadFile(path)
	return err
}

// editor returns the command in $VISUAL or $EDITOR with its options, or a default.
func editor() []string {
	command := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")))
	switch {
	case len(command) > 0:
		return command
	case runtime.GOOS == "windows":
		return []string{"notepad"}
	}
	return []string{"vi"}
}

// takeEdited asks whether the edited arguments may run. The dialog pops up, so keys do not count at first.
func (m *model) takeEdited(msg editedMsg) {
	m.quiet.arm(m.now)
	a := m.queue.find(msg.call)
	switch problem := checkEdited(msg); {
	case problem != "":
		m.toast(toastBad, "Nothing was sent: %s.", problem)
	case a == nil || a.ArgsDigest != msg.digest:
		m.toast(toastBad, "Nothing was sent: the call ended or changed meanwhile.")
	case readable(a.Args) == readable(msg.text):
		m.toast(toastInfo, "Nothing was sent: nothing was changed.")
	default:
		m.current, m.screen = a, approvals
		m.dialog = &review{approval: a, text: msg.text}
	}
}

// checkEdited returns what is wrong with edited arguments, or "".
func checkEdited(msg editedMsg) string {
	value := bytes.TrimSpace(msg.text)
	switch {
	case msg.err != nil:
		return fmt.Sprintf("editing failed: %v", msg.err)
	case len(value) > maxEdited:
		return "the edited arguments are too large"
	case !json.Valid(value) || !utf8.Valid(value): // the gate checks more strictly, and says why
		return "they are not valid JSON"
	case value[0] != '{':
		return "they are not a JSON object"
	}
	return ""
}

// review is the dialog that asks whether edited arguments may run. To approve, a person must see the whole change.
type review struct {
	approval *approval
	text     []byte
	view     pane
	width    int // for which view was filled
	read     bool
	approve  bool // the chosen button; the other one goes back
}

func (d *review) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "n", "N":
		m.dialog = nil
		m.toast(toastInfo, "Nothing was sent: the change was discarded.")
	case "left", "h":
		d.approve = false
	case "right", "l":
		d.approve = true
	case "enter":
		if !d.approve {
			m.dialog = nil
			m.toast(toastInfo, "Nothing was sent: the change was discarded.")
			return nil
		}
		return d.send(m)
	case "y", "Y":
		return d.send(m)
	default:
		d.view.scroll(k.String())
	}
	return nil
}

func (d *review) send(m *model) tea.Cmd {
	if !d.read {
		m.hint("Nothing was sent: read all of the change first (Space).")
		return nil
	}
	return m.answer(d.approval, wire.ToolApprove{Decision: "approve", Arguments: bytes.TrimSpace(d.text)})
}

func (d *review) content(m *model, width, rows int) boxed {
	s := &m.styles
	if d.width != width {
		d.width = width
		d.view.lines = s.diffLines(readable(d.approval.Args), readable(d.text), width)
	}
	d.view.resize(min(len(d.view.lines), rows-2))
	d.read = d.read || d.view.height > 0 && d.view.below() == 0
	b := boxed{title: s.title.Styled("Run with these arguments?"), note: view{m}.timeLeft(d.approval), edge: s.warn}
	b.lines = slices.Clone(d.view.inSight())
	b.focus = len(b.lines)
	hint := "←→ choose · Enter · Space scrolls · Esc drops the change"
	if !d.read {
		hint = visible.Count(d.view.below(), "more line") + " to read first: Space scrolls down"
	}
	b.lines = append(b.lines, s.either("Drop", "Approve edited", d.approve), s.faint.Styled(hint))
	return b
}

//go:build darwin || windows

package desktop

import (
	"os"
	"os/exec"
)

// programBoard shows notifications with a system program. They have no buttons: the person answers on the page.
type programBoard struct{ shown uint32 }

func openBoard() (board, error) {
	if _, err := exec.LookPath(program[0]); err != nil {
		return nil, err
	}
	return &programBoard{}, nil
}

// show passes the texts in environment variables, where they cannot be taken for code.
func (b *programBoard) show(n notice) (uint32, error) {
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Env = append(os.Environ(), "CALLGATE_TITLE="+n.title, "CALLGATE_TEXT="+n.text)
	b.shown++
	return b.shown, cmd.Run()
}

func (b *programBoard) hide(uint32) error    { return nil } // the system removes it
func (b *programBoard) clicks() <-chan click { return nil }
func (b *programBoard) close() error         { return nil }

package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// guideText is what callgate without arguments prints on a terminal.
const guideText = `callgate asks you before your agents do what your rules leave open.

  callgate connect    put it in front of the agents on this machine (shows every change first)
  callgate demo       try it first: three calls, and you answer one
  callgate open       answer their questions on a page; callgate approve does it in the terminal
  callgate doctor     see whether everything is in order
  callgate status     one line: what waits, who is there

  callgate check shell_exec 'git push --force'    what would happen, and which rule says so
  callgate audit --tail 20                        what happened
  callgate disconnect                             undo connect, byte for byte

callgate --help lists everything.
`

// guide prints a short guide on a terminal, and the help elsewhere.
func guide(cmd *cobra.Command) error {
	out, ok := cmd.OutOrStdout().(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return cmd.Help()
	}
	_, err := fmt.Fprint(out, guideText)
	return err
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/internal/command/approve"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
	"callgate/internal/periodic"
)

func newDemoCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Try the gate without a host: three calls, and you answer one",
		Long: `Demo asks your gate about three calls, as Claude Code would from a new folder: to read a file, to read a file with secrets,
and to push a branch. Your rules decide. Nothing is run, read or pushed. Answer the question with one key here, on the page
(callgate open), or in another terminal (callgate approve).`,
		Example: "  callgate demo",
		Args:    config.ArgsExactly(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return demonstrate(cmd, s) },
	}
}

// demonstrate asks the gate about each call, and prints what the host would be told.
func demonstrate(cmd *cobra.Command, s *config.Settings) error {
	dialect, err := hosthooks.Find("claude")
	if err != nil {
		return err
	}
	dataDir, err := s.DataDir()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "callgate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	out := cmd.OutOrStdout()
	for _, call := range []struct {
		said, tool string
		arguments  map[string]any
	}{
		{"read main.go", "Read", map[string]any{"file_path": filepath.Join(folder, "main.go")}},
		{"cat .env", "Bash", map[string]any{"command": "cat .env"}},
		{"git push origin main", "Bash", map[string]any{"command": "git push origin main"}},
	} {
		fmt.Fprintf(out, "The agent wants: %s\n", call.said)
		ctx, cancel := context.WithCancel(cmd.Context())
		var person sync.WaitGroup
		person.Go(func() { letAnswer(ctx, out, dataDir, folder) })
		event, body := dialect.Ask(call.tool, call.arguments, hosthooks.Showing, folder)
		reply, err := askGate(ctx, s, door.Order{Host: dialect.ID, Event: event}, body)
		cancel()
		person.Wait()
		switch {
		case cmd.Context().Err() != nil:
			return errors.New("the demo was ended; its question is withdrawn")
		case err != nil:
			return err
		case reply.Exit != 0:
			fmt.Fprintf(out, "  refused. %s\n\n", strings.TrimSpace(reply.Stderr))
		default:
			fmt.Fprint(out, "  may run.\n\n")
		}
	}
	_, err = fmt.Fprintf(out, "See what was recorded: %[1]s audit --tail 10. Put your own hosts behind the gate: %[1]s connect\n", config.Program(dataDir))
	return err
}

// letAnswer waits for the call of the host in the folder, and lets the person at this terminal answer it, until ctx
// ends. If nobody answers here, it says where else to answer. It MUST NOT show another call, because a person takes
// everything that the demo shows for a part of it.
func letAnswer(ctx context.Context, out io.Writer, dataDir, folder string) {
	target := companionclient.Target{DataDir: dataDir, Credential: credentials.View}
	own := approve.Approving{Folder: folder}
	for ctx.Err() == nil {
		if list, err := own.Waiting(ctx, target); err == nil && len(list) > 0 {
			if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
				outcome, err := approve.Next(ctx, dataDir, own)
				if ctx.Err() != nil || err == nil && outcome != wire.Ended {
					return
				}
				if err != nil {
					fmt.Fprintf(os.Stderr, "callgate: %v\n", err)
				}
			}
			fmt.Fprintf(out, "  waits for you: %[1]s open, or %[1]s approve in another terminal.\n", config.Program(dataDir))
			return
		}
		periodic.Sleep(ctx, 200*time.Millisecond)
	}
}

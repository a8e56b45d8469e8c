package approve

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/console"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/tui"
)

func approve(ctx context.Context, dataDir string, o Approving) (wire.Outcome, error) {
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	if !o.asJSON && (!term.IsTerminal(in) || !term.IsTerminal(out)) {
		return wire.Ended, errors.New("standard input and output must be a terminal; programs use --json, and ssh needs -t")
	}
	kind := "tui"
	if o.asJSON {
		kind = "custom"
	}
	credential, person, err := As(credentials.Approve, o.as)
	if err != nil {
		return wire.Ended, err
	}
	target := companionclient.Target{
		DataDir: dataDir, Address: o.address, Sessions: o.sessions, Credential: credential,
		Client: wire.ClientInfo{Name: person, Version: app.Version, Kind: kind},
		Slow: func(address string) {
			fmt.Fprintf(os.Stderr, "callgate at %s has not answered yet: waiting. Ctrl-C ends this.\n", address)
		},
	}
	approver, err := companionclient.Dial(ctx, target)
	if err != nil {
		return wire.Ended, err
	}
	defer approver.Close()
	switch {
	case o.asJSON:
		return console.Relay(ctx, approver, os.Stdin, os.Stdout, o.once)
	case o.plain || os.Getenv("TERM") == "dumb":
		return approveLines(ctx, approver, o.once)
	}
	return tui.Run(ctx, tui.Options{
		Client: approver, Ask: target.AskAt, Watches: target.Sessions, Once: o.once, Bell: o.notify,
		NoColor: o.noColor || os.Getenv("NO_COLOR") != "",
	})
}

// approveLines asks line by line.
func approveLines(ctx context.Context, approver *companionclient.Client, once bool) (wire.Outcome, error) {
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	state, err := term.MakeRaw(in)
	if err != nil {
		return wire.Ended, err
	}
	defer func() {
		_ = term.Restore(in, state)        // nothing can be done with a terminal that refuses
		_, _ = os.Stdout.WriteString("\n") // so that the shell's prompt starts on a new line
	}()
	lines := console.NewConsole(os.Stdin, os.Stdout, func() (int, int, error) { return term.GetSize(out) })
	defer lines.Close()
	return console.Watch(ctx, approver, lines, once)
}

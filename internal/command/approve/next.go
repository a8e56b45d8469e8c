package approve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"golang.org/x/term"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/console"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// Next shows the call that has waited longest and takes one key for an answer.
func Next(ctx context.Context, dataDir string, o Approving) (wire.Outcome, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return wire.Ended, errors.New("standard input and output must be a terminal; programs use --json")
	}
	credential, person, err := As(credentials.Approve, o.as)
	if err != nil {
		return wire.Ended, err
	}
	target := companionclient.Target{DataDir: dataDir, Address: o.address, Credential: credential, Client: wire.ClientInfo{Name: person, Version: app.Version, Kind: "tui"}}
	var list struct {
		Approvals []wire.ToolApproveRequest `json:"approvals"`
	}
	if err := target.Ask(ctx, http.MethodGet, "/api/approvals", nil, &list); err != nil {
		return wire.Ended, err
	}
	if len(list.Approvals) == 0 {
		fmt.Fprintln(os.Stdout, "No pending approvals.")
		return wire.Ended, nil
	}
	a := &list.Approvals[0]
	fmt.Fprint(os.Stdout, console.Card(a, len(list.Approvals)))
	key, err := console.ReadKey(ctx, os.Stdin)
	if err != nil {
		return wire.Ended, err
	}
	decision, outcome, done := "", wire.Ended, "left as it is"
	switch key {
	case 'y':
		decision, outcome, done = "approve", wire.Approved, "approved"
	case 'n':
		decision, outcome, done = "reject", wire.Rejected, "denied"
	}
	if decision != "" {
		body := map[string]string{"sessionId": a.SessionID, "argsDigest": a.ArgsDigest, "decision": decision}
		if err := target.Ask(ctx, http.MethodPost, "/api/approvals/"+a.ApprovalID, body, nil); err != nil {
			return wire.Ended, err
		}
	}
	fmt.Fprintln(os.Stdout, done)
	return outcome, nil
}

package approve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/term"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/console"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// Next shows the call that has waited longest, and takes one key as the answer.
func Next(ctx context.Context, dataDir string, o Approving) (wire.Outcome, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return wire.Ended, errors.New("standard input and output must be a terminal; programs use --json")
	}
	credential, person, err := As(credentials.Approve, o.as)
	if err != nil {
		return wire.Ended, err
	}
	target := companionclient.Target{DataDir: dataDir, Address: o.address, Credential: credential, Client: wire.ClientInfo{Name: person, Version: app.Version, Kind: "tui"}}
	list, err := o.Waiting(ctx, target)
	if err != nil {
		return wire.Ended, err
	}
	if len(list) == 0 {
		fmt.Fprintln(os.Stdout, "No pending approvals.")
		return wire.Ended, nil
	}
	a := &list[0]
	fmt.Fprint(os.Stdout, console.Card(a, len(list)))
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

// Waiting returns the calls that wait for a person, read with the credential of target.
func (o *Approving) Waiting(ctx context.Context, target companionclient.Target) ([]wire.ToolApproveRequest, error) {
	var list struct {
		Approvals []wire.ToolApproveRequest `json:"approvals"`
	}
	if err := target.Ask(ctx, http.MethodGet, "/api/approvals", nil, &list); err != nil {
		return nil, err
	}
	return o.within(list.Approvals), nil
}

// within drops the calls of hosts in other folders than o.Folder.
func (o *Approving) within(list []wire.ToolApproveRequest) []wire.ToolApproveRequest {
	return slices.DeleteFunc(list, func(a wire.ToolApproveRequest) bool {
		return o.Folder != "" && filepath.Base(a.Origin.Folder) != filepath.Base(o.Folder)
	})
}

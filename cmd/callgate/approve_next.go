package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"callgate/gate/tools"
	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// restful is how long the keyboard has to rest before a key answers: what was typed into the terminal before the question
// was there answers nothing.
const restful = 400 * time.Millisecond

// approveNext shows the call that has waited longest and takes one key for an answer.
func approveNext(ctx context.Context, dataDir string, o approving) (wire.Outcome, error) {
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return wire.Ended, errors.New("standard input and output must be a terminal; programs use --json")
	}
	credential, person, err := approverAs(credentials.Approve, o.as)
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
	fmt.Fprint(os.Stdout, shownNext(a, len(list.Approvals)))
	key, err := readKey(in)
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

// shownNext is a call as people see it before they answer with one key.
func shownNext(a *wire.ToolApproveRequest, waiting int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s (%s)\n", tools.Visible(a.Tool), a.Risk.Label, tools.Visible(a.Client.Name), tools.Visible(a.Origin.Folder))
	fmt.Fprintf(&b, "%s\n%s\n", tools.Visible(a.Summary), tools.Visible(a.Reason))
	for _, m := range a.Marks {
		fmt.Fprintf(&b, "! %s\n", tools.Visible(m.Text))
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(a.Args, &members) == nil {
		fmt.Fprintf(&b, "%s\n", tools.Visible(string(a.Args)))
	}
	if waiting > 1 {
		fmt.Fprintf(&b, "%d more wait.\n", waiting-1)
	}
	b.WriteString("y approve once · n deny · any other key leaves it ")
	return b.String()
}

// readKey reads one key that is pressed after the keyboard has rested.
func readKey(in int) (byte, error) {
	state, err := term.MakeRaw(in)
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = term.Restore(in, state) // nothing is left to do with a terminal that refuses
		fmt.Fprintln(os.Stdout)
	}()
	began := time.Now()
	for buffer := make([]byte, 256); ; {
		n, err := os.Stdin.Read(buffer)
		if err != nil {
			return 0, err
		}
		if rested := time.Since(began); n == 1 && rested >= restful {
			return buffer[0] | 0x20, nil // in lower case
		}
		began = time.Now()
	}
}

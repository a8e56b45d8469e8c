package console

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"callgate/gate/tools"
	"callgate/internal/companion/wire"
)

// restful is how long the keyboard must rest before a key answers. Keys typed into the terminal before the question
// appeared must not answer it.
const restful = 400 * time.Millisecond

// Card describes a call that a person answers with one key.
func Card(a *wire.ToolApproveRequest, waiting int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s (%s)\n", tools.Visible(a.Tool), a.Risk.Label, tools.Visible(a.Client.Name), tools.Visible(a.Origin.Folder))
	if a.Client.Principal != "" {
		fmt.Fprintf(&b, "signed in as %s\n", tools.Visible(a.Client.Principal))
	}
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
	b.WriteString("y approve once · n deny · any other key skips ")
	return b.String()
}

// ReadKey returns the first single key pressed after the keyboard has rested, with its lower-case bit set. If ctx ends
// first, it stops reading and returns the error of ctx.
func ReadKey(ctx context.Context, in *os.File) (byte, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = term.Restore(int(in.Fd()), state) // nothing else can be done if the terminal refuses
		fmt.Fprintln(os.Stdout)
	}()
	return readKey(ctx, in)
}

func readKey(ctx context.Context, in *os.File) (byte, error) {
	keys, err := cancelreader.NewReader(in)
	if err != nil {
		return 0, err
	}
	defer keys.Close()
	stop := context.AfterFunc(ctx, func() { keys.Cancel() })
	defer stop()
	began := time.Now()
	for buffer := make([]byte, 256); ; {
		n, err := keys.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, err
		}
		if rested := time.Since(began); n == 1 && rested >= restful {
			return buffer[0] | 0x20, nil // lower case
		}
		began = time.Now()
	}
}

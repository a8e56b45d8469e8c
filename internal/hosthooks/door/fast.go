package door

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

// Read is the host's message, and HasRead is set, if init read it but could not deliver it.
var (
	Read    []byte
	HasRead bool
)

// init answers hooks before the other packages of the program initialize, because their tables take longer than the
// answer. It only handles command lines as "callgate connect" writes them, which name the data directory. It leaves all
// others to the subcommand, and also requests that failed (see Broken).
func init() {
	o, ok := parse(os.Args[1:])
	if !ok {
		return
	}
	body, err := io.ReadAll(io.LimitReader(os.Stdin, MaxBody+1))
	if err != nil {
		return
	}
	Read, HasRead = body, true
	if len(body) > MaxBody {
		return
	}
	o.Env = Environment()
	r, err := Ask(context.Background(), o, body)
	switch {
	case errors.Is(err, ErrNobody):
		return
	case err != nil:
		Broken = err
		return
	}
	r.Print(os.Stdout, os.Stderr)
	os.Exit(r.Exit)
}

// Broken is why a request got no reply after it was sent. The request MUST NOT be sent again.
var Broken error

// parse parses "hook HOST [EVENT] --data-dir=FOLDER [--config=FILE] [--worker=NAME]".
func parse(args []string) (o Order, ok bool) {
	if len(args) < 3 || args[0] != "hook" {
		return o, false
	}
	o.Worker = "default"
	var words []string
	for _, a := range args[1:] {
		switch name, value, given := strings.Cut(a, "="); {
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		case !given:
			return o, false
		case name == "--data-dir":
			o.DataDir = value
		case name == "--config":
			o.Config = value
		case name == "--worker":
			o.Worker = value
		default:
			return o, false
		}
	}
	if len(words) == 0 || len(words) > 2 || o.DataDir == "" || words[0] == "serve" {
		return o, false
	}
	if o.Host = words[0]; len(words) == 2 {
		o.Event = words[1]
	}
	return o, true
}

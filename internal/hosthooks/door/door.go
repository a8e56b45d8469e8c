// Package door carries a host's hook event to the judging process, and the reply back.
//
// It imports little, because the host waits for it at every call. Both sides first prove that they hold the hook
// credential. A program that only knows the socket's path cannot ask, and a program that took over the path cannot
// answer.
package door

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Order holds the command line of a hook.
type Order struct {
	Host    string
	Event   string // "" if the host's message names it
	DataDir string
	Config  string
	Worker  string
	Env     map[string]string // the host's variables
}

// Request is a hook's question.
type Request struct {
	Host  string            `json:"host"`
	Event string            `json:"event,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	Body  []byte            `json:"body"`
}

// Reply is the output and the exit code of the hook.
type Reply struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Exit   int    `json:"exit"`
}

// Print writes the output of the hook. Text for people ends with a line break.
func (r Reply) Print(stdout, stderr io.Writer) {
	_, _ = io.WriteString(stdout, r.Stdout) // the exit code counts
	if r.Stderr != "" {
		_, _ = io.WriteString(stderr, strings.TrimSuffix(r.Stderr, "\n")+"\n")
	}
}

// MaxBody bounds a host's message, in bytes.
const MaxBody = 32 << 20

// Patience is how long a hook waits for its reply. It MUST be shorter than every host's timeout, because hosts run a
// call if its hook says nothing, and longer than the judging process takes.
const Patience = 595 * time.Second

// ErrNobody is returned if no process listens at the socket.
var ErrNobody = errors.New("no callgate process judges hooks here")

// Socket returns the socket of the process that judges for a data directory, a worker and a configuration.
func Socket(dataDir, worker, config string) string {
	sum := sha256.Sum256([]byte(worker + "\x00" + config))
	return filepath.Join(dataDir, "hub", "hook-"+hex.EncodeToString(sum[:4])+".sock")
}

// Ask sends one request to the judging process. ErrNobody means that there is none. After any other error the call MUST
// NOT run. If ctx ends, the host no longer waits.
func Ask(ctx context.Context, o Order, body []byte) (r Reply, err error) {
	token, err := os.ReadFile(filepath.Join(o.DataDir, "credentials", "hook"))
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	conn, err := net.Dial("unix", Socket(o.DataDir, o.Worker, o.Config))
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return r, err
	}
	in := bufio.NewReader(conn)
	own := Nonce()
	var theirs Hello
	if _, err := io.WriteString(conn, own+"\n"); err != nil {
		return r, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	line, err := in.ReadBytes('\n')
	if err != nil { // it is ending: another process takes over
		return r, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	if err := json.Unmarshal(line, &theirs); err != nil {
		return r, fmt.Errorf("the program that listens for hooks is not callgate: %w", err)
	}
	if !hmac.Equal([]byte(theirs.Proof), []byte(Vouch(token, "gate", theirs.Nonce, own))) {
		return r, errors.New("the program that listens for hooks does not have callgate's credential")
	}
	request, err := json.Marshal(Request{Host: o.Host, Event: o.Event, Env: o.Env, Body: body})
	if err != nil {
		return r, err
	}
	if err := conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		return r, err
	}
	if _, err := conn.Write(append(append([]byte(Vouch(token, "hook", own, theirs.Nonce)+"\n"), request...), '\n')); err != nil {
		return r, err
	}
	if err := json.NewDecoder(in).Decode(&r); ctx.Err() != nil {
		return Reply{}, errors.New("the hook was ended before callgate answered")
	} else if err != nil {
		return r, fmt.Errorf("callgate ended before it answered: %w", err)
	}
	return r, nil
}

// Hello is the judging side's first message.
type Hello struct {
	Nonce string `json:"nonce"`
	Proof string `json:"proof"`
}

// Nonce returns a new random word.
func Nonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Vouch returns a proof for role and the two nonces that only a holder of the credential can make.
func Vouch(token []byte, role, own, theirs string) string {
	mac := hmac.New(sha256.New, token)
	mac.Write([]byte("callgate hook " + role + " v1\x00" + own + "\x00" + theirs))
	return hex.EncodeToString(mac.Sum(nil))
}

// Environment returns the host's variables for its folder and version. It leaves out credentials.
func Environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasSuffix(name, "_PROJECT_DIR") || strings.HasSuffix(name, "_VERSION") || name == "TERM_PROGRAM" {
			env[name] = value
		}
	}
	return env
}

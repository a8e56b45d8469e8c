package supply

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/guard"
	"callgate/internal/spawn"
	"callgate/internal/upstream"
	"callgate/internal/upstream/environment"
)

// Server is a configured server as it would be started.
type Server struct {
	Name      string
	From      string   // see Entry.From
	Words     []string // command and arguments as configured: variables by name
	URL       string   // as configured
	Variables []string

	Command string // expanded, like all fields below
	Args    []string
	Dir     string
	Env     []string // its process's whole environment
	Home    string
}

// Examiner examines servers. The zero value is ready to use.
type Examiner struct {
	Wall *guard.Wall // the wall around package managers; nil means none
}

// maxReply bounds a package manager's output, in bytes.
const maxReply = 32 << 20

// Examine returns what the server would run now. It reads packages where they are installed. If they are not, or if the
// command leaves the version open, it asks the registry through the package manager. It runs no package's code.
func (x *Examiner) Examine(ctx context.Context, s *Server) (*Entry, error) {
	return x.examine(ctx, s, time.Time{})
}

// examine ignores, unless before is zero, what was published after it, and then does not look at this machine.
func (x *Examiner) examine(ctx context.Context, s *Server, before time.Time) (*Entry, error) {
	e := &Entry{Name: s.Name, From: s.From, Command: s.Words, URL: s.URL, Variables: slices.Clone(s.Variables), Packages: map[string]Package{}}
	slices.Sort(e.Variables)
	if s.URL != "" {
		return e, nil
	}
	program, err := environment.LookPath(s.Command, s.Dir, s.Env)
	if err != nil {
		return nil, err
	}
	runner, specs := upstream.Specs(s.Command, s.Args)
	switch {
	case slices.Contains(npmRunners, runner) && len(specs) > 0:
		return e, x.npm(ctx, s, e, program, specs[0], before)
	case slices.Contains([]string{"uvx", "uv"}, runner) && len(specs) > 0:
		return e, x.python(ctx, s, e, program, specs[0], before)
	}
	if e.Files, err = files(s, program); err != nil {
		return nil, err
	}
	for path := range e.Files {
		if err := installed(ctx, path, "", e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// run runs a package manager to its end.
func (x *Examiner) run(ctx context.Context, s *Server, program, dir string, stdin string, args ...string) ([]byte, error) {
	path, err := environment.LookPath(program, dir, s.Env)
	if err != nil {
		return nil, err
	}
	r, err := spawn.Run(ctx, spawn.Command{Path: path, Args: args, Env: s.Env, Dir: dir, Stdin: []byte(stdin), Output: maxReply, Wall: x.Wall, Logger: slog.New(slog.DiscardHandler)})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	case r.Cut:
		return nil, fmt.Errorf("%s printed more than %d MiB", filepath.Base(path), maxReply>>20)
	case r.Code != 0:
		return nil, fmt.Errorf("%s %s: %s", filepath.Base(path), args[0], lastWords(r.Stderr))
	}
	return r.Stdout, nil
}

// lastWords returns the end of a program's error output.
func lastWords(stderr []byte) string {
	text := strings.TrimSpace(string(stderr))
	if len(text) > 600 {
		text = "…" + strings.ToValidUTF8(text[len(text)-600:], "")
	}
	return strings.Join(strings.Fields(text), " ")
}

// siblingProgram returns the path of the named program in the same folder as program, or name if it is not there.
func siblingProgram(program, name string) string {
	path := filepath.Join(filepath.Dir(program), name)
	if found, err := environment.LookPath(path, "", nil); err == nil {
		return found
	}
	return name
}

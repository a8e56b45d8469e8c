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
	From      string   // see Entry
	Words     []string // command and arguments as they are configured: variables by name
	URL       string   // as it is configured
	Variables []string

	Command string // expanded, as is all below
	Args    []string
	Dir     string
	Env     []string // of its process, whole
	Home    string
}

// Examiner looks at servers. Its zero value is ready.
type Examiner struct {
	Wall *guard.Wall // that package managers run behind; nil is none
}

// maxReply is how many bytes of a package manager's output are read.
const maxReply = 32 << 20

// Examine says what the server would run now. Packages are looked at where they are installed; where they are not, or
// where the command leaves the version open, the registry is asked through the package manager. It runs no code of a
// package.
func (x *Examiner) Examine(ctx context.Context, s *Server) (*Entry, error) {
	return x.examine(ctx, s, time.Time{})
}

// examine leaves out what was published after before, unless that is zero, and does not look at this machine then.
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

// lastWords is the end of what a program complained about.
func lastWords(stderr []byte) string {
	text := strings.TrimSpace(string(stderr))
	if len(text) > 600 {
		text = "…" + strings.ToValidUTF8(text[len(text)-600:], "")
	}
	return strings.Join(strings.Fields(text), " ")
}

// beside is a program of the folder that another is in, or that name to be looked up.
func beside(program, name string) string {
	path := filepath.Join(filepath.Dir(program), name)
	if found, err := environment.LookPath(path, "", nil); err == nil {
		return found
	}
	return name
}

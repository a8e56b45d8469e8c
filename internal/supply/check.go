package supply

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"callgate/internal/lazyregexp"
	"callgate/internal/periodic"
	"callgate/internal/upstream"
)

// shownChanges is how many changes an error lists.
const shownChanges = 12

// Check compares the server with the lock at path. An error says why the server MUST NOT start. Without a lock, every
// server may start. The server runs what was checked: how pins an open version to the locked one, and excludes packages
// that were published since.
func (x *Examiner) Check(ctx context.Context, path string, s *Server) (how upstream.Launch, err error) {
	lock, err := Load(path)
	if err != nil || lock == nil {
		return how, err
	}
	locked := lock.Of(s.Name, s.From)
	if locked == nil {
		return how, fmt.Errorf("it is not in %s: look at it, and add it with \"callgate servers lock %s\"", path, s.Name)
	}
	began := time.Now()
	pinned := *s
	if how.Args = pin(s, locked); how.Args != nil {
		pinned.Args = how.Args
	}
	now, err := x.Examine(ctx, &pinned)
	if err != nil {
		return how, fmt.Errorf("cannot compare what it would run with %s: %w", path, err)
	}
	changes := Compare(locked, now)
	if len(changes) == 0 {
		if now.Version != "" && now.Packages[now.Package+"@"+now.Version].Content == "" { // not installed yet
			before := began.UTC().Format(time.RFC3339)
			how.Env = []string{"npm_config_before=" + before, "UV_EXCLUDE_NEWER=" + before}
		}
		return how, nil
	}
	x.Explain(ctx, s, changes, time.Now())
	var b strings.Builder
	for i, c := range changes {
		if i == shownChanges {
			fmt.Fprintf(&b, "; and %d more", len(changes)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.String())
	}
	return how, fmt.Errorf("it differs from %s: %s. See \"callgate servers verify %s\"; accept it with \"callgate servers update %s\"", path, b.String(), s.Name, s.Name)
}

// openSpec matches a package spec that leaves the version to the registry: a name, perhaps with a tag or a range.
var openSpec = lazyregexp.New(`^((?:@[a-z0-9._~-]+/)?[A-Za-z0-9._~-]+)(?:@[^@:/]*)?$`)

// pin returns the arguments with an open version replaced by the locked one; nil if there is nothing to pin.
func pin(s *Server, locked *Entry) []string {
	runner, specs := upstream.Specs(s.Command, s.Args)
	if len(specs) == 0 || locked.Version == "" || !slices.Contains([]string{"npx", "bunx", "pnpx", "uvx"}, runner) {
		return nil
	}
	name := openSpec.FindStringSubmatch(specs[0])
	if name == nil || name[1] != locked.Package || exactVersion.MatchString(specs[0]) {
		return nil
	}
	args, found := slices.Clone(s.Args), 0
	for i, arg := range args {
		option, value, joined := strings.Cut(arg, "=")
		if !joined || !strings.HasPrefix(option, "-") {
			option, value = "", arg
		}
		if value != specs[0] {
			continue
		}
		if args[i] = name[1] + "@" + locked.Version; option != "" {
			args[i] = option + "=" + args[i]
		}
		if found++; found > 1 {
			return nil // it is unclear which of them is the package
		}
	}
	if found == 0 {
		return nil
	}
	return args
}

// looks is the interval at which Changed checks the file.
const looks = time.Second

// Changed returns nil once the file at path is not the same as at the call, or an error if ctx ends first.
func Changed(ctx context.Context, path string) error {
	was, _ := os.Stat(path) // a missing file is a state too
	for range periodic.Every(ctx, looks) {
		is, _ := os.Stat(path)
		if (was == nil) != (is == nil) || was != nil && (!os.SameFile(was, is) || was.Size() != is.Size() || !was.ModTime().Equal(is.ModTime())) {
			return nil
		}
	}
	return ctx.Err()
}

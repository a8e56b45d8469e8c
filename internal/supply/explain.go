package supply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/upstream"
	"callgate/internal/upstream/environment"
)

// DefaultCooldown is the minimum age of a version: most hostile ones are found and withdrawn sooner.
const DefaultCooldown = 24 * time.Hour

// explained bounds how many changes the registry is asked about.
const explained = 10

// Explain adds to changes of npm packages what the registry knows: when the version was published, and whether by
// somebody new. It adds nothing that the registry does not tell.
func (x *Examiner) Explain(ctx context.Context, s *Server, changes []Change, now time.Time) {
	runner, _ := upstream.Specs(s.Command, s.Args)
	program, err := environment.LookPath(s.Command, s.Dir, s.Env)
	if err != nil || !slices.Contains(npmRunners, runner) {
		return
	}
	npm := siblingProgram(program, "npm")
	asked := 0
	for i := range changes {
		c := &changes[i]
		if c.Package == "" || asked == explained {
			continue
		}
		asked++
		is, ok := x.published(ctx, s, npm, c.Package, c.Is)
		if !ok {
			continue
		}
		if age := now.Sub(is.at); !is.at.IsZero() && age < 30*24*time.Hour {
			c.Notes = append(c.Notes, "published "+ago(age))
		}
		if c.Was == "" {
			continue
		}
		was, ok := x.published(ctx, s, npm, c.Package, c.Was)
		if !ok {
			continue
		}
		if is.by != "" && was.by != "" && is.by != was.by && !slices.Contains(was.maintainers, is.by) {
			c.Notes = append(c.Notes, fmt.Sprintf("published by %s, who was not a maintainer of %s", is.by, c.Was))
		}
		for _, m := range is.maintainers {
			if len(was.maintainers) > 0 && !slices.Contains(was.maintainers, m) {
				c.Notes = append(c.Notes, "new maintainer "+m)
			}
		}
	}
}

func ago(age time.Duration) string {
	switch {
	case age < time.Hour:
		return fmt.Sprintf("%d minutes ago", max(0, int(age/time.Minute)))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d hours ago", int(age/time.Hour))
	}
	return fmt.Sprintf("%d days ago", int(age/(24*time.Hour)))
}

// publication is what a registry says about one version.
type publication struct {
	at          time.Time
	by          string
	maintainers []string
}

func (x *Examiner) published(ctx context.Context, s *Server, npm, name, version string) (p publication, ok bool) {
	out, err := x.run(ctx, s, npm, s.Dir, "", "view", "--json", "--loglevel=error", "--", name+"@"+version)
	if err != nil {
		return p, false
	}
	var told struct {
		Time        map[string]string `json:"time"`
		Publisher   json.RawMessage   `json:"_npmUser"`
		Maintainers []json.RawMessage `json:"maintainers"`
	}
	if json.Unmarshal(out, &told) != nil {
		return p, false
	}
	p.at, _ = time.Parse(time.RFC3339, told.Time[version]) // a registry may leave it out
	p.by = personName(told.Publisher)
	for _, m := range told.Maintainers {
		if name := personName(m); name != "" {
			p.maintainers = append(p.maintainers, name)
		}
	}
	return p, true
}

// personName returns a person's name from npm's forms: {"name": …} or "name <address>".
func personName(raw json.RawMessage) string {
	var object struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Name
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	name, _, _ := strings.Cut(text, " <")
	return name
}

// Young lists the packages of now that the lock does not contain and that were published less than cooldown ago. It
// asks the registry what it would have installed then. With cooldown 0 it lists none.
func (x *Examiner) Young(ctx context.Context, s *Server, locked, now *Entry, cooldown time.Duration) ([]string, error) {
	if cooldown <= 0 || now.Version == "" {
		return nil, nil
	}
	var fresh []string
	for _, c := range comparePackages(locked, now) {
		if c.Package != "" {
			fresh = append(fresh, c.Package+"@"+c.Is)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	then, err := x.examine(ctx, s, time.Now().Add(-cooldown))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return []string{now.Package + "@" + now.Version}, nil // there was no such version yet
	}
	return slices.DeleteFunc(fresh, func(key string) bool {
		_, old := then.Packages[key]
		return old
	}), nil
}

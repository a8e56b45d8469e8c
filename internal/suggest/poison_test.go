package suggest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rulebook"
	"callgate/internal/suggest"
	"callgate/permissions"
)

func reading(dir, path string) rulebook.Request {
	return rulebook.Request{Tool: tools.KindReadFile, Arguments: append(append([]byte(`{"path":`), jsonx.Quote(path)...), '}'), Cwd: dir}
}

// suggested returns the policy with all proposals, and the report.
func (w *workplace) suggested() (*permissions.Policy, *suggest.Report) {
	w.t.Helper()
	r := w.suggest(suggest.Options{})
	policy, err := w.Policy()
	if err != nil {
		w.t.Fatal(err)
	}
	after, err := policy.With(nil, r.Grants("test", time.Now()))
	if err != nil {
		w.t.Fatal(err)
	}
	return after, r
}

func (w *workplace) write(path string) string {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// TestTheTrailCannotBePoisoned checks that an agent cannot influence proposals by making many calls: a person who
// approved a call looked at it, and at what it touched then.
func TestTheTrailCannotBePoisoned(t *testing.T) {
	t.Run("released with another call", func(t *testing.T) {
		w := newWorkplace(t)
		dir := w.project("app")
		for i := range 20 {
			w.answered(dir, made{fmt.Sprintf("git push origin b%d", i), "yes"}, func(r *audit.Record) { r.By = "cascade:web:alice" })
		}
		if _, r := w.suggested(); len(r.Proposals) > 0 || r.Questions > 0 {
			t.Errorf("proposed %s of %d questions", patterns(r), r.Questions)
		}
	})
	t.Run("another server's tool", func(t *testing.T) {
		w := newWorkplace(t)
		dir := w.project("app")
		for i := range 20 {
			w.answered(dir, made{fmt.Sprintf("git push origin b%d", i), "yes"}, func(r *audit.Record) { r.Server = "another" })
		}
		if _, r := w.suggested(); len(r.Proposals) > 0 {
			t.Errorf("proposed %s", patterns(r))
		}
	})
	t.Run("links that took the files' place", func(t *testing.T) {
		w := newWorkplace(t)
		dir := w.project("app")
		private := w.write(filepath.Join(w.Home, "private", "diary.txt"))
		var paths []string
		for i := range 6 {
			path := w.write(filepath.Join(w.Home, "notes", fmt.Sprintf("n%d.txt", i)))
			paths = append(paths, path)
			for range 4 {
				w.recorded(reading(dir, path), "yes", nil)
				w.answered(dir, made{"cat " + path, "yes"}, nil)
			}
		}
		if _, r := w.suggested(); len(r.Proposals) == 0 {
			t.Fatalf("nothing to poison: %v", r.Left)
		}
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(private, path); err != nil {
				t.Skip(err) // needs privileges on Windows
			}
		}
		after, r := w.suggested()
		for _, request := range []rulebook.Request{reading(dir, private), reading(dir, paths[0]), request(dir, "cat "+private), request(dir, "cat "+paths[0])} {
			_, v, err := w.Judged(request, after)
			if err != nil {
				t.Fatal(err)
			}
			if v.Action == permissions.Allow {
				t.Errorf("%s runs by %s: proposed %s", request.Arguments, v.Rule, patterns(r))
			}
		}
	})
	t.Run("other spellings of what was rejected", func(t *testing.T) {
		w := newWorkplace(t)
		dir := w.project("app")
		notes := filepath.Join(w.Home, "notes")
		refused := w.write(filepath.Join(notes, "plan.txt"))
		for i := range 8 {
			path := w.write(filepath.Join(notes, fmt.Sprintf("n%d.txt", i)))
			for _, spelled := range []string{path, filepath.Dir(path) + "/./" + filepath.Base(path), "../../notes/" + filepath.Base(path)} {
				w.recorded(reading(dir, spelled), "yes", nil)
				w.answered(dir, made{"cat " + spelled, "yes"}, nil)
			}
		}
		w.recorded(reading(dir, refused), "no", nil)
		w.answered(dir, made{"cat " + refused, "no"}, nil)
		link := filepath.Join(notes, "n9.txt")
		if err := os.Symlink(refused, link); err != nil {
			t.Skip(err)
		}
		after, r := w.suggested()
		for _, spelled := range []string{refused, notes + "/./plan.txt", "../../notes/plan.txt", notes + "/x/../plan.txt", link, strings.Replace(refused, "plan", "pl''an", 1)} {
			for _, request := range []rulebook.Request{reading(dir, spelled), request(dir, "cat "+spelled)} {
				_, v, err := w.Judged(request, after)
				if err != nil {
					t.Fatal(err)
				}
				if v.Action == permissions.Allow {
					t.Errorf("%s runs by %s: proposed %s", request.Arguments, v.Rule, patterns(r))
				}
			}
		}
	})
}

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/durable"
	"callgate/internal/testserver/unraced"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// writerEnv, if set, makes the test binary a process that writes grants: "path prefix count". Count 0 means until it is
// killed. The process ends with its standard input, and so with the test.
const writerEnv = "PERMISSIONS_TEST_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerEnv); job != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(2)
		}()
		if err := writeGrants(strings.Split(job, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(unraced.Main(m))
}

func writeGrants(job []string) error {
	count, err := strconv.Atoi(job[2])
	if err != nil {
		return err
	}
	s := Open(job[0], Options{})
	if _, err := s.Policy(); err != nil {
		return err
	}
	for i := 0; count == 0 || i < count; i++ {
		if err := s.AddGrants([]permissions.Grant{grantFor(fmt.Sprintf("%s-%d", job[1], i))}); err != nil {
			return err
		}
	}
	return nil
}

func writer(t *testing.T, path, prefix string, count int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+strings.Join([]string{path, prefix, strconv.Itoa(count)}, "\n"))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func grantFor(pattern string) permissions.Grant {
	return permissions.Grant{Tool: "shell_exec", Pattern: pattern, Risk: permissions.Network, By: "web:alice"}
}

func newStore(t *testing.T) *Store {
	return Open(filepath.Join(t.TempDir(), "workers", "default", "permissions.jsonc"), Options{Home: "/home/u"})
}

func storeWith(t *testing.T, text string) *Store {
	s := newStore(t)
	if err := os.MkdirAll(filepath.Dir(s.Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, s, text)
	return s
}

func write(t *testing.T, s *Store, text string) {
	t.Helper()
	if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, s *Store) string {
	t.Helper()
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func policy(t *testing.T, s *Store) *permissions.Policy {
	t.Helper()
	p, err := s.Policy()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// age makes the file look as if it was last written an hour ago.
func age(t *testing.T, s *Store) {
	t.Helper()
	if err := os.Chtimes(s.Path(), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
}

func patterns(p *permissions.Policy) (list []string) {
	for _, g := range p.Grants {
		list = append(list, g.Pattern)
	}
	return list
}

func TestFirstUseSeedsTheDefaults(t *testing.T) {
	s := newStore(t)
	p := policy(t, s)
	if text(t, s) != string(defaults) || len(p.File) == 0 {
		t.Errorf("the new file is not the defaults, or its %d rules are not in force", len(p.File))
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(s.Path()), ".*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left over: %q, %v", left, err)
	}
}

func TestAddGrantsOnFirstUseSeedsToo(t *testing.T) {
	s := newStore(t)
	if err := s.AddGrants([]permissions.Grant{grantFor("ls *")}); err != nil {
		t.Fatal(err)
	}
	if got := text(t, s); !strings.HasPrefix(got, string(defaults[:200])) || !strings.Contains(got, `"ls *"`) {
		t.Errorf("the file is not the defaults with a grant:\n%s", got)
	}
}

func TestProcessesThatSeedAtOnceAgree(t *testing.T) {
	s := newStore(t)
	var all []*exec.Cmd
	for i := range 6 {
		all = append(all, writer(t, s.Path(), "p"+strconv.Itoa(i), 1))
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	p := policy(t, s)
	if len(p.Grants) != 6 || len(p.File) == 0 {
		t.Errorf("the file holds %d rules and the grants %q", len(p.File), patterns(p))
	}
}

func TestTheNextCallSeesAnEdit(t *testing.T) {
	s := storeWith(t, `{"shell_exec": "allow"}`)
	ls := permissions.Subject{Tool: "commands_run", Kind: "shell_exec", KindBound: true, Value: "ls", Decides: permissions.Form{"ls"}, Risk: permissions.Network}
	if got := permissions.Evaluate(policy(t, s), permissions.Context{}, &ls).Action; got != permissions.Allow {
		t.Fatalf("before the edit: %v", got)
	}
	info, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	// The same size and mtime, as after two writes within one tick of a coarse clock.
	write(t, s, `{"shell_exec": "deny" }`)
	if err := os.Chtimes(s.Path(), time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := permissions.Evaluate(policy(t, s), permissions.Context{}, &ls).Action; got != permissions.Deny {
		t.Errorf("after an edit in the same tick: %v", got)
	}

	age(t, s)
	policy(t, s)
	write(t, s, `{"shell_exec": "ask"}`)
	if got := permissions.Evaluate(policy(t, s), permissions.Context{}, &ls).Action; got != permissions.Ask {
		t.Errorf("after an edit an hour later: %v", got)
	}

	// Another file of the same size and mtime replaces it.
	age(t, s)
	policy(t, s)
	if info, err = os.Stat(s.Path()); err != nil {
		t.Fatal(err)
	}
	other := s.Path() + ".new"
	if err := os.WriteFile(other, []byte(`{"shell_exec":"deny"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, s.Path()); err != nil {
		t.Fatal(err)
	}
	if got := permissions.Evaluate(policy(t, s), permissions.Context{}, &ls).Action; got != permissions.Deny {
		t.Errorf("after another file took its place: %v", got)
	}
}

func TestAnEditThatKeepsSizeAndTimeIsSeen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file keeps no other time there")
	}
	s := storeWith(t, `{"shell_exec": "allow"}`)
	age(t, s)
	policy(t, s)
	ls := permissions.Subject{Tool: "commands_run", Kind: "shell_exec", KindBound: true, Value: "ls", Decides: permissions.Form{"ls"}, Risk: permissions.Network}
	waits.Until(t, "the deny holds", func() bool { // once the clock of the file system has advanced
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		write(t, s, `{"shell_exec": "deny" }`)
		if err := os.Chtimes(s.Path(), time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		return permissions.Evaluate(policy(t, s), permissions.Context{}, &ls).Action == permissions.Deny
	})
}

func TestAnUnchangedFileIsTheSamePolicy(t *testing.T) {
	s := storeWith(t, `{"shell_exec": "allow"}`)
	first := policy(t, s)
	if policy(t, s) != first {
		t.Error("a young file that says the same gives another policy")
	}
	age(t, s)
	if again := policy(t, s); again != first || policy(t, s) != again {
		t.Error("a touched file that says the same gives another policy")
	}
}

func TestABrokenFileDenies(t *testing.T) {
	broken := map[string]func(t *testing.T, s *Store){
		"does not parse": func(t *testing.T, s *Store) { write(t, s, "{\n \"a\": \"alow\"}") },
		"is cut off":     func(t *testing.T, s *Store) { write(t, s, `{"shell_exec": "allow"`) },
		"is empty":       func(t *testing.T, s *Store) { write(t, s, "") },
		"is gone": func(t *testing.T, s *Store) {
			if err := os.Remove(s.Path()); err != nil {
				t.Fatal(err)
			}
		},
		"is a folder": func(t *testing.T, s *Store) {
			if err := errors.Join(os.Remove(s.Path()), os.Mkdir(s.Path(), 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"is too large": func(t *testing.T, s *Store) { write(t, s, strings.Repeat(" ", 2*permissions.MaxFile)+"{}") },
	}
	for name, spoil := range broken {
		t.Run(name, func(t *testing.T) {
			s := storeWith(t, `{"shell_exec": "allow"}`)
			before := policy(t, s)
			spoil(t, s)
			for range 2 {
				if p, err := s.Policy(); p != nil || err == nil || !strings.Contains(err.Error(), "permissions.jsonc") {
					t.Fatalf("got %v, %v; want no policy and an error that names the file", p, err)
				}
			}
			if err := s.AddGrants([]permissions.Grant{grantFor("x")}); err == nil {
				t.Error("a grant is written to it")
			}
			if err := os.RemoveAll(s.Path()); err != nil {
				t.Fatal(err)
			}
			write(t, s, `{"shell_exec": "allow"}`)
			if p := policy(t, s); len(p.File) != 1 || p == before {
				t.Errorf("once it is whole again its rules are %v", p.File)
			}
		})
	}
}

// TestARefusedFileThatVanishesIsNotReplaced checks that no defaults replace a file that disappears, even if it was
// refused from the start.
func TestARefusedFileThatVanishesIsNotReplaced(t *testing.T) {
	s := newStore(t)
	if err := os.MkdirAll(s.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Policy(); err == nil {
		t.Fatal("a folder is read as a file")
	}
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Policy(); p != nil || err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("got %v, %v", p, err)
	}
	if err := s.AddGrants([]permissions.Grant{grantFor("x")}); err == nil {
		t.Error("a grant brings a new file")
	}
}

func TestABrokenFileCostsOneStat(t *testing.T) {
	s := storeWith(t, `{"a": "alow"}`)
	age(t, s)
	_, first := s.Policy()
	_, second := s.Policy()
	if first == nil || first != second {
		t.Errorf("the file was read again: %v, %v", first, second)
	}
}

// grantEdits are texts before and after a grant for "new" is added, and after one for "old" is then removed.
var grantEdits = []struct{ name, before, added, removed string }{
	{
		"no $always", `{"a": "ask"}`,
		"{\"a\": \"ask\",\n  \"$always\": [\n    NEW\n  ]\n}",
		"{\"a\": \"ask\",\n  \"$always\": [\n    NEW\n  ]\n}",
	},
	{
		"no members", "{} // end\n",
		"{\n  \"$always\": [\n    NEW\n  ]\n} // end\n",
		"{\n  \"$always\": [\n    NEW\n  ]\n} // end\n",
	},
	{
		"no $always, trailing comma and comment", "{\n  // rest\n  \"a\": \"ask\", // asks\n  // bye\n}\n",
		"{\n  // rest\n  \"a\": \"ask\", // asks\n  // bye\n  \"$always\": [\n    NEW\n  ],\n}\n",
		"{\n  // rest\n  \"a\": \"ask\", // asks\n  // bye\n  \"$always\": [\n    NEW\n  ],\n}\n",
	},
	{
		"an empty $always in the middle", "{\n  \"$always\": [], // grants\n  \"a\": \"ask\"\n}\n",
		"{\n  \"$always\": [\n    NEW\n  ], // grants\n  \"a\": \"ask\"\n}\n",
		"{\n  \"$always\": [\n    NEW\n  ], // grants\n  \"a\": \"ask\"\n}\n",
	},
	{
		"a comment in an empty $always", "{\"$always\": [ // none\n]}",
		"{\"$always\": [ // none\n    NEW\n  ]}",
		"{\"$always\": [ // none\n    NEW\n  ]}",
	},
	{
		"a grant before", "{\"$always\": [\n    OLD\n  ]}",
		"{\"$always\": [\n    OLD,\n    NEW\n  ]}",
		"{\"$always\": [\n    NEW\n  ]}",
	},
	{
		"a grant before with trailing comma and comments", "{\"$always\": [\n    // mine\n    OLD, // pushes\n    // more\n  ]}",
		"{\"$always\": [\n    // mine\n    OLD, // pushes\n    // more\n    NEW,\n  ]}",
		"{\"$always\": [\n    // mine\n     // pushes\n    // more\n    NEW,\n  ]}",
	},
	{
		"a comment without a trailing comma", "{\"$always\": [\n    OLD // pushes\n  ]}",
		"{\"$always\": [\n    OLD, // pushes\n    NEW\n  ]}",
		"{\"$always\": [ // pushes\n    NEW\n  ]}",
	},
}

const (
	oldGrant = `{"tool": "t", "pattern": "old", "risk": "WRITE"}`
	newGrant = `{"tool": "t", "pattern": "new", "risk": "WRITE", "by": "web:<alice>"}`
)

func TestGrantsAreEditedInPlace(t *testing.T) {
	fill := func(text string) string {
		text = strings.NewReplacer("OLD", oldGrant, "NEW", newGrant).Replace(text)
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	for _, c := range grantEdits {
		t.Run(c.name, func(t *testing.T) {
			s := storeWith(t, fill(c.before))
			added := permissions.Grant{Tool: "t", Pattern: "new", Risk: permissions.Write, By: "web:<alice>"}
			if err := s.AddGrants([]permissions.Grant{added}); err != nil {
				t.Fatal(err)
			}
			if got := text(t, s); got != fill(c.added) {
				t.Errorf("after adding:\n%s\nwant:\n%s", got, fill(c.added))
			}
			if got := patterns(policy(t, s)); !slices.Contains(got, "new") {
				t.Errorf("the policy grants %q", got)
			}
			n, err := s.RemoveGrants(func(g permissions.Grant) bool { return g.Pattern == "old" })
			if err != nil || n != strings.Count(c.before, "OLD") {
				t.Errorf("removed %d, %v", n, err)
			}
			if got := text(t, s); got != fill(c.removed) {
				t.Errorf("after removing:\n%s\nwant:\n%s", got, fill(c.removed))
			}
		})
	}
}

func TestRemovingTheLastGrants(t *testing.T) {
	cases := []struct{ name, before, after string }{
		{"the only one", "{\"$always\": [\n    OLD\n  ]}", `{"$always": []}`},
		{"the only one, with a comment", "{\"$always\": [\n    OLD, // x\n  ]}", "{\"$always\": [ // x\n  ]}"},
		{"all", `{"$always": [OLD, OLD]}`, `{"$always": []}`},
		{"the last", "{\"$always\": [\n  NEW,\n  OLD\n]}", "{\"$always\": [\n  NEW\n]}"},
		{"the last, with a trailing comma", "{\"$always\": [\n  NEW,\n  OLD,\n]}", "{\"$always\": [\n  NEW,\n]}"},
		{"the first", "{\"$always\": [OLD, NEW]}", "{\"$always\": [ NEW]}"},
		{"none", "{\"$always\": [ NEW ]}", "{\"$always\": [ NEW ]}"},
	}
	fill := func(text string) string {
		text = strings.NewReplacer("OLD", oldGrant, "NEW", newGrant).Replace(text)
		return strings.TrimSuffix(text, "\n") + "\n"
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := storeWith(t, fill(c.before))
			n, err := s.RemoveGrants(func(g permissions.Grant) bool { return g.Pattern == "old" })
			if err != nil || n != strings.Count(c.before, "OLD") {
				t.Errorf("removed %d, %v", n, err)
			}
			if got := text(t, s); got != fill(c.after) {
				t.Errorf("got:\n%s\nwant:\n%s", got, fill(c.after))
			}
		})
	}
}

func TestAGrantKeepsAllItsFields(t *testing.T) {
	s := storeWith(t, `{}`)
	g := permissions.Grant{
		Tool: "shell_exec", Pattern: permissions.QuoteGlob(`rm -rf *.o "x" ~ && echo <é>`), Risk: permissions.Destructive, Server: "commands",
		Workspace: filepath.Join(t.TempDir(), "app"), By: "tui:bob", At: time.Now(), Expires: time.Now().Add(time.Hour),
	}
	if err := s.AddGrants([]permissions.Grant{g}); err != nil {
		t.Fatal(err)
	}
	got := policy(t, s).Grants
	if len(got) != 1 || !got[0].Same(g) || got[0].Layer != permissions.LayerAlways || !strings.HasPrefix(got[0].Source, s.Path()+":") {
		t.Errorf("read back %+v, want %+v", got, g)
	}
}

func TestAGrantIsWrittenOnce(t *testing.T) {
	s := storeWith(t, `{}`)
	for by := range 3 {
		g := grantFor("git push *")
		g.By = strconv.Itoa(by)
		if err := s.AddGrants([]permissions.Grant{g, g}); err != nil {
			t.Fatal(err)
		}
	}
	if got := patterns(policy(t, s)); len(got) != 1 {
		t.Errorf("the file grants %q", got)
	}
}

func TestAGrantThatWouldReadDifferentlyIsRefused(t *testing.T) {
	for name, g := range map[string]permissions.Grant{
		"home":              grantFor("~/x"),
		"pattern":           grantFor("(x)"),
		"tool":              {Tool: "", Pattern: "x"},
		"risk":              {Tool: "t", Pattern: "x", Risk: 77},
		"workspace":         {Tool: "t", Pattern: "x", Workspace: "rel"},
		"name in bad UTF-8": {Tool: "t", Pattern: "x", By: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			const before = "{\"a\": \"ask\"} // mine\n"
			s := storeWith(t, before)
			if err := s.AddGrants([]permissions.Grant{grantFor("good"), g}); err == nil {
				t.Error("it is accepted")
			}
			if got := text(t, s); got != before {
				t.Errorf("the file is now %q", got)
			}
		})
	}
}

func TestAnEditBetweenReadingAndWritingIsKept(t *testing.T) {
	s := storeWith(t, `{"a": "ask"}`)
	tries := 0
	_, err := s.edit(func(doc *document) (int, error) {
		if tries++; tries == 1 {
			write(t, s, `{"a": "ask", "b": "deny"}`)
		}
		return doc.add([]permissions.Grant{grantFor("x")})
	})
	if err != nil || tries != 2 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	if p := policy(t, s); len(p.File) != 2 || len(p.Grants) != 1 {
		t.Errorf("the file holds %d rules and %d grants", len(p.File), len(p.Grants))
	}

	_, err = s.edit(func(doc *document) (int, error) {
		write(t, s, fmt.Sprintf(`{"a": "ask", "n%d": "deny"}`, rand.Int()))
		return doc.add([]permissions.Grant{grantFor("y")})
	})
	if !errors.Is(err, errEdited) {
		t.Errorf("a file that changes each time gives %v", err)
	}
}

func TestAFailedWriteLeavesTheFile(t *testing.T) {
	const before = `{"a": "ask"}`
	name := strings.Repeat("p", 245) // the temporary file's name is longer than any file system allows
	s := Open(filepath.Join(t.TempDir(), name), Options{Home: "/home/u"})
	write(t, s, before)
	if err := s.AddGrants([]permissions.Grant{grantFor("x")}); err == nil {
		t.Error("no error")
	}
	if got := text(t, s); got != before {
		t.Errorf("the file is now %q", got)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	const processes, goroutines, each = 4, 3, 12
	s := storeWith(t, "{\n  // mine\n  \"a\": \"ask\"\n}\n")
	var all []*exec.Cmd
	for i := range processes {
		all = append(all, writer(t, s.Path(), "process"+strconv.Itoa(i), each))
	}
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for j := range each {
				if err := s.AddGrants([]permissions.Grant{grantFor(fmt.Sprintf("goroutine%d-%d", i, j))}); err != nil {
					t.Error(err)
				}
				if _, err := s.Policy(); err != nil {
					t.Errorf("a reader among the writers: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	var want []string
	for j := range each {
		for i := range processes {
			want = append(want, fmt.Sprintf("process%d-%d", i, j))
		}
		for i := range goroutines {
			want = append(want, fmt.Sprintf("goroutine%d-%d", i, j))
		}
	}
	got := patterns(policy(t, s))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d grants are in the file", len(got), len(want))
	}
	if !strings.Contains(text(t, s), "// mine") {
		t.Error("the comment is lost")
	}
}

// TestAKilledWriterLeavesAWholeFile checks that a process killed at any moment leaves either the old or the new file.
func TestAKilledWriterLeavesAWholeFile(t *testing.T) {
	s := storeWith(t, "{\n  // mine\n  \"a\": \"ask\"\n}\n")
	before := 0
	for i := range 15 {
		cmd := writer(t, s.Path(), "round"+strconv.Itoa(i), 0)
		if i%2 == 0 { // the others may be killed before they write
			was := text(t, s)
			waits.Until(t, "the writer writes", func() bool { return text(t, s) != was })
		}
		time.Sleep(20*time.Millisecond + rand.N(60*time.Millisecond))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the writer ended by itself")
		}
		data := text(t, s)
		f, err := permissions.ParseFile(s.Path(), []byte(data), "")
		if err != nil {
			t.Fatalf("round %d: %v in\n%s", i, err, data)
		}
		if len(f.Rules) != 1 || len(f.Grants) < before || !strings.Contains(data, "// mine") {
			t.Fatalf("round %d: %d rules and %d grants, before it %d", i, len(f.Rules), len(f.Grants), before)
		}
		before = len(f.Grants)
	}
	if before == 0 {
		t.Error("no writer got to write anything")
	}
	if err := s.AddGrants([]permissions.Grant{grantFor("after")}); err != nil {
		t.Errorf("after the crashes: %v", err)
	}
}

func TestTheDefaultsStayACommentedFileAfterAGrant(t *testing.T) {
	s := newStore(t)
	policy(t, s)
	if err := s.AddGrants([]permissions.Grant{grantFor("git push *")}); err != nil {
		t.Fatal(err)
	}
	want := bytes.Replace(defaults, []byte("[]\n"),
		[]byte("[\n    {\"tool\": \"shell_exec\", \"pattern\": \"git push *\", \"risk\": \"NETWORK\", \"by\": \"web:alice\"}\n  ]\n"), 1)
	if got := text(t, s); got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func BenchmarkStorePolicy(b *testing.B) {
	s := Open(filepath.Join(b.TempDir(), "permissions.jsonc"), Options{})
	if _, err := s.Policy(); err != nil {
		b.Fatal(err)
	}
	if err := os.Chtimes(s.Path(), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Policy(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEditsInARaceHoldFromTheNextCallOn edits a file many times within one tick of the clock while calls run: no call
// may see rules older than the last edit that had ended before the call began.
func TestEditsInARaceHoldFromTheNextCallOn(t *testing.T) {
	s := storeWith(t, `{"shell_exec": {"n 0000": "allow"}}`)
	policy(t, s)
	var done atomic.Int64 // the last edit that has ended
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				floor := done.Load()
				p, err := s.Policy()
				if err != nil {
					t.Errorf("after edit %d: %v", floor, err)
					return
				}
				var n int64
				if _, err := fmt.Sscanf(p.File[0].Pattern, "n %d", &n); err != nil || n < floor {
					t.Errorf("edit %d had ended, the call got %q (%v)", floor, p.File[0].Pattern, err)
					return
				}
			}
		})
	}
	for n := int64(1); n <= 400; n++ {
		if err := durable.Replace(s.Path(), fmt.Appendf(nil, `{"shell_exec": {"n %04d": "allow"}}`, n), 0o600); err != nil {
			t.Fatal(err)
		}
		done.Store(n)
	}
	close(stop)
	callers.Wait()
}

// FuzzAddAndRemoveGrant checks that a grant can be added to, and removed from, every file that parses.
func FuzzAddAndRemoveGrant(f *testing.F) {
	f.Add(defaults)
	for _, c := range grantEdits {
		f.Add([]byte(c.before))
	}
	for _, c := range addCases {
		f.Add([]byte(c.before))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := parseDocument("p", data, "/home/u")
		if err != nil {
			t.Skip()
		}
		added := permissions.Grant{Tool: "fuzz", Pattern: "git push *", Risk: permissions.Network}
		n, err := doc.add([]permissions.Grant{added})
		if err != nil {
			t.Fatal(err)
		}
		text, err := doc.text()
		if err != nil {
			t.Fatalf("after adding %d: %v", n, err)
		}
		doc, err = parseDocument("p", text, "/home/u")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := doc.remove(added.SameReach); err != nil {
			t.Fatal(err)
		}
		if _, err := doc.text(); err != nil {
			t.Fatalf("after removing: %v", err)
		}
	})
}

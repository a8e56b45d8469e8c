package reload

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/config"
)

// What is written while callgate starts, or takes a configuration over, is not forgotten: it is another one than was
// read.
func TestAFileThatChangesMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "callgate.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func() (*config.Config, error) {
		text, err := os.ReadFile(path)
		return &config.Config{File: path, DataDir: filepath.Dir(path), Worker: string(text)}, err
	}
	write("one")
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	start, err := StateOf(c)
	if err != nil {
		t.Fatal(err)
	}
	write("while it starts")
	meanwhile := func() {}
	r := New(Options{
		Start: start, Logger: slog.New(slog.DiscardHandler), Problem: func(...string) {}, Record: func(string) error { return nil },
		Prepare: func(context.Context, *config.Config, []Change) (func(), error) { meanwhile(); return func() {}, nil },
	})
	if !r.due() {
		t.Error("what was written while callgate started is not read")
	}
	for _, c := range []struct {
		during string // what is written meanwhile, "" for nothing
		due    bool   // it is read again
	}{{"three", true}, {"", false}} {
		write("two" + c.during)
		if meanwhile = func() {}; c.during != "" {
			meanwhile = func() { write(c.during) }
		}
		r.take(t.Context(), load)
		if due := r.due(); due != c.due {
			t.Errorf("with %q meanwhile: due %t", c.during, due)
		}
	}
	if n := r.o.Counts.Taken.Load(); n != 2 {
		t.Errorf("%d were taken over", n)
	}
}

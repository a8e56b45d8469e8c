package console

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/term"

	"callgate/internal/companion/wire"
)

// typist types into a keyboard and collects what comes through.
type typist struct {
	*keyboard
	keys *io.PipeWriter
	mu   sync.Mutex
	got  strings.Builder
}

func newTypist() *typist {
	in, keys := io.Pipe()
	k := &typist{keyboard: newKeyboard(in), keys: keys}
	go func() {
		buffer := make([]byte, 256)
		for {
			n, err := k.Read(buffer)
			k.mu.Lock()
			k.got.Write(buffer[:n])
			k.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return k
}

// types types keys and returns what came through since the last time, without the keys that clear a line.
func (k *typist) types(t *testing.T, keys string) string {
	t.Helper()
	if _, err := k.keys.Write([]byte(keys)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	got := k.got.String()
	k.got.Reset()
	return strings.ReplaceAll(got, string(clearLine), "")
}

func TestKeyboardSwallowsUntilItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTypist()
		defer k.keys.Close()
		if got := k.types(t, "before"); got != "before" {
			t.Errorf("before any prompt: %q", got)
		}
		turn := k.begin()
		for i, step := range []struct {
			pause time.Duration
			keys  string
			want  string
		}{
			{0, "y\r", ""},
			{100 * time.Millisecond, "e", ""},
			{399 * time.Millisecond, "s", ""},
			{399 * time.Millisecond, "\r", ""},
			{0, "abc\x03def", "\x03"},
			{quietTime, "n", "n"},
			{0, "o\r", "o\r"},
		} {
			time.Sleep(step.pause)
			if got := k.types(t, step.keys); got != step.want {
				t.Errorf("step %d: %q came through, want %q", i, got, step.want)
			}
		}
		if k.passedIn() != turn {
			t.Errorf("keys passed in turn %d, want %d", k.passedIn(), turn)
		}
	})
}

func TestKeyboardDropsBrokenUTF8(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTypist()
		defer k.keys.Close()
		if got := k.types(t, "a\xc3"); got != "a" {
			t.Errorf("%q", got)
		}
		if got := k.types(t, "é\xffb"); got != "éb" {
			t.Errorf("%q", got)
		}
	})
}

// A half-typed line must not become part of the answer to the next prompt, whatever state the line editor was left in.
func TestNewTurnEmptiesTheEditor(t *testing.T) {
	for _, before := range []string{"y", "yes", "y\x1b", "y\x1b[", "y\x1b[1;", "y\x01", "y\x1b[D", "\xc3y", "y\xe2\x82"} {
		synctest.Test(t, func(t *testing.T) {
			in, keys := io.Pipe()
			defer keys.Close()
			k := newKeyboard(in)
			editor := term.NewTerminal(struct {
				io.Reader
				io.Writer
			}{k, io.Discard}, "> ")
			lines := make(chan string)
			go func() {
				text, err := editor.ReadLine()
				if err == nil {
					lines <- text
				}
			}()
			for _, step := range []string{before, "", "\r"} {
				if step == "" {
					k.begin()
					time.Sleep(time.Second)
				} else if _, err := keys.Write([]byte(step)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if got := <-lines; got != "" {
				t.Errorf("%q typed before: Enter gave %q, want an empty line", before, got)
			}
		})
	}
}

// A line typed at another prompt is not an answer, no matter how late it is handled.
func TestWatchDropsLinesOfEarlierTurns(t *testing.T) {
	w := &watcher{current: &wire.ToolApproveRequest{}, turn: 2, viewed: true, console: quietConsole()}
	for _, text := range []string{"y", "a", "n"} {
		if leave, err := w.line(line{text: text, turn: 1}); leave || err != nil || w.sent {
			t.Errorf("%s: leave %v, error %v, sent %v", text, leave, err, w.sent)
		}
	}
}

func quietConsole() *Console {
	in, _ := io.Pipe()
	return NewConsole(in, io.Discard, func() (int, int, error) { return 80, 24, nil })
}

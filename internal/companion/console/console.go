package console

import (
	"errors"
	"io"
	"time"

	"golang.org/x/term"
)

// Console is a terminal with one input line below what is printed.
type Console struct {
	editor   *term.Terminal
	size     func() (width, height int, err error)
	keyboard *keyboard
	lines    chan line
	done     chan struct{}
}

// line is what was typed, and the turn in which Enter was pressed.
type line struct {
	text string
	turn int
}

// NewConsole makes a console of a terminal that is in raw mode. size tells its size, which is asked for
// with every prompt. Reading ends with in: a terminal is read until the process ends.
func NewConsole(in io.Reader, out io.Writer, size func() (width, height int, err error)) *Console {
	c := &Console{size: size, keyboard: newKeyboard(in), lines: make(chan line), done: make(chan struct{})}
	c.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{c.keyboard, out}, idlePrompt)
	c.editor.History = forgetful{}
	go c.read()
	return c
}

// Rest sets how long the keyboard rests before keys count, instead of the default.
func (c *Console) Rest(d time.Duration) {
	c.keyboard.mu.Lock()
	defer c.keyboard.mu.Unlock()
	c.keyboard.rest = d
}

// read passes lines on until the input ends or Ctrl-C or Ctrl-D is pressed.
func (c *Console) read() {
	defer close(c.lines)
	for {
		text, err := c.editor.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return
		}
		select {
		case c.lines <- line{text, c.keyboard.passedIn()}:
		case <-c.done:
			return
		}
	}
}

// Close stops passing lines on.
func (c *Console) Close() { close(c.done) }

// print shows text above the input line.
func (c *Console) print(text string) error {
	_, err := io.WriteString(c.editor, text)
	return err
}

// idlePrompt stands below what is printed when nothing waits. A prompt is never empty: the editor draws
// the line anew only when there is something on it.
const idlePrompt = "(no approvals) "

// ask shows a prompt and starts a turn.
func (c *Console) ask(prompt string) (turn int, err error) {
	if width, height, err := c.size(); err == nil && width > 0 && height > 0 {
		if err := c.editor.SetSize(width, height); err != nil {
			return 0, err
		}
	}
	c.editor.SetPrompt(prompt)
	if err := c.print(""); err != nil { // draws the line anew
		return 0, err
	}
	return c.keyboard.begin(), nil
}

// forgetful keeps no history: an old answer must not come back with an arrow key.
type forgetful struct{}

func (forgetful) Add(string)    {}
func (forgetful) Len() int      { return 0 }
func (forgetful) At(int) string { return "" }

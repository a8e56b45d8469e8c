package console

import (
	"errors"
	"io"
	"time"

	"golang.org/x/term"
)

// Console is a terminal with an input line below the output.
type Console struct {
	editor   *term.Terminal
	size     func() (width, height int, err error)
	keyboard *keyboard
	lines    chan line
	done     chan struct{}
}

// line is a typed line, with the turn in which Enter was pressed.
type line struct {
	text string
	turn int
}

// NewConsole returns a console for a terminal in raw mode. It calls size with every prompt. It reads in until in ends,
// which for a terminal is the end of the process.
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

// Rest sets how long the keyboard must rest before keys count.
func (c *Console) Rest(d time.Duration) {
	c.keyboard.mu.Lock()
	defer c.keyboard.mu.Unlock()
	c.keyboard.rest = d
}

// read passes lines on until the input ends, Close is called, or Ctrl-C or Ctrl-D is pressed.
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

// Close stops the passing on of lines. It MUST be called once.
func (c *Console) Close() { close(c.done) }

// print writes text above the input line.
func (c *Console) print(text string) error {
	_, err := io.WriteString(c.editor, text)
	return err
}

// idlePrompt is the prompt while nothing waits. A prompt MUST NOT be empty: the editor redraws a line only if something
// is on it.
const idlePrompt = "(no approvals) "

// ask shows a prompt and starts a turn.
func (c *Console) ask(prompt string) (turn int, err error) {
	if width, height, err := c.size(); err == nil && width > 0 && height > 0 {
		if err := c.editor.SetSize(width, height); err != nil {
			return 0, err
		}
	}
	c.editor.SetPrompt(prompt)
	if err := c.print(""); err != nil { // redraws the line
		return 0, err
	}
	return c.keyboard.begin(), nil
}

// forgetful keeps no history: an arrow key must not bring back an old answer.
type forgetful struct{}

func (forgetful) Add(string)    {}
func (forgetful) Len() int      { return 0 }
func (forgetful) At(int) string { return "" }

package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/spawn"
	"callgate/shellparse"
)

// command starts a program for an event. It uses no shell.
type command struct {
	program string // an absolute path, or a name to look up in PATH
	args    []template
	env     []envEntry
	dir     string
	dynamic bool // args or env contain a value of the event
}

type envEntry struct {
	name  string
	value template
}

// InHook is the variable that tells a program which hook started it. callgate serves neither a host nor an approver if
// it is set: a hook that reached callgate again would be asked about its own calls.
const InHook = "CALLGATE_IN_HOOK"

// ownVariables is the prefix of callgate's own variables, which may hold credentials.
const ownVariables = "CALLGATE_"

// kept bounds how much of each output stream of a hook is kept, in bytes.
const kept = 64 << 10

func newCommand(a Action, o Options) (*command, error) {
	words, err := a.words()
	if err != nil {
		return nil, err
	}
	c := &command{dir: o.path(a.Cwd)}
	if strings.Contains(words[0], "{{") {
		return nil, errors.New("the program cannot depend on the event: write its name, and placeholders after it")
	}
	if c.program = words[0]; strings.ContainsRune(c.program, '/') || strings.ContainsRune(c.program, filepath.Separator) {
		c.program = o.path(c.program)
	}
	dynamic := false
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "~/") {
			w = o.path(w)
		}
		t, err := parseTemplate(w)
		if err != nil {
			return nil, err
		}
		c.args, dynamic = append(c.args, t), dynamic || t.dynamic()
	}
	for _, entry := range a.Env {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsAny(name, "{} ") {
			return nil, fmt.Errorf("env %q: use NAME=value", entry)
		}
		if strings.HasPrefix(strings.ToUpper(name), ownVariables) {
			return nil, fmt.Errorf("env %s: variables that begin with %s are callgate's own", name, ownVariables)
		}
		t, err := parseTemplate(value)
		if err != nil {
			return nil, err
		}
		c.env, dynamic = append(c.env, envEntry{name, t}), dynamic || t.dynamic()
	}
	if c.dynamic = dynamic; !dynamic {
		return c, nil
	}
	return c, checkCode(words, c.env)
}

// words returns the words of the command. A single text is split at blanks, and must contain nothing that a shell would
// interpret: it is never given to one.
func (a Action) words() ([]string, error) {
	var words []string
	switch c := a.Command.(type) {
	case string:
		if i := strings.IndexAny(placeholder.ReplaceAllString(c, ""), "|&;<>()$`\\\"'*?[]{}~#!\n\r"); i >= 0 {
			return nil, fmt.Errorf(`the command %q looks like text for a shell, and no shell reads it: write a list of words, such as ["notify", "--title", "two words", "{{toolName}}"], or start a script`, c)
		}
		words = strings.Fields(placeholder.ReplaceAllStringFunc(c, func(p string) string { return strings.Join(strings.Fields(p), "") }))
	case []any:
		for _, w := range c {
			text, ok := w.(string)
			if !ok {
				return nil, fmt.Errorf("the command has %v, which is not text: put it in quotes", w)
			}
			words = append(words, text)
		}
	case nil:
	default:
		return nil, errors.New("the command has to be a list of words")
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New(`command is missing: write a list of words, such as ["notify", "{{toolName}}"]`)
	}
	for _, w := range words {
		if strings.ContainsRune(w, 0) {
			return nil, errors.New("a word of the command has a zero byte")
		}
	}
	return words, nil
}

// path returns the absolute path of the program.
func (c *command) path() (string, error) {
	path, err := exec.LookPath(c.program) // refuses what it finds in the current folder
	if err != nil {
		return "", fmt.Errorf("%s cannot be started: %w", c.program, spawn.Fault(err))
	}
	if ext := strings.ToLower(filepath.Ext(path)); runtime.GOOS == "windows" && c.dynamic && (ext == ".bat" || ext == ".cmd") {
		return "", fmt.Errorf("%s is run by cmd.exe, which can take values for commands: read them from standard input", path)
	}
	return filepath.Abs(path)
}

func (c *command) problem() error { return c.ready() }

func (c *command) ready() error {
	_, err := c.path()
	return err
}

// checkCode refuses placeholders where a shell or an interpreter reads code. It uses the tables that judge the model's
// commands, with every placeholder as an unknown word.
func checkCode(words []string, env []envEntry) error {
	var line strings.Builder
	for _, e := range env {
		if e.value.dynamic() {
			line.WriteString(e.name + `="$event" `)
		}
	}
	for _, w := range words {
		line.WriteString(quoteWord(w) + " ")
	}
	script := shellparse.Parse(line.String(), shellparse.Options{})
	for _, p := range script.Problems {
		return fmt.Errorf("a placeholder is where a shell or another program reads code, so it could become a command. %s Pass it as a word after the code (sh -c 'notify \"$1\"' sh {{toolName}}), in env, or read standard input", asWritten(p.Text, words))
	}
	for i := range script.Commands {
		for _, effect := range script.Commands[i].Effects {
			kind, _, _ := strings.Cut(effect.Text, " ")
			shown := asWritten(effect.String(), words)
			switch kind {
			case "code", "starts", "terminal":
				return fmt.Errorf("a placeholder is among the words of a program that can run words as code (%s): read standard input there instead", shown)
			case "env":
				return fmt.Errorf("a placeholder is in a variable that makes programs run something (%s): use another name", shown)
			}
		}
	}
	return nil
}

// asWritten returns the analysis's text, with the words of the command as the user wrote them.
func asWritten(text string, words []string) string {
	for _, w := range words {
		if placeholder.MatchString(w) {
			text = strings.NewReplacer(strconv.Quote(quoteWord(w)), strconv.Quote(w), quoteWord(w), w).Replace(text)
		}
	}
	return strings.ReplaceAll(text, "$event", "a placeholder")
}

// quoteWord quotes a word of the command for the analysis, with every placeholder as an unknown text.
func quoteWord(w string) string {
	var b strings.Builder
	from := 0
	literal := func(s string) {
		if s != "" {
			b.WriteString("'" + strings.ReplaceAll(s, "'", `'\''`) + "'")
		}
	}
	for _, at := range placeholder.FindAllStringIndex(w, -1) {
		literal(w[from:at[0]])
		b.WriteString(`"$event"`)
		from = at[1]
	}
	literal(w[from:])
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

func (c *command) kind() string { return "command" }

// run starts the program and waits for its end. Any exit code but 0 is a failure.
func (c *command) run(ctx context.Context, r *Runner, h *hook, e *Event) (string, error) {
	result, err := c.start(ctx, r, h, e)
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("exit code %d: %s", result.Code, firstLine(result.Stderr))
	}
	return string(result.Stdout), err
}

// start runs the program with the event on standard input.
func (c *command) start(ctx context.Context, r *Runner, h *hook, e *Event) (spawn.Result, error) {
	path, err := c.path()
	if err != nil {
		return spawn.Result{}, err
	}
	stdin, err := e.message(h)
	if err != nil {
		return spawn.Result{}, err
	}
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = a.render(h, e)
	}
	return spawn.Run(ctx, spawn.Command{Path: path, Args: args, Env: c.environ(r, h, e), Dir: c.dir, Stdin: append(stdin, '\n'), Output: kept, Wall: r.wall, Logger: r.log})
}

// environ returns the program's environment: callgate's, without its own variables and the secrets of webhooks.
func (c *command) environ(r *Runner, h *hook, e *Event) []string {
	var env []string
	secrets := r.secretVariables()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(strings.ToUpper(name), ownVariables) && !slices.Contains(secrets, name) {
			env = append(env, entry)
		}
	}
	for _, entry := range c.env {
		env = append(env, entry.name+"="+entry.value.render(h, e))
	}
	return append(env, InHook+"="+h.name)
}

// firstLine returns the part of a program's standard error that an error message shows.
func firstLine(stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(stderr), "\uFFFD")), "\n")
	if line == "" {
		return "it says nothing on standard error"
	}
	return tools.Visible(line[:min(len(line), 300)])
}

// files returns the user's own files that decide what the hook does: the program and the files named as its arguments,
// except those in folders on PATH, where programs are installed.
func (c *command) files() (files []string) {
	installed := map[string]bool{}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		installed[filepath.Clean(dir)] = true
	}
	add := func(path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !installed[filepath.Dir(path)] {
			files = append(files, path)
		}
	}
	if path, err := c.path(); err == nil {
		add(path)
	}
	for _, a := range c.args {
		if text := a.parts[0].literal; !a.dynamic() && text != "" {
			if !filepath.IsAbs(text) {
				text = filepath.Join(c.dir, text)
			}
			if abs, err := filepath.Abs(text); err == nil {
				add(abs)
			}
		}
	}
	return files
}

// logLine writes a line to callgate's log.
type logLine struct{ message template }

func (l logLine) kind() string { return "log" }

func (l logLine) ready() error { return nil }

func (l logLine) problem() error { return nil }

func (l logLine) run(_ context.Context, r *Runner, h *hook, e *Event) (string, error) {
	text := tools.Visible(l.message.render(h, e))
	r.log.Info(text, "hook", h.name, "event", e.Name)
	return text, nil
}

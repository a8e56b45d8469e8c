package tui_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/built"
	"callgate/internal/testserver/waits"
)

// patience bounds every wait. It is long because machines are slow, not because callgate is.
const patience = waits.Limit

// desk is a real terminal (tmux) beside a real callgate with the demo server behind it.
type desk struct {
	t       *testing.T
	bin     string // folder of the programs
	dir     string // folder of the demo server
	data    string
	socket  string // of the tmux server
	host    io.WriteCloser
	answers chan string // lines of callgate's standard output
	calls   *int
	window  string // the tmux session that gets the keys
}

// on returns the desk for a subtest, with its own window. The window runs a command line and shows its exit code at the
// end.
func (d *desk) on(t *testing.T, width, height int, line string) *desk {
	t.Helper()
	own := *d
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())
	own.t, own.window = t, name
	own.must("new-session", "-d", "-s", name, "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "sh", "-c", line+`; echo "it ended with $?"; exec sleep 1000`)
	t.Cleanup(func() { d.must("kill-session", "-t", name) })
	return &own
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CALLGATE_REQUIRE_TMUX") == "1" {
			t.Fatalf("this test needs tmux: %v", err)
		}
		t.Skipf("this test needs tmux (apt-get install tmux): %v", err)
	}
	// A socket's path must be short, and the test's own folder has a long one.
	dir, err := os.MkdirTemp("", "cg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &desk{t: t, calls: new(int), bin: filepath.Join(dir, "bin"), dir: filepath.Join(dir, "work"), data: filepath.Join(dir, "data"), socket: filepath.Join(dir, "tmux")}
	for _, folder := range []string{d.bin, d.dir} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := built.Programs(d.bin, "callgate/cmd/callgate", "callgate/examples/demo", "callgate/internal/testserver/awkward"); err != nil {
		t.Fatal(err)
	}
	d.write("callgate.yaml", "servers:\n  - {name: demo, command: demo, args: [\".\"], package: callgate-demo}\n")
	worker := filepath.Join(d.data, "workers", "default")
	if err := os.MkdirAll(worker, 0o700); err != nil {
		t.Fatal(err)
	}
	// The shipped rules would run calls that these tests want to be asked about.
	if err := os.WriteFile(filepath.Join(worker, "permissions.jsonc"), []byte(`{"*": "ask"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write("editor", "#!/bin/sh\nsed -i s/before-editing/after-editing/ \"$1\"\n")
	d.must("new-session", "-d", "-s", "first", "sleep", "1000") // keeps the tmux server running between windows
	t.Cleanup(func() { d.must("kill-server") })
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o700); err != nil {
		d.t.Fatal(err)
	}
}

// env returns the environment of everything started here: nothing from the machine except the path.
func (d *desk) env(more ...string) []string {
	return append([]string{
		"PATH=" + d.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + d.dir, "LANG=C.UTF-8", "TERM=tmux-256color",
		"CALLGATE_DATA_DIR=" + d.data, "CALLGATE_LISTEN=127.0.0.1:0", "EDITOR=" + filepath.Join(d.dir, "editor"), "PS1=$ ",
	}, more...)
}

// startHost starts callgate like a host. The returned function ends it.
func (d *desk) startHost() (stop func()) {
	d.t.Helper()
	cmd := exec.Command(filepath.Join(d.bin, "callgate"), "run", "--config", "callgate.yaml")
	cmd.Dir, cmd.Env = d.dir, d.env()
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.host, d.answers = in, make(chan string, 100)
	go func(answers chan<- string) {
		defer close(answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			answers <- lines.Text()
		}
	}(d.answers)
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		in.Close()
		for range d.answers { // until standard output ends
		}
		if err := cmd.Wait(); err != nil {
			d.t.Errorf("callgate run: %v\n%s", err, &log)
		}
	}
	d.t.Cleanup(stop)
	d.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1"}}}`)
	d.answer(`"id":"init"`)
	d.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return stop
}

func (d *desk) send(line string) {
	d.t.Helper()
	if _, err := io.WriteString(d.host, line+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

// call sends a tools/call for a shell command and returns a text that identifies its answer.
func (d *desk) call(command string) (id string) {
	d.t.Helper()
	*d.calls++
	id = fmt.Sprintf("call-%d", *d.calls)
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"demo_shell_exec","arguments":{"command":%q}}}`, id, command))
	return fmt.Sprintf("%q", id)
}

// answer waits for a line from callgate that contains text.
func (d *desk) answer(text string) string {
	d.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-d.answers:
			if !ok {
				d.t.Fatalf("callgate ended before it answered %s", text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			d.t.Fatalf("callgate did not answer %s; the screen is\n%s", text, d.capture())
		}
	}
}

func (d *desk) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", d.socket, "-f", "/dev/null"}, args...)...)
	cmd.Dir, cmd.Env = d.dir, d.env()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *desk) must(args ...string) string {
	d.t.Helper()
	out, err := d.tmux(args...)
	if err != nil {
		d.t.Fatalf("tmux %v: %v %s", args, err, out)
	}
	return out
}

func (d *desk) capture() string {
	out, err := d.tmux("capture-pane", "-p", "-t", d.window)
	if err != nil {
		return err.Error()
	}
	return out
}

// sees waits until all texts are on the screen.
func (d *desk) sees(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		d.until(text, func(screen string) bool { return strings.Contains(screen, text) })
	}
}

func (d *desk) until(what string, is func(screen string) bool) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); !is(d.capture()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("did not come: %s\n%s", what, d.capture())
		}
	}
}

// asked waits until a question is on the screen and takes keys.
func (d *desk) asked(text string) {
	d.t.Helper()
	d.sees(text)
	d.until("the keyboard's rest", func(screen string) bool { return strings.Contains(screen, "y approve") })
}

// rests waits for the keyboard's rest where the screen does not show when keys count.
func (d *desk) rests() { time.Sleep(2 * time.Second) }

func (d *desk) types(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.must("send-keys", "-t", d.window, k)
	}
}

func TestTerminal(t *testing.T) {
	d := newDesk(t)
	stop := d.startHost()
	t.Run("once", func(t *testing.T) { once(t, d) })
	t.Run("bell", func(t *testing.T) { bell(t, d) })
	t.Run("colours", func(t *testing.T) { colours(t, d) })
	t.Run("approver", func(t *testing.T) { approver(t, d, stop) })
}

// TestTerminalDefinitions accepts a changed definition, and compares a write with the file on disk.
func TestTerminalDefinitions(t *testing.T) {
	d := newDesk(t)
	d.write("callgate.yaml", "servers:\n  - {name: demo, command: demo, args: [\".\"], package: callgate-demo}\n  - {name: awkward, command: awkward}\n")
	d.write("notes.txt", "first\nsecond\n")
	if err := os.MkdirAll(filepath.Join(d.data, "workers", "default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.data, "workers", "default", "permissions.jsonc"), []byte(`{"*": "ask", "awkward_*": "allow"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.startHost()
	d = d.on(t, 120, 40, "callgate approve")
	d.sees("No pending approvals.", "2/2 up")
	call := func(id, tool, arguments string) {
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments))
	}

	call("write", "demo_edit_file", `{"path":"notes.txt","old_text":"second","new_text":"zweite"}`)
	d.asked("demo_edit_file")
	d.sees("Changes on disk", filepath.Join(d.dir, "notes.txt"), "  first", "- second", "+ zweite")
	d.rests()
	d.types("y")
	d.answer(`"id":"write"`)

	call("change", "awkward_change_definition", `{}`)
	d.answer(`"id":"change"`)
	d.rests() // the server's list is read again shortly after it announces a change
	call("echo", "awkward_echo", `{"text":"x"}`)
	d.asked("awkward_echo")
	d.sees("Definition of the tool", "CHANGED")
	d.types("d")
	d.sees("[4 Tools]", "Accept this definition", "CHANGED")
	d.types("Space", "Right")
	d.sees("[ Accept this definition ]")
	d.types("Enter")
	d.sees("The definition of awkward_echo is accepted.")
	d.until("the end of the quarantine", func(screen string) bool { return !strings.Contains(screen, "changed") })
	d.types("1")
	d.asked("awkward_echo")
	d.types("y")
	d.answer(`"id":"echo"`)
	call("again", "awkward_echo", `{"text":"y"}`)
	if got := d.answer(`"id":"again"`); strings.Contains(got, `"isError":true`) {
		t.Errorf("accepted, and asked again: %s", got)
	}
	d.rests()
	d.types("q")
	d.sees("it ended with 0")
}

// approver plays a person at work: answers of each kind, the other screens, other sizes, a lost connection.
func approver(t *testing.T, d *desk, stop func()) {
	d = d.on(t, 120, 40, "callgate approve")
	d.sees("No pending approvals.", "● connected", "1/1 up")

	id := d.call("echo approved-and-run")
	d.asked("echo approved-and-run")
	d.sees("demo_shell_exec · LOW", "denied in 1:", "[ Deny… ]")
	d.types("y")
	if got := d.answer(id); !strings.Contains(got, "approved-and-run") || strings.Contains(got, `"isError":true`) {
		t.Errorf("approved: %s", got)
	}
	d.sees("demo_shell_exec was approved by tui:")

	id = d.call("echo never")
	d.asked("echo never")
	d.types("n", "use the Makefile", "Enter")
	if got := d.answer(id); !strings.Contains(got, "use the Makefile") || !strings.Contains(got, `"isError":true`) {
		t.Errorf("denied: %s", got)
	}

	id = d.call("echo every time")
	d.asked("echo every time")
	d.types("a")
	d.sees("Always allow", "echo *")
	d.types("Down", "Down", "Space") // the narrowest is picked by default
	d.types(strings.Split(strings.Repeat("Down ", 9), " ")[:9]...)
	d.sees("[ Go back ]")
	d.types("Right")
	d.sees("[ Allow always ]")
	d.types("Enter")
	if got := d.answer(id); !strings.Contains(got, "every time") {
		t.Errorf("always: %s", got)
	}
	if got := d.answer(d.call("echo without a question")); !strings.Contains(got, "without a question") {
		t.Errorf("covered by the always: %s", got)
	}

	id = d.call("printf before-editing")
	d.asked("printf before-editing")
	d.types("e")
	d.sees("Run with these arguments?", "after-editing", "Esc drops the change")
	d.rests()
	d.types("y")
	if got := d.answer(id); !strings.Contains(got, "after-editing") {
		t.Errorf("edited: %s", got)
	}

	d.sees("No pending approvals.")
	d.rests()
	d.types("2")
	d.sees("claude-code 2.1", "autonomy NONE", "demo", "up", "6 tools")
	d.types("u")
	d.sees("(•) NONE")
	d.types("Down", "Enter")
	d.sees("autonomy MANUAL", "is now MANUAL, set by tui:")
	d.types("4")
	d.sees("demo_read_file", "read_file", "by risk")
	d.types("3")
	d.sees("approved", "rejected", "trusted", "echo without a question")
	d.types("1")

	id = d.call("printf resized")
	d.asked("printf resized")
	for _, size := range [][2]string{{"200", "50"}, {"60", "20"}, {"5", "2"}, {"80", "24"}} {
		d.must("resize-window", "-t", d.window, "-x", size[0], "-y", size[1])
		if size[0] != "5" {
			d.sees("[ Deny… ]", "printf resized")
		}
	}
	d.types("Enter", "Enter") // the default choice
	if got := d.answer(id); !strings.Contains(got, `"isError":true`) {
		t.Errorf("Enter: %s", got)
	}

	stop()
	d.sees("no connection", "The connection is lost; trying again.")
	d.startHost()
	d.sees("Connected again to callgate")
	d.rests()
	d.types("q")
	d.sees("it ended with 0")
}

func once(t *testing.T, d *desk) {
	for _, test := range []struct {
		keys []string
		code string
	}{{[]string{"y"}, "0"}, {[]string{"n", "Enter"}, "3"}} {
		t.Run(test.code, func(t *testing.T) {
			d := d.on(t, 80, 24, "callgate approve --once")
			d.sees("No pending approvals.")
			id := d.call("printf " + test.code)
			d.asked("printf " + test.code)
			d.types(test.keys...)
			d.answer(id)
			d.sees("it ended with " + test.code)
		})
	}
}

func bell(t *testing.T, d *desk) {
	d = d.on(t, 80, 24, "callgate approve --once --notify")
	d.sees("No pending approvals.")
	d.must("new-window", "-t", d.window, "sleep 1000") // tmux marks background windows that ring the bell
	d.window += ":0"
	id := d.call("printf bell")
	d.asked("printf bell")
	d.until("the bell", func(string) bool {
		return strings.TrimSpace(d.must("display-message", "-p", "-t", d.window, "#{window_bell_flag}")) == "1"
	})
	d.types("y")
	d.answer(id)
}

// coloured matches a foreground colour.
var coloured = regexp.MustCompile("\x1b\\[(?:[0-9]+;)*(?:3[0-7]|38;)[0-9;]*m")

func colours(t *testing.T, d *desk) {
	for _, test := range []struct {
		name, line string
		colours    bool
	}{
		{"default", "callgate approve", true},
		{"flag", "callgate approve --no-color", false},
		{"variable", "NO_COLOR=yes callgate approve", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := d.on(t, 80, 24, test.line)
			d.sees("● connected", "Connected to callgate")
			screen := d.must("capture-pane", "-p", "-e", "-t", d.window)
			if got := coloured.MatchString(screen); got != test.colours {
				t.Errorf("colours: %v, want %v\n%q", got, test.colours, screen)
			}
		})
	}
	t.Run("line mode", func(t *testing.T) { d.on(t, 80, 24, "callgate approve --plain").sees("(no approvals)") })
	t.Run("dumb terminal", func(t *testing.T) { d.on(t, 80, 24, "TERM=dumb callgate approve").sees("(no approvals)") })
	t.Run("one session", func(t *testing.T) {
		d := d.on(t, 80, 24, "callgate approve --session not-there")
		d.sees("● connected")
		d.rests()
		d.types("2")
		d.sees("No host is connected.")
	})
}

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/guard"
	"callgate/internal/testserver/botapi"
	"callgate/internal/testserver/features"
)

// TestMain makes this program's own commands available to the stories. callgate is the real Main, in a separate
// process.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", noExitSleep)
	testscript.Main(cleaning{m}, map[string]func(){"callgate": func() { os.Exit(Main()) }, "receiver": receiver, "features": features.Main})
}

// noExitSleep keeps processes built with -race from sleeping a second when they end. Stories start hundreds of them.
const noExitSleep = "atexit_sleep_ms=0"

// cleaning removes the built servers after all tests.
type cleaning struct{ m *testing.M }

func (c cleaning) Run() int {
	code := c.m.Run()
	if bin, _ := buildServers(); bin != "" && os.Getenv(builtServers) == "" {
		os.RemoveAll(bin)
	}
	return code
}

// racedStories lists stories in which many things happen at once in callgate. In them, the callgate that "host start"
// starts has the race detector if the tests have it, which costs three times as much.
var racedStories = []string{
	"agents", "cancel", "chat", "checkpoints", "deny_while_waiting", "elicitation_approves", "flow", "freeze", "hand_over", "hooks", "hub",
	"people", "progress", "relay", "restarted", "serve", "server_asks", "session_limit", "stateless_asks", "tasks_extension", "telegram", "webhooks",
}

// TestStories runs the stories in testdata/stories. In each, callgate is a real process with real servers behind it,
// and a scripted host and approver talk to it:
//
//	host NAME start [-no-init] COMMAND ARGS…    start a process as host NAME would, and initialize
//	host NAME send JSON                         send a line as it is
//	host NAME call ID TOOL [ARGUMENTS]          send a tools/call
//	host NAME list METHOD                       send a list request with the method as its id
//	[!] host NAME until ID REGEXP TOOL [ARGUMENTS]  make a tools/call again and again, until its response matches
//	[!] host NAME expect ID REGEXP              wait for the response to ID and match it; ask for a list until it
//	                                            matches
//	host NAME forget ID                         the next expect of ID waits for another response
//	host NAME save ID FILE                      wait for the response to ID and write it to FILE
//	host NAME notified REGEXP                   wait for a notification or request that matches; it is $NOTIFICATION
//	host NAME reply MEMBERS                     answer the request that was notified last
//	host NAME sync                              wait for the answer to a ping: what was sent before has been read
//	[!] host NAME seen REGEXP                   match any line that has arrived, without waiting
//	host NAME order REGEXP REGEXP…              what matches one has all arrived before anything that matches the next
//	host NAME log REGEXP                        wait until the log matches
//	host NAME close | kill | term | hangup      end standard input, the process, ask it to end, or close its terminal
//	host NAME ended CODE                        wait until the process has ended with the exit code
//	pending N                                   wait until N approvals wait; $APPROVAL, $DIGEST, $SESSION are the first's
//	answer DECISION [JSON-MEMBERS]              answer $APPROVAL by REST, with further members
//	rest [-view] [-until REGEXP] METHOD PATH [BODY]  any REST call, again until its body matches; the body is printed
//	keep NAME REGEXP                            $NAME is what the first group of the regexp matches in the last output
//	address                                     $ADDRESS and $PORT are the companion's
//	telegram start FILE                         run a Bot API on this machine, which the configuration in FILE
//	                                            gets as a channel
//	telegram shows REGEXP                       wait until a message of the bot matches, with its buttons; it is
//	                                            then the current one
//	telegram press BUTTON | say TEXT            press a button of the current message, or reply to it
//	gone FILE                                   wait until the process is gone whose id is in FILE
//	http [-stateless] [-bg NAME] [-until REGEXP] [-H HEADER]… METHOD PATH [BODY]
//	                                            a request to callgate serve with its token, with the headers of
//	                                            2026-07-28, or without those that are given without a value,
//	                                            again until the body matches; status, headers and body are printed
//	[!] arrived NAME REGEXP | -close            wait until the response to the background request matches, or end
//	                                            it
//	holds FILE REGEXP                           wait until the file matches
func TestStories(t *testing.T) {
	if testing.Short() {
		t.Skip("stories start processes")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the stories are written for a POSIX shell")
	}
	bin := servers(t)
	for _, name := range racedStories {
		if _, err := os.Stat(filepath.Join("testdata", "stories", name+".txtar")); err != nil {
			t.Error(err)
		}
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/stories",
		RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "guard":
				return (&guard.Wall{Mode: guard.On}).Probe().Kind != guard.None, nil
			case "sandbox":
				return sandboxes(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			data := filepath.Join(env.WorkDir, "data")
			env.Setenv("GORACE", noExitSleep)
			env.Setenv("PATH", strings.Join([]string{filepath.Join(bin, gateFolder), bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
			home, err := os.MkdirTemp("", "callgate-home-") // a folder outside the story's, because a home folder is no workspace
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(home) })
			env.Setenv("HOME", home)
			env.Setenv("DATA", data)
			env.Setenv("EXAMPLES", examples)
			rules := filepath.Join(data, "workers", "default", "permissions.jsonc")
			env.Setenv("RULES", rules)
			if err := plainRules(rules); err != nil {
				return err
			}
			env.Setenv("CALLGATE_DATA_DIR", data)
			env.Setenv("CALLGATE_LISTEN", "127.0.0.1:0")
			env.Setenv("CALLGATE_CONFIG", "")
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			env.Setenv("CALLGATE_MCP_LISTEN", "127.0.0.1:0")
			st := &story{hosts: map[string]*client{}, arrivals: map[string]*arrival{}}
			st.raced = slices.Contains(racedStories, strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
			env.Values[storyKey{}] = st
			env.Defer(st.end)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"host": cmdHost, "pending": cmdPending, "answer": cmdAnswer, "rest": cmdREST,
			"telegram": cmdTelegram, "keep": cmdKeep, "address": cmdAddress, "gone": cmdGone, "holds": cmdHolds,
			"http": cmdHTTP, "arrived": cmdArrived,
		},
	})
}

// plainRules writes the rules that stories begin with, unless the story has its own. They are few and short, because
// stories show what callgate does with rules, not which rules it ships. The story defaults.txtar is about those.
func plainRules(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	text, err := os.ReadFile("testdata/permissions.jsonc")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

type storyKey struct{}

type story struct {
	hosts   map[string]*client
	raced   bool // what "host start" starts has the race detector, if the tests have it
	botAPI  *botapi.API
	message botapi.Message // the current one

	arrivals map[string]*arrival // by name
}

func (s *story) end() {
	if s.botAPI != nil {
		s.botAPI.Close()
	}
	for _, a := range s.arrivals {
		a.stop()
	}
	for _, h := range s.hosts {
		h.kill()
	}
}

func cmdHost(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: host NAME VERB …")
	}
	st := ts.Value(storyKey{}).(*story)
	name, verb, rest := args[0], args[1], args[2:]
	if verb == "start" {
		if before := st.hosts[name]; before != nil {
			before.kill()
		}
		st.hosts[name] = startHost(ts, rest)
		return
	}
	h := st.hosts[name]
	if h == nil {
		ts.Fatalf("host %s was not started", name)
	}
	needs := map[string]int{"send": 1, "call": 2, "until": 3, "list": 1, "expect": 2, "forget": 1, "capture": 3, "save": 2, "notified": 1, "reply": 1, "seen": 1, "order": 2, "log": 1, "ended": 1}
	if len(rest) < needs[verb] {
		ts.Fatalf("host NAME %s needs %d arguments", verb, needs[verb])
	}
	if neg && verb != "expect" && verb != "until" && verb != "seen" {
		ts.Fatalf("host NAME %s has no opposite", verb)
	}
	switch verb {
	case "send":
		ts.Check(h.send(rest[0]))
	case "call":
		ts.Check(h.call(rest[0], rest[1:]))
	case "until":
		pattern := regexp.MustCompile("(?s)" + rest[1])
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			ts.Check(h.call(rest[0], rest[2:]))
			response, err := h.response(rest[0])
			ts.Check(err)
			if pattern.Match(response) != neg {
				break
			} else if time.Now().After(deadline) {
				ts.Fatalf("the response to %s is still %.3000s", rest[0], response)
			}
			h.forget(rest[0])
		}
	case "list":
		ts.Check(h.list(rest[0]))
	case "expect":
		pattern := regexp.MustCompile("(?s)" + rest[1])
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			response, err := h.response(rest[0])
			ts.Check(err)
			ts.Logf("response: %.2000s", response)
			if pattern.Match(response) != neg {
				break
			} else if neg || !strings.HasSuffix(rest[0], "/list") || time.Now().After(deadline) {
				ts.Fatalf("the response to %s is %.3000s", rest[0], response)
			}
			h.forget(rest[0]) // a server that starts slowly is listed later
			ts.Check(h.list(rest[0]))
		}
	case "forget":
		h.forget(rest[0])
	case "capture": // the first group of a match becomes a variable
		response, err := h.response(rest[0])
		ts.Check(err)
		match := regexp.MustCompile("(?s)" + rest[1]).FindSubmatch(response)
		if len(match) < 2 {
			ts.Fatalf("the response to %s is %.3000s", rest[0], response)
		}
		ts.Setenv(rest[2], string(match[1]))
	case "save":
		response, err := h.response(rest[0])
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(rest[1]), append(response, '\n'), 0o600))
	case "notified":
		line, err := h.notified(rest[0])
		ts.Check(err)
		ts.Logf("notified: %.2000s", line)
		ts.Setenv("NOTIFICATION", line)
	case "reply":
		var request struct{ ID json.RawMessage }
		ts.Check(json.Unmarshal([]byte(ts.Getenv("NOTIFICATION")), &request))
		ts.Check(h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, request.ID, rest[0])))
	case "sync":
		h.forget("sync")
		_, err := h.request("sync", "ping", "")
		ts.Check(err)
	case "seen":
		if matched := h.matches(rest[0]); len(matched) > 0 == neg {
			ts.Fatalf("lines that match %s: %v of %.3000q", rest[0], matched, h.everything())
		}
	case "order":
		last := -1
		for _, pattern := range rest {
			at := h.matches(pattern)
			if len(at) == 0 {
				ts.Fatalf("nothing arrived that matches %s", pattern)
			}
			if at[0] < last {
				ts.Fatalf("what matches %s arrived before something that should precede it: %q", pattern, h.everything())
			}
			last = at[len(at)-1]
		}
	case "log":
		pattern := regexp.MustCompile("(?s)" + rest[0])
		for deadline := time.Now().Add(patience); !pattern.MatchString(h.stderr.String()); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				ts.Fatalf("the log is\n%s", &h.stderr)
			}
		}
	case "close":
		ts.Check(h.close())
	case "kill":
		h.kill()
	case "term", "hangup":
		ts.Check(h.cmd.Process.Signal(map[string]os.Signal{"term": syscall.SIGTERM, "hangup": syscall.SIGHUP}[verb]))
		ts.Check(h.wait())
	case "interrupt":
		ts.Check(h.cmd.Process.Signal(os.Interrupt))
	case "ended":
		code, err := strconv.Atoi(rest[0])
		ts.Check(err)
		var status *exec.ExitError
		switch err := h.wait(); {
		case err == nil && code == 0:
		case errors.As(err, &status) && status.ExitCode() == code:
		default:
			ts.Fatalf("ended with %v, want exit code %d", err, code)
		}
	default:
		ts.Fatalf("unknown verb %q", verb)
	}
}

// call sends a tools/call with a tool's name and, if given, its arguments.
func (c *client) call(id string, what []string) error {
	arguments := ""
	if len(what) > 1 {
		arguments = `,"arguments":` + what[1]
	}
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q%s}}`, id, what[0], arguments))
}

// list asks for a list, with the method as the id.
func (c *client) list(method string) error {
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q}`, method, method))
}

// forget drops the response to an id, so that the id may be used again.
func (c *client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.responses, id)
}

// matches returns the indices of the lines so far that match.
func (c *client) matches(pattern string) (at []int) {
	re := regexp.MustCompile("(?s)" + pattern)
	for i, line := range c.everything() {
		if re.MatchString(line) {
			at = append(at, i)
		}
	}
	return at
}

func startHost(ts *testscript.TestScript, args []string) *client {
	initialize := true
	if args[0] == "-no-init" {
		initialize, args = false, args[1:]
	}
	path, err := lookPath(ts, args[0])
	ts.Check(err)
	if args[0] == "callgate" && ts.Value(storyKey{}).(*story).raced {
		path, err = exec.LookPath(args[0]) // the test binary
		ts.Check(err)
	}
	h, err := startClient(path, args[1:], ts.MkAbs("."), storyEnv(ts))
	ts.Check(err)
	if initialize {
		if err := h.handshake(`{"roots":{},"sampling":{},"elicitation":{}}`); err != nil {
			h.kill()
			ts.Fatalf("%v", err)
		}
	}
	return h
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return exec.LookPath(name)
}

// storyEnv returns the story's environment: of the machine that runs the tests, it has only the path.
func storyEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "CALLGATE_DATA_DIR", "CALLGATE_LISTEN", "CALLGATE_MCP_LISTEN", "CALLGATE_CONFIG", "CALLGATE_MODE",
		"XDG_CONFIG_HOME", "STORY_SECRET", "STORY_VALUE", "HOOK_SECRET", "TESTSCRIPT_COVERAGE_DIR",
	} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "TMPDIR="+os.TempDir())
}

// companionAddress returns where the newest companion listens.
func companionAddress(ts *testscript.TestScript) string {
	var at struct{ Address string }
	text, err := os.ReadFile(filepath.Join(ts.Getenv("DATA"), "companion.json"))
	ts.Check(err)
	ts.Check(json.Unmarshal(text, &at))
	return strings.TrimPrefix(at.Address, "http://")
}

// request makes one REST call with the approver's credential, or the viewer's.
func request(ts *testscript.TestScript, credential, method, path, body string) (int, []byte) {
	token, err := os.ReadFile(filepath.Join(ts.Getenv("DATA"), "credentials", credential))
	ts.Check(err)
	r, err := http.NewRequest(method, "http://"+companionAddress(ts)+path, strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	ts.Check(err)
	return response.StatusCode, answer
}

func cmdREST(ts *testscript.TestScript, neg bool, args []string) {
	credential := "approve"
	until := regexp.MustCompile("")
	for strings.HasPrefix(args[0], "-") {
		if args[0] == "-until" {
			until, args = regexp.MustCompile("(?s)"+args[1]), args[2:]
		} else {
			credential, args = args[0][1:], args[1:]
		}
	}
	body := ""
	if len(args) > 2 {
		body = args[2]
	}
	status, answer := request(ts, credential, args[0], args[1], body)
	for deadline := time.Now().Add(patience); !until.Match(answer) && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, answer = request(ts, credential, args[0], args[1], body)
	}
	fmt.Fprintf(ts.Stdout(), "%d %s\n", status, answer)
	if (status < 300) == neg {
		ts.Fatalf("%s %s: %d %s", args[0], args[1], status, answer)
	}
}

func cmdKeep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: keep NAME REGEXP")
	}
	output := ts.ReadFile("stdout")
	found := regexp.MustCompile(args[1]).FindStringSubmatch(output)
	if len(found) < 2 {
		ts.Fatalf("nothing matches %s in %s", args[1], output)
	}
	ts.Setenv(args[0], found[1])
}

func cmdPending(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	deadline := time.Now().Add(patience)
	for {
		status, body := 0, []byte(nil)
		if _, err := os.Stat(filepath.Join(ts.Getenv("DATA"), "companion.json")); err == nil {
			status, body = request(ts, "approve", "GET", "/api/approvals", "")
		}
		var list struct {
			Approvals []struct{ ApprovalID, ArgsDigest, SessionID string }
		}
		if status == 200 {
			ts.Check(json.Unmarshal(body, &list))
			if len(list.Approvals) == want {
				fmt.Fprintf(ts.Stdout(), "%s\n", body)
				if want > 0 {
					first := list.Approvals[0]
					ts.Setenv("APPROVAL", first.ApprovalID)
					ts.Setenv("DIGEST", first.ArgsDigest)
					ts.Setenv("SESSION", first.SessionID)
				}
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%d approvals wait, want %d: %s", len(list.Approvals), want, body)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	more := ""
	if len(args) > 1 {
		more = "," + args[1]
	}
	body := fmt.Sprintf(`{"sessionId":%q,"argsDigest":%q,"decision":%q%s}`, ts.Getenv("SESSION"), ts.Getenv("DIGEST"), args[0], more)
	status, answer := request(ts, "approve", "POST", "/api/approvals/"+ts.Getenv("APPROVAL"), body)
	fmt.Fprintf(ts.Stdout(), "%d %s\n", status, answer)
	if (status == 200) == neg {
		ts.Fatalf("answer %s: %d %s", args[0], status, answer)
	}
}

func cmdTelegram(ts *testscript.TestScript, _ bool, args []string) {
	st := ts.Value(storyKey{}).(*story)
	switch verb := args[0]; verb {
	case "start":
		st.botAPI = botapi.Start()
		secrets := filepath.Join(ts.Getenv("DATA"), "credentials")
		ts.Check(os.MkdirAll(secrets, 0o700))
		ts.Check(os.WriteFile(filepath.Join(secrets, "phone"), []byte(botapi.Token), 0o600))
		config := ts.MkAbs(args[1])
		text, err := os.ReadFile(config)
		ts.Check(err)
		text = fmt.Appendf(text, "channels:\n  - {name: phone, kind: telegram, to: \"42\", people: [\"%d=alice\"], url: %q}\n", botapi.Alice, st.botAPI.URL)
		ts.Check(os.WriteFile(config, text, 0o600))
	case "shows":
		pattern := regexp.MustCompile("(?s)" + args[1])
		m, err := st.botAPI.Wait(func(m botapi.Message) bool { return pattern.MatchString(fmt.Sprint(m.Text, m.Buttons)) })
		ts.Check(err)
		ts.Logf("message: %s %v", m.Text, m.Buttons)
		st.message = m
	case "press":
		ts.Check(st.botAPI.Press(st.message, args[1]))
	case "say":
		st.botAPI.Say(botapi.Alice, st.message.Chat, st.message.ID, args[1])
	default:
		ts.Fatalf("telegram %s: use start, shows, press or say", verb)
	}
	for _, complaint := range st.botAPI.Complaints() {
		ts.Fatalf("the bot: %s", complaint)
	}
}

func cmdAddress(ts *testscript.TestScript, _ bool, _ []string) {
	address := companionAddress(ts)
	_, port, err := net.SplitHostPort(address)
	ts.Check(err)
	ts.Setenv("ADDRESS", address)
	ts.Setenv("PORT", port)
}

func cmdGone(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	ts.Check(err)
	for deadline := time.Now().Add(patience); runs(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("process %d still runs", pid)
		}
	}
}

// runs reports whether the process is alive. A zombie is not.
func runs(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		return !slices.Contains([]string{"Z", "X"}, fields[0])
	} else if _, procErr := os.Stat("/proc/self/stat"); procErr == nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

func cmdHolds(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && pattern.Match(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s is, with error %v:\n%s", args[0], err, text)
		}
	}
}

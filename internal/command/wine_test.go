//go:build linux

package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The Windows binary runs under Wine (make wine). Debian's Wine 8 lacks the library from which Go takes random numbers.
// A replacement forwards to Wine's own. Wine has no unix sockets, so callgate has no hub there.

// wine is a Wine with a separate folder.
type wine struct {
	t   *testing.T
	dir string
	env []string
}

func newWine(t *testing.T) *wine {
	t.Helper()
	if os.Getenv("CALLGATE_WINE") == "" {
		t.Skip("only make wine runs this")
	}
	w := &wine{t: t, dir: t.TempDir()}
	w.env = append(os.Environ(), "WINEPREFIX="+w.path("prefix"), "WINEDEBUG=-all", "GOOS=windows", "CGO_ENABLED=0", "WINEARCH=win64")
	w.must("wine", "wineboot", "-i")
	t.Cleanup(func() {
		end := exec.Command("wineserver", "-k", "-w")
		end.Env = w.env
		_ = end.Run() // it fails if everything has already ended
	})
	w.write("random.s", ".globl DllMainCRTStartup\nDllMainCRTStartup: mov $1,%eax\nret\n")
	w.write("random.def", "LIBRARY bcryptprimitives.dll\nEXPORTS\n ProcessPrng = advapi32.SystemFunction036\n")
	w.must("x86_64-w64-mingw32-as", w.path("random.s"), "-o", w.path("random.o"))
	w.must("x86_64-w64-mingw32-ld", "-shared", "-e", "DllMainCRTStartup", w.path("random.o"), w.path("random.def"),
		"-o", w.path("prefix/drive_c/windows/system32/bcryptprimitives.dll"))
	return w
}

func (w *wine) path(name string) string { return filepath.Join(w.dir, name) }

func (w *wine) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wine) command(argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), argv[0], argv[1:]...)
	cmd.Env = w.env
	return cmd
}

func (w *wine) must(argv ...string) string {
	w.t.Helper()
	out, err := w.command(argv...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", argv, err, out)
	}
	return string(out)
}

// TestWine tests rules, pipes to servers, the page's approvals, locks, files and the audit trail of the Windows binary.
func TestWine(t *testing.T) {
	w := newWine(t)
	exe := w.path("callgate.exe")
	w.must("go", "build", "-o", exe, ".")
	w.must("go", "build", "-o", w.path("server.exe"), "callgate/internal/testserver/awkward")
	w.write("servers.json", fmt.Sprintf(`{"mcpServers":{"f":{"command":%q}}}`, `Z:`+strings.ReplaceAll(w.path("server.exe"), "/", `\`)))
	data := []string{"--data-dir", `C:\data`, "--mcp-config", w.path("servers.json"), "--listen", "127.0.0.1:0"}
	run := func(args ...string) *exec.Cmd { return w.command(slices.Concat([]string{"wine", exe}, args, data)...) }

	if out := w.must("wine", exe, "version"); !strings.Contains(out, "windows/amd64") {
		t.Errorf("version: %s", out)
	}
	if out, err := w.command("wine", exe, "check", "shell_exec", `del C:\Users\me\work`).CombinedOutput(); err == nil || !bytes.HasPrefix(out, []byte("ASK")) {
		t.Errorf("a command for another shell: %v\n%s", err, out)
	}
	for _, decision := range []string{"approve", "reject"} {
		call := run("call", "f_echo", `{"text":"`+decision+`"}`)
		var out bytes.Buffer
		call.Stdout, call.Stderr = &out, &out
		if err := call.Start(); err != nil {
			t.Fatal(err)
		}
		w.answer(decision)
		err := call.Wait()
		if ran := err == nil; ran != (decision == "approve") {
			t.Errorf("%s: %v\n%s", decision, err, &out)
		}
	}
	out := w.must("wine", exe, "audit", "--data-dir", `C:\data`)
	for _, want := range []string{"approved", "done", "rejected"} {
		if !strings.Contains(out, want) {
			t.Errorf("the trail lacks %q:\n%s", want, out)
		}
	}
	if out := w.must("wine", exe, "audit", "verify", "--data-dir", `C:\data`); !strings.Contains(out, "nothing is broken") {
		t.Errorf("verify: %s", out)
	}
}

// answer waits for the one call that asks, and answers it as a person on this machine.
func (w *wine) answer(decision string) {
	w.t.Helper()
	var list struct {
		Approvals []struct{ ApprovalID, SessionID, ArgsDigest string }
	}
	for len(list.Approvals) == 0 {
		if err := w.ask(http.MethodGet, "/api/approvals", nil, &list); err != nil && w.t.Context().Err() != nil {
			w.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
	a := list.Approvals[0]
	if err := w.ask(http.MethodPost, "/api/approvals/"+a.ApprovalID, map[string]string{"sessionId": a.SessionID, "argsDigest": a.ArgsDigest, "decision": decision}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// ask makes a request to the companion that the data directory names.
func (w *wine) ask(method, path string, body, answer any) error {
	var named struct{ Address string }
	text, err := os.ReadFile(w.path("prefix/drive_c/data/companion.json"))
	if err == nil {
		err = json.Unmarshal(text, &named)
	}
	if err != nil {
		return err
	}
	credential, err := os.ReadFile(w.path("prefix/drive_c/data/credentials/approve"))
	if err != nil {
		return err
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+named.Address+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(credential)))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %s", method, path, response.Status, got)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(got, answer)
	}
	return err
}

// wineLacks lists the tests that fail under Wine 8, with the reasons.
var wineLacks = map[string]string{
	"TestReadersSeeWholeFiles":                    "a file that is open cannot be replaced",
	"TestEditsInARaceHoldFromTheNextCallOn":       "a file that is open cannot be replaced",
	"TestConcurrentAppends":                       "a file that is open cannot be replaced",
	"TestAnchoredHeadsCatchWhatTheManifestCannot": "it removes a folder",
	"TestNotes": "it removes a folder",
}

// TestWinePackages runs tests of packages that work with files, locks and processes. Wine 8 cannot remove a folder with
// everything in it, so a test fails even if only its folder stays.
func TestWinePackages(t *testing.T) {
	w := newWine(t)
	cmd := w.command("go", "test", "-json", "-exec", "wine", "callgate/shellparse", "callgate/audit", "callgate/internal/durable",
		"callgate/internal/companion/credentials", "callgate/internal/companion/console", "callgate/internal/config", "callgate/internal/endpoint", "callgate/internal/flow",
		"callgate/internal/jsonx", "callgate/internal/remote", "callgate/internal/rpc", "callgate/internal/secrets", "callgate/internal/signin", "callgate/proxy/internal/catalogue")
	text, _ := cmd.Output() // the events say what failed
	said, passed := map[string]string{}, 0
	failed := map[string]bool{}
	for line := range bytes.Lines(text) {
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		name, _, _ := strings.Cut(e.Test, "/")
		at := e.Package + " " + name
		switch e.Action {
		case "output":
			if o := strings.TrimSpace(e.Output); !strings.HasPrefix(o, "--- ") && !strings.HasPrefix(o, "=== ") && !strings.Contains(o, "RemoveAll cleanup") {
				said[at] += e.Output
			}
		case "fail":
			failed[at] = true
		case "pass":
			if e.Test == name && name != "" {
				passed++
			}
		}
	}
	if passed == 0 {
		t.Fatalf("no test passed:\n%s", text)
	}
	folder := 0
	for _, at := range slices.Sorted(maps.Keys(failed)) {
		_, name, _ := strings.Cut(at, " ")
		switch {
		case name == "": // the package fails because of one of its tests
		case wineLacks[name] != "":
			t.Logf("%s: %s", at, wineLacks[name])
		case said[at] == "":
			folder++
		default:
			t.Errorf("%s:\n%s", at, said[at])
		}
	}
	t.Logf("%d tests passed, %d more but for a folder that stayed", passed, folder)
}

package hosthooks

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/hosthooks/door"
)

// A host that posts gets the same answers as one that starts programs. A refusal is in a form that it takes for a no.
func TestHostsThatPostAreAnsweredInTheirWords(t *testing.T) {
	data, err := os.MkdirTemp("", "post") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	if err := os.MkdirAll(filepath.Join(data, "credentials"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "credentials", "hook"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := func() (string, error) { return "secret", nil }
	server, err := Listen(door.Socket(data, "default", ""), token, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d, project := desk(t, `{"*":"ask","shell_exec":{"ls":"allow"}}`, Options{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { server.Run(ctx, d, func() bool { return false }); close(ended) }()
	t.Cleanup(func() { stop(); <-ended; server.Close() })
	mux := http.NewServeMux()
	posted := Posted(door.Order{DataDir: data, Worker: "default"}, token)
	mux.Handle("POST /hook/{host}", posted)
	mux.Handle("POST /hook/{host}/{event}", posted)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)

	call := func(command string) string {
		text, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": project, "tool_name": "Bash", "tool_input": map[string]string{"command": command}, "tool_use_id": command})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct {
		host, word, body string
		status           int
		want             string
	}{
		{"claude", PostToken("secret"), call("ls"), 200, `"permissionDecision":"allow"`},
		{"claude", PostToken("secret"), call("rm -rf x"), 200, `"permissionDecision":"deny"`},
		{"claude", PostToken("secret"), `{"hook_event_name":"Stop","session_id":"s"}`, 200, ""},
		{"claude", PostToken("secret"), `{"a":1,"a":2}`, 200, `"permissionDecision":"deny"`},
		{"claude", PostToken("secret"), "", 200, `"permissionDecision":"deny"`},
		{"claude", PostToken("other"), call("ls"), 200, `"permissionDecision":"deny"`},
		{"claude", "secret", call("ls"), 200, `"permissionDecision":"deny"`},
		{"claude", "", call("ls"), 200, `"permissionDecision":"deny"`},
		{"claude", "", `{"hook_event_name":"Stop","session_id":"s"}`, 500, "right secret"},
		{"windsurf", PostToken("secret"), call("ls"), 404, "does not post"},
		{"nobody", PostToken("secret"), call("ls"), 404, "unknown host"},
	} {
		r, err := http.NewRequest("POST", s.URL+"/hook/"+c.host, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.word)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status || !strings.Contains(string(text), c.want) || c.want == "" && len(text) > 0 {
			t.Errorf("%s %q %s: %s %s %v, want %d %s", c.host, c.word, c.body, answer.Status, text, err, c.status, c.want)
		}
	}
}

// A host's settings name every event, and let no call run whose hook fails.
func TestSettingsForPostingFailClosed(t *testing.T) {
	d := Dialects()["claude"]
	text, err := d.PostSettings("127.0.0.1:7777", "secret")
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Type, URL, OnFailure string
				Headers              map[string]string
			}
		}
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	for name, s := range d.Events {
		groups := settings.Hooks[name]
		if len(groups) != 1 || len(groups[0].Hooks) != 1 {
			t.Fatalf("%s: %v", name, groups)
		}
		h := groups[0].Hooks[0]
		if h.Type != "http" || h.URL != "http://127.0.0.1:7777/hook/claude" || h.Headers["Authorization"] != "Bearer "+PostToken("secret") || s.Role.Decides() != (h.OnFailure == "block") {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if _, err := Dialects()["codex"].PostSettings("127.0.0.1:7777", "secret"); err == nil {
		t.Error("Codex does not post")
	}
}

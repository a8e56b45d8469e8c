package upstream

import (
	"log/slog"
	"strings"
	"testing"
)

func TestMissingVariable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"FATAL: DB_URL is not set":                                             "DB_URL",
		"Error: Missing required environment variable GITHUB_TOKEN":            "GITHUB_TOKEN",
		"Error: GITHUB_PERSONAL_ACCESS_TOKEN environment variable is required": "GITHUB_PERSONAL_ACCESS_TOKEN",
		"KeyError: 'BRAVE_API_KEY'":                                            "BRAVE_API_KEY",
		"ValueError: environment variable `PGHOST` must be set":                "PGHOST",
		"panic: required env var SLACK_BOT_TOKEN missing":                      "SLACK_BOT_TOKEN",
		"Please set ${OPENAI_API_KEY}":                                         "OPENAI_API_KEY",
		"STRIPE_KEY: not provided":                                             "STRIPE_KEY",
		"GIVEN is not set":                                                     "",
		"ERROR: file not found":                                                "",
		"FATAL: connection refused":                                            "",
		"listening on :8080":                                                   "",
		"npm error 404 Not Found - GET https://npm.example.com/x":              "",
	} {
		c := Config{Env: []string{"GIVEN=1"}}
		if got := c.missing([]string{line}); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	e := &DownError{Server: "a", Reason: "exit status 3", Stderr: []string{"1", "2", "3", "4", "5", "FATAL: DB_URL is not set"}, missing: "DB_URL"}
	want := `exit status 3; it wrote: 2 / 3 / 4 / 5 / FATAL: DB_URL is not set; callgate gives servers a clean environment: add DB_URL to env of server "a"`
	if got := e.Explain(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if strings.Contains(e.Error(), "FATAL") {
		t.Error("a model would be told what the server wrote")
	}
}

// The place in a program's code does not crowd out the reason of a failure.
func TestExplainLeavesTracesOut(t *testing.T) {
	t.Parallel()
	for want, written := range map[string]string{
		"exit status 1; it wrote: Error: Cannot find module '/srv/x.js'": `node:internal/modules/cjs/loader:1210
  throw err;
  ^
Error: Cannot find module '/srv/x.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}
Node.js v20.20.2`,
		"exit status 1; it wrote: import yaml / ModuleNotFoundError: No module named 'yaml'": `Traceback (most recent call last):
  File "/srv/x.py", line 3, in <module>
import yaml
    ^^^^^^^^^^^
ModuleNotFoundError: No module named 'yaml'`,
		"exit status 1": "    at node:internal/main/run_main_module:28:49",
	} {
		e := &DownError{Server: "a", Reason: "exit status 1", Stderr: strings.Split(written, "\n")}
		if got := e.Explain(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// npm's messages about itself go to the debug log, and never crowd out why a server ended.
func TestChatter(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := newStderr(slog.New(slog.NewTextHandler(&log, nil)))
	s.read(strings.NewReader("npm notice New major version of npm available!\nnpm warn deprecated x\nnpm WARN old\nnpm error 404 Not Found\nready\n"))
	if got := strings.Join(s.last(), "|"); got != "npm error 404 Not Found|ready" {
		t.Errorf("kept %s", got)
	}
	if strings.Contains(log.String(), "notice") || !strings.Contains(log.String(), "404") {
		t.Errorf("the log is %s", log.String())
	}
}

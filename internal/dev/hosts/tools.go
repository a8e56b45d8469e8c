package main

import (
	"context"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/gate"
	testserver "callgate/internal/testserver/features"
)

// Built-in tools are tried in a separate home. The host has an MCP server, callgate connects the host, the model uses
// the shell, files, the web and the server, and callgate is disconnected. The traces show what ran: on the disk, in the
// results and at the servers.

// The words from which rules know how to decide a call. They are in the command, the path, the address or the text.
const (
	wordAllowed = "allowed"
	wordDenied  = "denied"
	wordAsked   = "asked"
)

var words = []string{wordAllowed, wordAsked, wordDenied}

// toolRules leaves calls with one word to a person, and denies those with another.
const toolRules = `{
  "*": "allow",
  "shell_exec": { "*": "allow", "*denied*": "deny", "*asked*": "ask" },
  "read_file": { "*": "allow", "*read-denied*": "deny", "*read-asked*": "ask" },
  "write_file": { "*": "allow", "*denied*": "deny", "*asked*": "ask" },
  "edit_file": { "*": "allow", "*denied*": "deny", "*asked*": "ask" },
  "web_fetch": { "*": "allow", "*denied*": "deny", "*asked*": "ask" },
  "` + alias + `_echo": { "*": "allow", "text=denied*": "deny", "text=asked*": "ask" }
}
`

// secretText is in the files that the model reads, followed by a word.
const secretText = "what the file has for "

// deed is one use of a tool, and how to see whether it ran.
type deed struct {
	what, word string
	mark       string // a string in the call
	steps      []step // only the last is judged
	ran        func() bool
}

// toolRun is one host whose built-in tools are tried.
type toolRun struct {
	run
	host    host
	kit     kit
	web     *httptest.Server
	command []string // the host's
	env     []string
	now     atomic.Pointer[model]

	mu      sync.Mutex
	shown   []turn
	asked   []answered
	visited []string // addresses that were fetched
}

func tryTools(args []string) error {
	flags := flag.NewFlagSet("hosts tools", flag.ExitOnError)
	program := flags.String("callgate", "bin/callgate", "`program`")
	only := flags.String("host", "", "`programs` of the hosts to run, separated by commas; default: all that are installed")
	jobs := flags.Int("jobs", 2, "hosts at the same time")
	corpus := flags.String("corpus", "shellparse/testdata/bypass.jsonl", "`file` with commands that the built-in shells must not run; empty for none")
	sample := flags.Int("sample", 20, "how many of them each host is asked to run")
	results := flags.String("results", "bin/hosts-tools", "`folder` for what was seen, one for each host")
	page := flags.String("update", "", "`page` that gets the table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, path := range []*string{program, results} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	trials, versions, err := plan(*only, "stdio")
	if err != nil {
		return err
	}
	trials = slices.DeleteFunc(trials, func(t trial) bool { return t.legacy })
	cases, err := readCases(*corpus, *sample)
	if err != nil {
		return err
	}
	rows, err := each(trials, *jobs, func(t trial) (toolRow, error) {
		r := &toolRun{host: t.host, kit: kits[t.host.id], run: run{program: *program, self: self, server: testserver.Legacy, wait: time.Second, tools: true, dir: filepath.Join(*results, t.host.program)}}
		row, err := r.try(ctx, cases)
		row.host, row.version = t.host.name, versions[t.host.program]
		fmt.Fprintf(os.Stderr, "%s is done\n", t.host.name)
		return row, err
	})
	fmt.Fprint(os.Stdout, toolTable(rows))
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(rows, func(r toolRow) bool { return r.broken() }); i >= 0 {
		return fmt.Errorf("%s goes around the gate, or did not get its files back", rows[i].host)
	}
	if *page == "" {
		return nil
	}
	return update(*page, toolTable(rows))
}

// undoes connects the host and disconnects it, and returns the files that differ from before.
func (r *toolRun) undoes(before map[string]string) ([]string, error) {
	for _, command := range []string{"connect", "disconnect"} {
		if err := r.gate(command, r.host.id, "--yes"); err != nil {
			return nil, err
		}
	}
	after, err := snapshot(r.dir)
	return differences(before, after), err
}

// try goes through the whole life of a connection.
func (r *toolRun) try(ctx context.Context, cases []shellCase) (row toolRow, err error) {
	if err := os.RemoveAll(r.dir); err != nil {
		return row, err
	}
	if err := os.MkdirAll(r.work(), 0o700); err != nil {
		return row, err
	}
	defer sweep(r.dir)
	if r.web = httptest.NewUnstartedServer(http.HandlerFunc(r.visit)); r.kit.tls {
		r.web.StartTLS()
	} else {
		r.web.Start()
	}
	defer r.web.Close()
	scripted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.now.Load().ServeHTTP(w, q) }))
	defer scripted.Close()
	r.modelURL = scripted.URL
	if err := r.prepare(); err != nil {
		return row, err
	}
	// Let the host write the files of its first run, before anybody connects it.
	if err := r.session(ctx, nil, "first"); err != nil {
		return row, err
	}
	sweep(r.dir)
	before, err := snapshot(r.dir)
	if err != nil {
		return row, err
	}
	if row.undone, err = r.undoes(before); err != nil {
		return row, err
	}
	if err := r.gate("connect", r.host.id, "--yes"); err != nil {
		return row, err
	}
	connected, err := snapshot(r.dir)
	if err != nil {
		return row, err
	}
	deeds := r.deeds()
	for i, round := range r.rounds(deeds) {
		if err := r.session(ctx, round, fmt.Sprintf("round-%d", i+1)); err != nil {
			return row, err
		}
	}
	if err := row.find(r, deeds); err != nil {
		return row, err
	}
	sweep(r.dir)
	if r.kit.shell != nil && len(cases) > 0 {
		if row.refused, row.cases, err = r.refuses(ctx, cases); err != nil {
			return row, err
		}
	}
	sweep(r.dir)
	if err := os.WriteFile(r.rulesFile(), []byte(toolRules), 0o600); err != nil {
		return row, err
	}
	used, err := snapshot(r.dir)
	if err != nil {
		return row, err
	}
	if err := r.gate("disconnect", r.host.id, "--yes"); err != nil {
		return row, err
	}
	after, err := snapshot(r.dir)
	if err != nil {
		return row, err
	}
	row.left, row.rewrote = leftovers(before, connected, used, after, r.program)
	return row, nil
}

// prepare writes the rules, callgate's configuration and the files that the model reads.
func (r *toolRun) prepare() error {
	files := map[string]string{
		".local/share/callgate/workers/default/permissions.jsonc": toolRules,
		".config/callgate/callgate.yaml":                          "listen: 127.0.0.1:0\ntimeout: 60s\n",
	}
	for _, word := range words {
		files["work/read-"+word+".txt"] = secretText + word + "\n"
		files["work/edit-"+word+".txt"] = "old\n"
	}
	for name, text := range files {
		if err := r.write(name, text); err != nil {
			return err
		}
	}
	if err := r.first("git", "init", "-q", "."); err != nil {
		return err
	}
	r.run.command = []string{r.self, "tee", r.behind(), r.self, "features", r.server}
	var err error
	if r.command, r.env, err = r.host.configure(&r.run); err == nil && r.kit.tls {
		err = r.write("web.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.web.Certificate().Raw})))
		r.env = append(r.env, "NODE_EXTRA_CA_CERTS="+filepath.Join(r.dir, "web.pem"))
	}
	return err
}

// visit is the web server: it records what is fetched.
func (r *toolRun) visit(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.visited = append(r.visited, q.URL.Path)
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<html><body><p>The page %s</p></body></html>", q.URL.Path) // a host that has gone away needs no answer
}

// session runs the host once, with a person who approves.
func (r *toolRun) session(ctx context.Context, script []step, name string) error {
	log, err := os.Create(filepath.Join(r.dir, name+".requests.jsonl"))
	if err != nil {
		return err
	}
	defer log.Close()
	m := &model{script: script, log: log}
	if r.kit.shell != nil {
		m.told = func(command string) step { return r.kit.shell(r, command) }
	}
	r.now.Store(m)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s does not come to an end, see %s", r.host.name, r.dir))
	defer cancel()
	answering, stop := context.WithCancel(ctx)
	answers := make(chan []answered, 1)
	go func() { answers <- answer(answering, r.data(), r.wait) }()
	_, err = r.run.host(ctx, r.command, r.env)
	stop()
	r.asked = append(r.asked, <-answers...)
	r.shown = append(r.shown, m.shown()...)
	return errors.Join(err, os.Rename(filepath.Join(r.dir, "output.txt"), filepath.Join(r.dir, name+".output.txt")))
}

// gate runs callgate as a person would.
func (r *toolRun) gate(args ...string) error {
	return r.first(append([]string{r.program}, args...)...)
}

// isOurs reports whether callgate or this program wrote a file, not the host.
func isOurs(name string) bool {
	return strings.HasPrefix(name, ".local/share/callgate") || strings.HasPrefix(name, ".config/callgate") || strings.HasPrefix(name, "work/") ||
		strings.HasSuffix(name, ".requests.jsonl") || strings.HasPrefix(name, "server.jsonl") || strings.HasSuffix(name, "output.txt") || name == "web.pem"
}

// snapshot reads all files of the home except those of callgate and of this program.
func snapshot(dir string) (map[string]string, error) {
	files := map[string]string{}
	return files, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // it is gone meanwhile
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || isOurs(name) {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			files[name] = string(text)
		}
		return nil
	})
}

// walled returns a command that sees everything outside a folder read-only, an empty /tmp, and only its own processes.
// What it is asked to do must not be done; if it is done after all, it does no harm.
func walled(folder string, command []string) ([]string, error) {
	if strings.HasPrefix(folder, "/tmp/") {
		return nil, fmt.Errorf("commands that must not run are tried with an empty /tmp: choose -results elsewhere than %s", folder)
	}
	walls := []string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		walls = append(walls, "--map-root-user")
	}
	if err := exec.Command(walls[0], append(walls[1:], "true")...).Run(); err != nil {
		return nil, fmt.Errorf("commands that must not run are tried behind walls, which need unshare: %w", err)
	}
	const script = `set -e; mount --bind "$0" "$0"; mount -t tmpfs none /tmp; mount -o remount,bind,ro /; cd "$0/work"; exec "$@"`
	return append(append(walls, "sh", "-c", script, folder), command...), nil
}

// refuses makes the host's shell run commands that the rules of each case deny, and counts those that were denied.
func (r *toolRun) refuses(ctx context.Context, cases []shellCase) (refused, tried int, err error) {
	began := time.Now()
	command, err := walled(r.dir, r.command)
	if err != nil {
		return 0, 0, err
	}
	outside := r.command
	r.command = command
	defer func() { r.command = outside }()
	var script []step
	for _, c := range cases {
		rules, err := c.rules()
		if err != nil {
			return 0, 0, err
		}
		s := r.kit.shell(r, c.Cmd)
		s.before = func() error { return os.WriteFile(r.rulesFile(), rules, 0o600) }
		script = append(script, s)
	}
	rounds := [][]step{script}
	if r.kit.ends {
		rounds = nil
		for _, s := range script[:min(len(script), endingCases)] {
			rounds = append(rounds, []step{s})
		}
	}
	for i, round := range rounds {
		tried += len(round)
		if err := r.session(ctx, round, fmt.Sprintf("corpus-%d", i+1)); err != nil {
			return 0, 0, err
		}
	}
	err = r.trail(began, func(d decision) {
		if d.Decision == gate.DecidedDenied || d.Decision == gate.DecidedRejected {
			refused++
		}
	})
	return refused, tried, err
}

// endingCases bounds the cases of a host that has to be restarted after each.
const endingCases = 5

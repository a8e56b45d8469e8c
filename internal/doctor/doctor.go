// Package doctor checks everything that the gate depends on: hosts and their hooks, rules, credentials, files, the hub
// and the guard. It names the command that cures each fault.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
	"callgate/internal/presence"
	"callgate/internal/visible"
	"callgate/permissions"
	"callgate/permissions/lint"
	"callgate/permissions/store"
)

// State is the state of something. The zero value is Broken.
type State int

const (
	Broken State = iota
	Warning
	OK
)

// MarshalText writes the state as people read it.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s State) String() string { return [...]string{"broken", "warning", "ok"}[s] }

// Finding is one line of the report.
type Finding struct {
	About string `json:"about"` // the area: hosts, rules, …
	State State  `json:"state"`
	Text  string `json:"text"`
	Cure  string `json:"cure,omitempty"`  // a command
	Fixed bool   `json:"fixed,omitempty"` // it was broken, and Fix has cured it

	fix func() error // nil if a person has to act
}

// Options says what to look at.
type Options struct {
	Version   string
	DataDir   string
	Config    string // the configuration file, or "" if there is none
	ConfigErr error  // why it cannot be read
	Listen    string // the page's address
	Chosen    string // what a callgate command needs at its end to use the same callgate, with a space in front
	Rules     string // the worker's rules file
	Home      string
	Kinds     []string
	Plan      *install.Plan // what connect would change
	PlanErr   error
	Machine   install.Machine
	// Location has the options --data-dir, --config and --worker of the examined callgate. A host's entry that gives
	// another value to one of them starts another callgate.
	Location map[string]string
	Target   client.Target
	Guard    string // how the guard keeps a server that starts now away from callgate
	Servers  []Server
	Tokens   []Problem // tokens of hosts that cannot be used
	Hooks    []Hook
	HooksErr error // why what they match is unknown
	Presence presence.Class
	Frozen   func(ctx context.Context) ([]gate.Freeze, error)
	// Checkpoints reads all snapshots and returns what is wrong with them. It is nil if there are none on disk.
	Checkpoints func() ([]string, error)
	// Try asks whether a file may be read, as the hook of a host that works in folder would. why is what the host is
	// told, or "" if the file may be read.
	Try func(ctx context.Context, d *hosthooks.Dialect, path, folder string) (why string, err error)
	// Enter starts callgate with the command of a host's entry, and asks in a folder whether files may be read. Each
	// answer is the reason why not, or "".
	Enter   func(ctx context.Context, command, env []string, folder string, paths ...string) ([]string, error)
	Connect func(host string) error // reinstalls a host's hooks
	Rotate  func(name credentials.Credential) error
	Merge   func() error // merges the shipped rules into the worker's
	Start   func() error // starts a hub that outlives this process
}

// Server is a server that callgate starts, with the walls around it.
type Server struct {
	Name, Guard, Sandbox string // Guard is "" if the server has the common one
	Down                 string // why it does not answer after its start; "" if it does
}

// Problem is a problem with something that the configuration names.
type Problem struct {
	Name string
	Err  error
}

// Hook is a hook of the configuration, with the reason why it cannot or never will run.
type Hook struct {
	Name, Problem string // Problem is "" if the hook can run
}

// examination collects the findings.
type examination struct {
	o        Options
	ctx      context.Context
	findings []Finding
}

// Look examines everything.
func Look(ctx context.Context, o Options) []Finding {
	x := &examination{o: o, ctx: ctx}
	x.add(Finding{About: "callgate", State: OK, Text: fmt.Sprintf("version %s on %s/%s", o.Version, runtime.GOOS, runtime.GOARCH)})
	x.configuration()
	x.hooks()
	x.hosts()
	x.rules()
	x.credentials()
	x.approvers()
	x.guard()
	x.processes()
	x.files()
	x.writable()
	x.trail()
	x.checkpoints()
	return x.findings
}

// Hosts examines only the hosts, and makes no calls. It needs only the options DataDir, Plan or PlanErr, and Machine.
func Hosts(o Options) []Finding {
	x := &examination{o: o}
	x.hosts()
	return x.findings
}

// Fix cures what needs no person, and notes that in the findings.
func Fix(findings []Finding) error {
	var all error
	for i := range findings {
		if f := &findings[i]; f.fix != nil && f.State != OK {
			if err := f.fix(); err != nil {
				all = errors.Join(all, fmt.Errorf("%s: %w", f.About, err))
				continue
			}
			f.Fixed, f.State = true, OK
		}
	}
	return all
}

// Worst returns the worst state among the findings.
func Worst(findings []Finding) State {
	worst := OK
	for i := range findings {
		worst = min(worst, findings[i].State)
	}
	return worst
}

func (x *examination) add(f Finding) { x.findings = append(x.findings, f) }

// run returns the command line of a subcommand for the examined callgate.
func (x *examination) run(subcommand string) string { return "callgate " + subcommand + x.o.Chosen }

func (x *examination) configuration() {
	switch {
	case x.o.ConfigErr != nil:
		x.add(Finding{About: "configuration", Text: x.o.ConfigErr.Error(), Cure: "callgate config example"})
	case x.o.Config == "":
		x.add(Finding{About: "configuration", State: OK, Text: "no file: defaults"})
	default:
		x.add(Finding{About: "configuration", State: OK, Text: x.o.Config})
	}
}

func (x *examination) hooks() {
	if x.o.HooksErr != nil {
		x.add(Finding{About: "hooks", Text: x.o.HooksErr.Error()})
	}
	for _, h := range x.o.Hooks {
		if h.Problem != "" {
			x.add(Finding{About: "hook " + h.Name, State: Warning, Text: h.Problem, Cure: x.run("hooks test " + h.Name)})
		}
	}
}

func (x *examination) rules() {
	text, err := os.ReadFile(x.o.Rules)
	if errors.Is(err, fs.ErrNotExist) {
		x.add(Finding{About: "rules", State: OK, Text: "callgate writes the shipped rules on first use"})
		return
	}
	if err != nil {
		x.add(Finding{About: "rules", Text: err.Error()})
		return
	}
	file, err := permissions.ParseFile(x.o.Rules, text, x.o.Home)
	if err != nil {
		x.add(Finding{About: "rules", Text: "every call is denied, because the rules cannot be read: " + err.Error(), Cure: x.run("rules edit")})
		return
	}
	options := lint.Options{Kinds: x.o.Kinds}
	for _, s := range x.o.Servers {
		options.Servers = append(options.Servers, s.Name)
	}
	problems, err := lint.Rules(file.Rules, options)
	if err != nil {
		x.add(Finding{About: "rules", Text: err.Error()})
		return
	}
	n := 0
	for _, p := range problems {
		if p.Severity == lint.Warning {
			n++
		}
	}
	if n > 0 {
		x.add(Finding{About: "rules", State: Warning, Text: visible.Count(n, "rule") + " may not work as meant: a misspelled tool, a deny that is lifted, an allow that has no effect, a pattern that is too wide", Cure: x.run("rules lint")})
	} else {
		x.add(Finding{About: "rules", State: OK, Text: fmt.Sprintf("%s: %d rules", x.o.Rules, len(file.Rules))})
	}
	merged, err := store.MergeDefaults(x.o.Rules, text, x.o.Home)
	if err == nil && !bytes.Equal(merged, text) {
		x.add(Finding{About: "rules", State: Warning, Text: "this version ships rules that your file does not have", Cure: x.run("rules defaults --diff"), fix: x.o.Merge})
	}
}

// credentials checks who can read the credentials.
func (x *examination) credentials() {
	dir := credentials.Dir(x.o.DataDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		x.add(Finding{About: "credentials", State: OK, Text: "callgate makes them on first use"})
		return
	}
	if err != nil {
		x.add(Finding{About: "credentials", Text: err.Error()})
		return
	}
	n := len(x.findings)
	if open, ok := errors.AsType[*credentials.OpenError](credentials.CheckPrivate(dir)); ok {
		x.add(Finding{About: "credentials", Text: "others can read " + open.Path, Cure: "chmod 700 " + open.Path, fix: func() error { return os.Chmod(open.Path, 0o700) }})
	}
	var people []string
	for _, e := range entries {
		if person := credentials.Credential(e.Name()).Person(); person != "" {
			people = append(people, e.Name())
		}
		if open, ok := errors.AsType[*credentials.OpenError](credentials.CheckPrivate(filepath.Join(dir, e.Name()))); ok && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			x.add(x.replace(credentials.Credential(e.Name()), open))
		}
	}
	x.damaged()
	if len(x.findings) == n {
		text := "only you can read them"
		if len(people) > 0 {
			slices.Sort(people)
			text += "; people with their own: " + strings.Join(people, ", ")
		}
		x.add(Finding{About: "credentials", State: OK, Text: text})
	}
}

// process is what /api/info returns for one callgate.
type process struct {
	PID     int    `json:"pid"`
	Replica string `json:"replica"` // of the cluster; "" for a process of this machine
	Version string `json:"version"`
	Silent  bool   `json:"silent"`
}

// process reports what is wrong with one process.
func (x *examination) process(p process) {
	f := Finding{About: "hub", State: Warning}
	switch old := p.Version != x.o.Version && p.Version != ""; {
	case p.Silent && p.Replica != "":
		f.Text, f.Cure = fmt.Sprintf("the replica %s does not answer", p.Replica), x.run("cluster status")
	case p.Silent:
		f.Text, f.Cure = fmt.Sprintf("process %d does not answer: it may have been stopped", p.PID), fmt.Sprintf("kill -CONT %d", p.PID)
	case old && p.Replica != "":
		f.Text = fmt.Sprintf("the replica %s is callgate %s: upgrade it", p.Replica, p.Version)
	case old:
		f.Text = fmt.Sprintf("process %d is callgate %s: restart its host", p.PID, p.Version)
	default:
		return
	}
	x.add(f)
}

// remedies lists commands for the problems that a running callgate reports, by words in their texts. Other problems say
// themselves what to do.
var remedies = []struct {
	words, command string
	state          State
}{
	{"the audit log is damaged", "audit verify", Broken},
	{"of the audit log is damaged", "audit verify", Broken},
	{"the audit log cannot be verified", "audit verify", Broken},
	{"take effect when callgate is restarted", "", Warning},
	{"differs from the cluster's rules", "rules diff", Warning},
	{"the other replicas", "cluster status", Broken},
	{"other replicas cannot be told", "cluster status", Broken},
	{"hears from its cluster", "cluster status", Broken},
	{"until the cluster takes them", "cluster status", Broken},
}

// problem reports a problem of a running callgate.
func (x *examination) problem(text string) {
	f := Finding{About: "problems", Text: text}
	for _, one := range remedies {
		if strings.Contains(text, one.words) {
			f.State = one.state
			if one.command != "" {
				f.Cure = x.run(one.command)
			}
			break
		}
	}
	x.add(f)
}

// processes checks what runs.
func (x *examination) processes() {
	var info struct {
		Processes []process            `json:"processes"`
		Upstreams []wire.UpstreamState `json:"upstreams"`
		Problems  []string             `json:"problems"`
	}
	err := x.o.Target.Ask(x.ctx, "GET", "/api/info", nil, &info)
	switch {
	case errors.Is(err, wire.ErrNotRunning):
		f := Finding{About: "hub", State: OK, Text: "no callgate runs now; hosts start it"}
		if used, err := os.ReadDir(filepath.Join(x.o.DataDir, "connect")); err == nil && len(used) > 0 {
			f = Finding{About: "hub", State: Warning, Text: "no callgate runs now: the page is there only while a host uses callgate, or a hub runs", Cure: x.run("hub"), fix: x.o.Start}
		}
		x.add(f)
		x.port()
	case err != nil:
		cure := "open --print"
		if _, ok := errors.AsType[*credentials.OpenError](err); ok {
			cure = "doctor --fix"
		}
		x.add(Finding{About: "hub", Text: err.Error(), Cure: x.run(cure)})
	default:
		x.add(Finding{About: "hub", State: OK, Text: fmt.Sprintf("running processes: %d", len(info.Processes))})
		for _, p := range info.Processes {
			x.process(p)
		}
		for _, problem := range info.Problems {
			x.problem(problem)
		}
		for _, u := range info.Upstreams {
			if strings.HasPrefix(u.Guard, "none") {
				x.add(Finding{About: "guard", State: Warning, Text: fmt.Sprintf("the server %s runs without the guard: %s", u.Name, u.Guard)})
			}
		}
	}
	frozen, err := x.o.Frozen(x.ctx)
	switch {
	case errors.Is(err, gate.ErrUnavailable): // in a cluster
		x.add(Finding{About: "freeze", Text: "cannot tell what is frozen: " + err.Error(), Cure: x.run("cluster status")})
	case err != nil:
		x.add(Finding{About: "freeze", Text: err.Error(), Cure: x.run("unfreeze")})
	}
	for _, f := range frozen {
		if f.Above {
			x.add(Finding{About: "freeze", State: Warning, Text: "frozen: " + f.Told()})
			continue
		}
		cure := "unfreeze"
		if f.SessionID != "" {
			cure += " --session " + f.SessionID
		}
		x.add(Finding{About: "freeze", State: Warning, Text: "frozen: " + f.Told(), Cure: x.run(cure)})
	}
}

// guard reports how a server that starts now would be kept away from callgate.
func (x *examination) guard() {
	f := Finding{About: "guard", State: OK, Text: x.o.Guard}
	if strings.HasPrefix(x.o.Guard, "none") {
		f.State, f.Cure = Warning, "callgate run --guard require refuses servers without it"
	}
	x.add(f)
	for _, s := range x.o.Servers {
		walls := cmp.Or(s.Guard, x.o.Guard)
		f := Finding{About: "server " + s.Name, State: OK, Text: fmt.Sprintf("guard: %s; sandbox: %s", walls, cmp.Or(s.Sandbox, "off"))}
		if s.Guard == "off" || strings.HasPrefix(walls, "none") {
			f.State = Warning
		}
		if s.Down != "" {
			f.State, f.Text, f.Cure = Broken, "it was started and does not answer: "+visible.Text(s.Down), x.run("tools")
		}
		x.add(f)
	}
}

// approvers reports whether people can approve calls, and what an approval needs.
func (x *examination) approvers() {
	keys, err := presence.OpenKeys(x.o.DataDir).List()
	switch {
	case err != nil:
		x.add(Finding{About: "approvers", Text: err.Error(), Cure: x.run("passkeys list")})
	case x.o.Presence != presence.None && x.o.Presence != "" && len(keys) == 0:
		x.add(Finding{About: "approvers", Text: fmt.Sprintf("approvers.presence is %s and there is no passkey: nobody can say yes", x.o.Presence), Cure: x.run("passkeys add")})
	default:
		x.add(Finding{About: "approvers", State: OK, Text: fmt.Sprintf("calls that need a passkey: %s; passkeys: %d", cmp.Or(x.o.Presence, presence.None), len(keys))})
	}
}

// port checks whether another program has the page's address.
func (x *examination) port() {
	if x.o.Listen == "" || x.o.Listen == "off" {
		return
	}
	l, err := net.Listen("tcp", x.o.Listen)
	if err != nil {
		x.add(Finding{About: "hub", State: Warning, Text: fmt.Sprintf("another program has the page's address %s: callgate will take another port", x.o.Listen)})
		return
	}
	l.Close()
	x.add(Finding{About: "hub", State: OK, Text: "the page's address " + x.o.Listen + " is free"})
}

// room is how many bytes of the disk must be free. Less is a warning, and less than a tenth is broken.
const room = 1 << 30

// files checks the data directory and its disk.
func (x *examination) files() {
	dir := x.o.DataDir
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := tryWriting(dir); err != nil {
			x.add(Finding{About: "data", Text: fmt.Sprintf("callgate cannot make %s: %v", dir, err), Cure: "callgate doctor --data-dir FOLDER"})
			return
		}
		x.add(Finding{About: "data", State: OK, Text: "callgate makes " + dir + " on first use"})
		return
	}
	if err == nil {
		err = tryWriting(dir)
	}
	if err != nil {
		x.add(Finding{About: "data", Text: fmt.Sprintf("callgate cannot write in %s: %v", dir, err), Cure: "callgate doctor --data-dir FOLDER"})
		return
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		x.add(Finding{About: "data", State: Warning, Text: fmt.Sprintf("others can read %s", dir), Cure: "chmod 700 " + dir, fix: func() error { return os.Chmod(dir, 0o700) }})
	} else {
		x.add(Finding{About: "data", State: OK, Text: dir})
	}
	if free, ok := freeBytes(dir); ok && free >= room {
		x.add(Finding{About: "disk", State: OK, Text: fmt.Sprintf("%d GiB free", free>>30)})
	} else if ok {
		state := Warning
		if free < room/10 {
			state = Broken
		}
		x.add(Finding{About: "disk", State: state, Text: fmt.Sprintf("%d MiB free on the disk of %s: no call runs if there is no room to record it", free>>20, dir)})
	}
}

// tryWriting creates and removes a file in a folder, or in the closest existing folder above it.
func tryWriting(dir string) error {
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir; _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".callgate-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// maxRead bounds how many bytes of the trail are verified, because more would take too long.
const maxRead = 64 << 20

// trail checks the audit trail, and the clock against the newest record.
func (x *examination) trail() {
	dir := audit.Dir(x.o.DataDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return
	}
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // what cannot be read is reported below
	})
	if size > maxRead {
		x.add(Finding{About: "record", State: OK, Text: fmt.Sprintf("%d MiB, not verified here", size>>20), Cure: x.run("audit verify")})
	} else if report, err := audit.Verify(dir); err != nil {
		x.add(Finding{About: "record", Text: err.Error(), Cure: x.run("audit verify")})
	} else if len(report.Breaks) > 0 {
		x.add(Finding{About: "record", Text: "it is damaged in " + visible.Count(len(report.Breaks), "place"), Cure: x.run("audit verify")})
	} else {
		x.add(Finding{About: "record", State: OK, Text: "no damage found"})
	}
	for r, err := range audit.Read(dir, audit.Filter{Limit: 1}) {
		if err == nil && !r.Time.After(time.Now().Add(time.Minute)) {
			x.add(Finding{About: "clock", State: OK, Text: "not behind the newest record"})
		} else if err == nil {
			x.add(Finding{About: "clock", State: Warning, Text: fmt.Sprintf("the newest record is from %s, which is in the future: the clock was set back", r.Time.Local().Format(time.DateTime))})
		}
	}
}

// checkpoints checks what can be restored.
func (x *examination) checkpoints() {
	if x.o.Checkpoints == nil {
		return
	}
	problems, err := x.o.Checkpoints()
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, text := range problems {
		x.add(Finding{About: "checkpoints", State: Warning, Text: text})
	}
	if len(problems) == 0 {
		x.add(Finding{About: "checkpoints", State: OK, Text: "no damage found"})
	}
}

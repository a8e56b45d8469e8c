package doctor

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/internal/companion/credentials"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
)

// hosts checks each host on this machine: servers that bypass the gate, hooks, and whether the host has obeyed them.
func (x *examination) hosts() {
	if x.o.PlanErr != nil {
		x.add(Finding{About: "hosts", Text: x.o.PlanErr.Error()})
		return
	}
	proof, err := hosthooks.ReadProof(x.o.DataDir)
	if err != nil {
		x.add(Finding{About: "hosts", Text: err.Error()})
	}
	found := false
	for i := range x.o.Plan.Hosts {
		h := &x.o.Plan.Hosts[i]
		if !h.Found {
			found = x.project(h) || found
			continue
		}
		found = true
		x.host(h, proof[h.ID])
	}
	if !found {
		x.add(Finding{About: "hosts", State: Warning, Text: "no host was found on this machine", Cure: x.run("connect --dry-run")})
	}
}

func (x *examination) host(h *install.HostPlan, state hosthooks.State) {
	about := "host " + h.ID
	cure := x.run("connect " + h.ID)
	missing, outdated := false, false
	for i := range h.Changes {
		if c := &h.Changes[i]; c.Hooks() && c.Changes() {
			missing, outdated = true, outdated || hasOurHooks(h.ID, c.Before)
		}
	}
	if !x.reportUngated(h, Broken) {
		x.add(Finding{About: about, State: OK, Text: h.Name + ": no MCP server bypasses the gate"})
	}
	if x.entries(h, about) {
		return
	}
	d, err := hosthooks.Find(h.ID)
	if err != nil {
		text := h.Name + " has no hooks that callgate knows: its built-in tools are not gated"
		if h.Own != "" {
			text += " (" + h.Own + ")"
		}
		x.add(Finding{About: about, State: Warning, Text: text})
		return
	}
	if off := x.switchedOff(d); off != "" {
		x.add(Finding{About: about, Text: h.Name + " is configured to run no hooks: " + off, Cure: "remove that setting"})
		return
	}
	if outdated {
		x.add(Finding{About: about, Text: "hooks of " + h.Name + " are for another callgate: an older version, another place or another data directory", Cure: cure, fix: func() error { return x.o.Connect(h.ID) }})
		return
	}
	if missing {
		x.add(Finding{About: about, Text: "hooks are missing: the built-in tools of " + h.Name + " are not gated", Cure: cure})
		return
	}
	x.add(x.proven(about, h.Name, d, state))
	if x.o.Try != nil {
		x.add(x.tryHook(about, h.Name, d))
	}
}

// reportUngated reports the servers of a host that bypass the gate. It returns false if there are none.
func (x *examination) reportUngated(h *install.HostPlan, state State) bool {
	about := "host " + h.ID
	var names, stay, scopes []string
	for i := range h.Changes {
		c := &h.Changes[i]
		if c.Error != "" {
			x.add(Finding{About: about, State: Warning, Text: fmt.Sprintf("%s cannot be changed: %s", c.Path, c.Error), Cure: x.run("connect " + h.ID + " --dry-run")})
		}
		for _, s := range c.Servers {
			switch {
			case s.Ungated():
				stay = append(stay, s.Name+" ("+s.Stays+")")
			case s.Stays == "":
				names = append(names, s.Name)
				if !slices.Contains(scopes, c.Scope) {
					scopes = append(scopes, c.Scope)
				}
			}
		}
	}
	if len(stay) > 0 {
		x.add(Finding{About: about, State: Warning, Text: fmt.Sprintf("%s: servers bypass the gate, and connect cannot move them: %s", h.Name, strings.Join(stay, ", "))})
	}
	if len(names) == 0 {
		return len(stay) > 0
	}
	x.add(Finding{About: about, State: state, Text: fmt.Sprintf("%s: servers bypass the gate: %s", h.Name, strings.Join(names, ", ")), Cure: x.run("connect " + h.ID + scoped(scopes))})
	return true
}

// project checks the project files of a host that was not otherwise found on this machine. It reports whether it found
// anything. Servers that bypass the gate are only a warning there, unless the host was connected, or a host that was
// found reads the file too.
func (x *examination) project(h *install.HostPlan) bool {
	n := len(x.findings)
	x.entries(h, "host "+h.ID)
	state := Warning
	if len(x.findings) > n || slices.ContainsFunc(h.Changes, func(c install.Change) bool { return x.readByOthers(c.Path) }) {
		state = Broken
	}
	x.reportUngated(h, state)
	return len(x.findings) > n
}

// readByOthers reports whether a host that was found reads a file of servers.
func (x *examination) readByOthers(path string) bool {
	return slices.ContainsFunc(x.o.Plan.Hosts, func(h install.HostPlan) bool {
		found, err := install.Find([]string{h.ID})
		return h.Found && err == nil && x.o.Machine.Reads(&found[0], path)
	})
}

// entries checks callgate's entries among the host's servers. It reports whether one of them starts another callgate,
// because then the host's hooks are for that one too.
func (x *examination) entries(h *install.HostPlan, about string) (elsewhere bool) {
	found, err := install.Find([]string{h.ID})
	if err != nil {
		return false
	}
	for _, e := range install.Entries(x.o.Machine, &found[0]) {
		if options := x.otherwise(&e); options != "" {
			elsewhere = true
			x.add(Finding{About: about, State: Warning, Text: fmt.Sprintf("%s uses another callgate, which was not examined: %s starts it with%s", h.Name, e.Path, options), Cure: "callgate doctor" + options})
		} else if x.o.Enter != nil {
			x.add(x.tryEntry(about, h.Name, &e))
		}
	}
	return elsewhere
}

// otherwise returns the options of an entry that starts another callgate, each after a space. It returns "" if the
// entry starts the examined one.
func (x *examination) otherwise(e *install.Entry) (options string) {
	other := false
	location := e.Location()
	for _, name := range slices.Sorted(maps.Keys(location)) {
		options += fmt.Sprintf(" %s=%s", name, location[name])
		examined, known := x.o.Location[name]
		other = other || known && examined != location[name]
	}
	if !other {
		return ""
	}
	return options
}

// scoped returns the option that makes connect look in the project's files too, or "".
func scoped(scopes []string) string {
	switch {
	case !slices.Contains(scopes, "project"):
		return ""
	case len(scopes) == 1:
		return " --scope project"
	}
	return " --scope " + strings.Join(scopes, ",")
}

// hasOurHooks reports whether a host's file has callgate's hooks.
func hasOurHooks(host string, text []byte) bool {
	return bytes.Contains(text, []byte(" hook "+host)) || bytes.Contains(text, []byte(`"hook","`+host+`"`))
}

// tryHook makes two calls through the host's hook, as if the host worked in a new folder: one that no rule can allow,
// and one that reads a file in the folder, which the shipped rules allow. Both must be in the trail.
func (x *examination) tryHook(about, name string, d *hosthooks.Dialect) Finding {
	return x.runTrial(about, "asked as "+name+" asks", "the hook", x.run("connect "+d.ID), audit.Filter{Tool: d.ID + "_*"}, func(folder, secret, file string) (answers []string, err error) {
		for _, path := range []string{secret, file} {
			why, err := x.o.Try(x.ctx, d, path, folder)
			if err != nil {
				return nil, err
			}
			answers = append(answers, why)
		}
		return answers, nil
	})
}

// tryEntry makes the same two calls through callgate's entry among the host's MCP servers.
func (x *examination) tryEntry(about, name string, e *install.Entry) Finding {
	ctx, cancel := context.WithTimeoutCause(x.ctx, entering, fmt.Errorf("it did not answer within %s", entering))
	defer cancel()
	host := strings.TrimPrefix(about, "host ")
	f := x.runTrial(about, "started as "+name+" starts it", "callgate in "+e.Path, x.run("connect "+host+scoped([]string{e.Scope})), audit.Filter{Tool: "callgate_try"}, func(folder, secret, file string) ([]string, error) {
		answers, err := x.o.Enter(ctx, e.Command, e.Env, folder, secret, file)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		return answers, err
	})
	if f.State == Broken && x.o.Chosen != "" && len(e.Location()) == 0 && credentials.At(x.o.DataDir).Check() == nil {
		f.Text = fmt.Sprintf("%s (%s starts it without%s)", f.Text, e.Path, x.o.Chosen)
		f.Cure = x.run("disconnect "+host) + ", then " + x.run("connect "+host)
	}
	return f
}

// entering bounds how long callgate may take to answer a host.
const entering = 30 * time.Second

// runTrial has ask make the two calls, finds them in the trail, and returns the finding. cure is the remedy if ask
// fails.
func (x *examination) runTrial(about, way, what, cure string, calls audit.Filter, ask func(folder, secret, file string) ([]string, error)) Finding {
	began := time.Now()
	folder, err := os.MkdirTemp("", audit.TrialFolder)
	if err != nil {
		return Finding{About: about, Text: err.Error()}
	}
	defer os.RemoveAll(folder)
	answers, err := ask(folder, filepath.Join(x.o.DataDir, "credentials", string(credentials.Approve)), filepath.Join(folder, "a.txt"))
	if exposed := credentials.At(x.o.DataDir).Check(); err != nil && exposed != nil {
		return Finding{About: about, Text: what + " does not work: " + exposed.Error(), Cure: x.run("doctor --fix")}
	}
	if err != nil {
		why, own := strings.CutPrefix(err.Error(), "callgate: ")
		if own { // the error says what to do
			cure = ""
		}
		return Finding{About: about, Text: what + " does not work: " + why, Cure: cure}
	}
	if answers[0] == "" {
		return Finding{About: about, Text: what + " let a call through that no rule can allow"}
	}
	said := "reading a file of its project was allowed"
	if why, _, _ := strings.Cut(answers[1], " Do not look for another way"); why != "" {
		said = "reading a file of its project is not allowed without you (" + strings.TrimSuffix(strings.TrimPrefix(why, "callgate: "), ".") + ")"
	}
	calls.Since, calls.Limit = began, 10
	var seen []string
	for r, err := range audit.Read(audit.Dir(x.o.DataDir), calls) {
		if err != nil {
			return Finding{About: about, Text: "the record cannot be read: " + err.Error(), Cure: x.run("audit verify")}
		}
		if r.Event == audit.Decision {
			seen = append(seen, r.CallID+" "+strings.ReplaceAll(r.Decision, "_", " "))
		}
	}
	if len(seen) < 2 {
		return Finding{About: about, Text: fmt.Sprintf("calls that were %s are not in the trail", way), Cure: x.run("audit verify")}
	}
	slices.Reverse(seen)
	return Finding{About: about, State: OK, Text: fmt.Sprintf("%s: a call that no rule can allow was refused, and %s. In the trail: %s", way, said, strings.Join(seen, ", "))}
}

// switchedOff returns the setting that stops the host from running hooks, or "".
func (x *examination) switchedOff(d *hosthooks.Dialect) string {
	found, err := install.Find([]string{d.ID})
	if err != nil {
		return err.Error()
	}
	for _, p := range d.Install {
		for name, off := range d.Off {
			path := x.o.Machine.Path(&found[0], p.Path)
			if value, said := install.Switch(path, name); said && value == off {
				return fmt.Sprintf("%s is %v in %s", name, value, path)
			}
		}
	}
	return ""
}

// proven reports what the host's own use of its hooks has shown.
func (x *examination) proven(about, name string, d *hosthooks.Dialect, s hosthooks.State) Finding {
	if s.Version != "" {
		name += " " + s.Version
	}
	when := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	switch {
	case s.Disobeyed != nil && s.Disobeyed.At.After(s.Obeyed):
		return Finding{About: about, Text: fmt.Sprintf("%s (%s): do not rely on its hooks", s.Disobeyed.What, when(s.Disobeyed.At)), Cure: x.run("audit --tail 50")}
	case s.Uncovered != nil && time.Since(s.Uncovered.At) < 7*24*time.Hour:
		return Finding{About: about, State: Warning, Text: fmt.Sprintf("%s (%s)", s.Uncovered.What, when(s.Uncovered.At)), Cure: x.run("audit --tail 50")}
	case s.Seen.IsZero():
		text := name + " has the hooks but has not used them yet: start it, and let it run a command"
		if d.Note != "" {
			text += ". " + d.Note
		}
		return Finding{About: about, State: Warning, Text: text}
	case s.Obeyed.IsZero():
		return Finding{About: about, State: Warning, Text: fmt.Sprintf("%s asks (last %s), and has not shown yet that it obeys: no turn with a denied call is over", name, when(s.Seen))}
	}
	return Finding{About: about, State: OK, Text: fmt.Sprintf("hooks of %s are in force: it asks (last %s), and denied calls did not run (%s)", name, when(s.Seen), when(s.Obeyed))}
}

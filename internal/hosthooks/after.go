package hosthooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
)

// after records that a call ran, and raises an alarm if no decision allowed it.
func (d *Desk) after(v *visit, e *Event) Reply {
	call, err := d.callOf(v, e)
	if err != nil {
		return Reply{Stderr: err.Error(), Exit: 1}
	}
	key := keyOf(e, call)
	v.mu.Lock()
	var r *ran
	if list := v.running[key]; len(list) > 0 {
		if r, v.running[key] = list[0], list[1:]; len(list) == 1 {
			delete(v.running, key)
		}
		delete(v.asked, e.Call)
	}
	_, denied := v.denied[key]
	v.mu.Unlock()
	switch {
	case r != nil:
		d.finish(v, r, e.Result, e.Role == Failed, e.Failure)
		return Reply{}
	case e.Role == Failed: // it did not run
		return Reply{}
	case denied:
		v.mu.Lock()
		delete(v.denied, key)
		v.mu.Unlock()
		d.alarm(v, d.o.Proof.Disobeyed, fmt.Sprintf("%s ran %s although callgate had denied it", v.dialect.Name, tools.Visible(e.Tool)))
	case d.onRecord(v, e, call):
		return Reply{}
	default:
		v.hear(key) // so that the transcript does not raise the alarm again
		d.alarm(v, d.o.Proof.Uncovered, fmt.Sprintf("%s ran %s, and callgate was not asked", v.dialect.Name, tools.Visible(e.Tool)))
	}
	return v.dialect.say(After, "context", "callgate has no decision that allowed this call. Stop, and tell the user.")
}

// done records what a host reports only afterwards.
func (d *Desk) done(v *visit, e *Event) Reply {
	call, err := d.callOf(v, e)
	if err != nil {
		return Reply{Stderr: err.Error(), Exit: 1}
	}
	a := tools.Analyze(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place})
	d.note(v, fmt.Sprintf("%s did this without asking: %s", v.dialect.Name, a.Summary))
	for _, w := range a.Writes {
		if why := d.o.Gate.Files.ForbidsWriting(v.session, call.Place, w.Path); why != "" {
			d.alarm(v, d.o.Proof.Uncovered, fmt.Sprintf("%s changed a file that the rules deny: %s", v.dialect.Name, why))
		}
	}
	return Reply{}
}

// finish reports a call's outcome to the gate.
func (d *Desk) finish(v *visit, r *ran, result []byte, isError bool, failure string) {
	d.o.Gate.Finish(v.session, r.call, result, isError, failure, time.Since(r.began))()
	r.end(context.Background())
}

// forget ends the calls of a visit as if they had run. Its denied calls then prove nothing.
func (d *Desk) forget(v *visit) {
	v.mu.Lock()
	running := v.running
	v.running, v.denied = map[string][]*ran{}, map[string]string{}
	v.mu.Unlock()
	for _, list := range running {
		for _, r := range list {
			d.finish(v, r, nil, false, "")
		}
	}
}

// settle ends a turn: denied calls have not run, and no more news of the allowed ones will come.
func (d *Desk) settle(v *visit) {
	v.mu.Lock()
	running := v.running
	obeyed := len(v.denied) > 0
	v.running, v.denied, v.asked = map[string][]*ran{}, map[string]string{}, map[string]questions{}
	version := v.version
	v.mu.Unlock()
	reports := v.dialect.has(After) // the host says which calls ran
	for _, list := range running {
		for _, r := range list {
			failure := ""
			if reports {
				failure = "the host did not report the outcome"
			}
			d.finish(v, r, nil, false, failure)
		}
	}
	if obeyed && reports {
		d.o.Proof.Obeyed(v.dialect.ID, version)
	}
}

func (d *Desk) note(v *visit, summary string) {
	if err := d.o.Gate.Controls.Note(v.session.ID(), audit.Author{By: "hook:" + v.dialect.ID}, summary); err != nil {
		d.o.Log.Error("cannot record what a host reported", "host", v.dialect.ID, "error", err)
	}
}

func (d *Desk) alarm(v *visit, prove func(host, version, what string), text string) {
	v.mu.Lock()
	version := v.version
	v.mu.Unlock()
	d.note(v, "ALARM: "+text+".")
	prove(v.dialect.ID, version, text)
	if d.o.Alarm != nil {
		d.o.Alarm(v.dialect.ID, text+" (session "+v.session.ID()+")")
	}
}

// ours reports whether the call goes to callgate's MCP server, which judges it there.
func (d *Desk) ours(v *visit, e *Event) bool {
	if d.o.Own == nil {
		return false
	}
	return slices.ContainsFunc(d.o.Own(v.dialect.ID, v.project), func(name string) bool {
		return e.Server == name || e.Server == "" && v.dialect.ofServer(e.Tool, name)
	})
}

const (
	lookBack  = time.Hour // how old the decision on a call may be
	lookAmong = 400       // how many of the newest records to search
)

// onRecord reports whether the trail has a decision that allowed a call. Another process may have made it: callgate's
// MCP server judges its own calls, and this process may have started later.
func (d *Desk) onRecord(v *visit, e *Event, call gate.Call) bool {
	if d.o.Audit == "" {
		return false
	}
	ours := d.ours(v, e)
	for r, err := range audit.Read(d.o.Audit, audit.Filter{Since: time.Now().Add(-lookBack), Limit: lookAmong}) {
		if err != nil || r.Event != audit.Decision || !slices.Contains([]string{gate.DecidedAutoApproved, gate.DecidedApproved, gate.DecidedTrusted}, r.Decision) {
			continue
		}
		if r.Digest == call.Digest && (r.Tool == call.Tool.Qualified || ours && strings.HasSuffix(e.Tool, r.Tool)) {
			return true
		}
		if ours && strings.HasSuffix(e.Tool, r.Tool) && r.Tool != "" {
			return true
		}
	}
	return false
}

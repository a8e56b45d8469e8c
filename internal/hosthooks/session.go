package hosthooks

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"callgate/gate/tools"
)

// leave ends a visit.
func (d *Desk) leave(dialect *Dialect, session string) {
	key := dialect.ID + "\x00" + session
	d.mu.Lock()
	v := d.visits[key]
	delete(d.visits, key)
	d.mu.Unlock()
	if v != nil {
		d.end(v)
	}
}

func (d *Desk) end(v *visit) {
	d.checkTranscript(v)
	d.settle(v)
	v.session.Close()
}

// Close ends all visits.
func (d *Desk) Close() {
	d.mu.Lock()
	visits := d.visits
	d.visits = map[string]*visit{}
	d.mu.Unlock()
	for _, v := range visits {
		d.end(v)
	}
}

// Rest ends visits that have been silent for longer than patience. It returns how long the desk has had no visit and no
// request; 0 if it has one.
func (d *Desk) Rest(patience time.Duration) time.Duration {
	d.mu.Lock()
	var old []*visit
	for key, v := range d.visits {
		v.mu.Lock()
		if time.Since(v.last) > patience {
			old = append(old, v)
			delete(d.visits, key)
		}
		v.mu.Unlock()
	}
	idle := time.Duration(0)
	if d.busy == 0 && len(d.visits) == 0 {
		idle = time.Since(d.last)
	}
	d.mu.Unlock()
	for _, v := range old {
		d.end(v)
	}
	return idle
}

// forgotten is how long the desk waits for news about an allowed call.
const forgotten = 10 * time.Minute

// Busy reports whether a request is in progress, or a host's call is running.
func (d *Desk) Busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy > 0 {
		return true
	}
	for _, v := range d.visits {
		v.mu.Lock()
		running := len(v.running) > 0 && time.Since(v.last) < forgotten
		v.mu.Unlock()
		if running {
			return true
		}
	}
	return false
}

// prompt records the size and a digest of the person's prompt, never its text.
func (d *Desk) prompt(v *visit, e *Event) {
	if e.Prompt == "" {
		return
	}
	v.mu.Lock()
	quiet := len(v.running) == 0
	v.mu.Unlock()
	sum := sha256.Sum256([]byte(e.Prompt))
	d.note(v, fmt.Sprintf("A prompt to %s: %d bytes, sha256 %s.", v.dialect.Name, len(e.Prompt), hex.EncodeToString(sum[:8])))
	if !quiet { // the turn goes on
		return
	}
	d.settle(v)
	v.mu.Lock()
	v.turn = turn{began: time.Now()}
	v.mu.Unlock()
	v.session.NewTurn()
	if d.o.Prompted != nil {
		d.o.Prompted(v.session, e.Prompt)
	}
}

// start asks for a canary if this version of the host has not shown whether it obeys.
func (d *Desk) start(v *visit) Reply {
	if _, speaks := v.dialect.Answers[Start]["context"]; !speaks || !v.dialect.has(After) {
		return Reply{}
	}
	word, wanted := d.o.Proof.Canary(v.dialect.ID, v.version)
	if !wanted {
		return Reply{}
	}
	return v.dialect.say(Start, "context", fmt.Sprintf("callgate gates the tools here and has to know once whether %s obeys it. Before your first other tool call, run the harmless shell command `true %s` once. It will be refused; that is the expected result. Then go on with the user's task.", v.dialect.Name, word))
}

// noteMode records that the host itself asks nobody in its current mode.
func (d *Desk) noteMode(v *visit, e *Event) {
	if !slices.Contains(v.dialect.Careless, e.Mode) {
		return
	}
	v.mu.Lock()
	told := v.told[e.Mode]
	v.told[e.Mode] = true
	v.mu.Unlock()
	if !told {
		d.note(v, fmt.Sprintf("%s runs in its mode %s: it asks nobody by itself, and callgate alone decides.", v.dialect.Name, tools.Visible(e.Mode)))
	}
}

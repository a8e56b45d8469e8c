package presence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"callgate/audit"
)

// Acts in the records of registration and removal.
const (
	ActAdd    = "POST /api/presence/keys"
	ActRemove = "DELETE /api/presence/keys/"
)

// RemovedSummary returns the summary that records the removal of a passkey.
func RemovedSummary(k Key) string { return removedPrefix + k.ID }

const removedPrefix = "Passkey removed: "

// VerifyTrail checks every proof in a trail again, and whether each record says what was signed. It needs only the
// trail and the list of passkeys in the same data directory. checked is the number of proofs.
func VerifyTrail(trailDir string) (checked int, breaks []audit.Break, err error) {
	known, err := OpenKeys(filepath.Dir(trailDir)).List()
	if err != nil {
		return 0, nil, err
	}
	t := trail{known: map[string]span{}, used: map[string]string{}, asked: map[string]string{}}
	for _, k := range known {
		t.known[k.fingerprint()] = span{}
	}
	var records []audit.Record
	for r, err := range audit.Read(trailDir, audit.Filter{}) {
		if err != nil {
			continue // the check of the chain reports it
		}
		if r.Event == audit.Asked {
			t.asked[r.CallID] = r.Digest
		}
		if len(r.Presence) > 0 || strings.HasPrefix(r.Summary, removedPrefix) {
			r.Arguments, r.Subjects = nil, nil
			records = append(records, r)
		}
	}
	for i := len(records) - 1; i >= 0; i-- { // oldest first
		r := &records[i]
		if len(r.Presence) > 0 {
			checked++
		}
		if why := t.check(r); why != "" {
			breaks = append(breaks, audit.Break{File: cmp.Or(r.CallID, r.Hash), Seq: r.Seq, Why: audit.WhyPresence, Detail: why})
		}
	}
	return checked, breaks, nil
}

// span is until when a passkey was valid; zero means that it still is.
type span struct{ to time.Time }

type trail struct {
	known map[string]span   // by fingerprint
	used  map[string]string // nonce → id of the call that it was for
	asked map[string]string // calls that a person was asked about → digest of their arguments
}

// fingerprint identifies a passkey and its public key.
func (k *Key) fingerprint() string { return fmt.Sprintf("%q %x", k.ID, k.Public) }

// check returns what is wrong with the proof in a record, or "".
func (t *trail) check(r *audit.Record) string {
	if id, removed := strings.CutPrefix(r.Summary, removedPrefix); removed && r.Event == audit.Control {
		for name := range t.known {
			if strings.HasPrefix(name, fmt.Sprintf("%q ", id)) {
				t.known[name] = span{r.Time}
			}
		}
	}
	if len(r.Presence) == 0 {
		return ""
	}
	var p Proof
	if err := json.Unmarshal(r.Presence, &p); err != nil {
		return "the proof cannot be read: " + err.Error()
	}
	if err := p.Verify(); err != nil {
		return "the proof does not hold: " + err.Error()
	}
	if r.Event == audit.Control && p.Statement.Act == ActAdd {
		t.known[p.Key.fingerprint()] = span{}
	}
	was, known := t.known[p.Key.fingerprint()]
	removing := strings.HasPrefix(p.Statement.Act, ActRemove)
	switch {
	case !known:
		return "the passkey was never registered"
	case !was.to.IsZero() && r.Time.After(was.to) && !removing:
		return "the passkey was removed before"
	}
	return t.difference(r, &p)
}

// difference returns how the record differs from what was signed, or "".
func (t *trail) difference(r *audit.Record, p *Proof) string {
	s := &p.Statement
	before, again := t.used[s.Nonce]
	t.used[s.Nonce] = r.CallID
	if r.Event != audit.Decision {
		if again {
			return "an earlier record has the same proof"
		}
		return ""
	}
	switch {
	case r.Digest != s.Runs:
		return "a call with other arguments was approved"
	case r.Decision == "approved" && s.Act != "approve" && s.Act != "always":
		return "something other than an approval was signed"
	case again && before != s.Approval, !again && r.CallID != s.Approval && t.asked[s.Approval] != s.Digest:
		// A repeated call has another id than the one given up. An approval decided meanwhile is recorded twice.
		return "another call was approved"
	}
	return ""
}

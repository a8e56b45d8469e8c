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

// What records of registration and removal say was done.
const (
	ActAdd    = "POST /api/presence/keys"
	ActRemove = "DELETE /api/presence/keys/"
)

// RemovedSummary is how the removal of a passkey is recorded.
func RemovedSummary(k Key) string { return removedPrefix + k.ID }

const removedPrefix = "Passkey removed: "

// VerifyTrail checks every proof in a data directory's trail again, and what each record says against it. It needs
// nothing but the trail and the list of passkeys. checked is how many proofs there are.
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
			continue // the chain's own check names it
		}
		if r.Event == audit.Asked {
			t.asked[r.CallID] = r.Digest
		}
		if len(r.Presence) > 0 || strings.HasPrefix(r.Summary, removedPrefix) {
			r.Arguments, r.Subjects = nil, nil
			records = append(records, r)
		}
	}
	for i := len(records) - 1; i >= 0; i-- { // the oldest first
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

// span is from when to when a passkey counted; a zero end is now.
type span struct{ to time.Time }

type trail struct {
	known map[string]span   // by fingerprint
	used  map[string]string // nonces, and the id of the call that they were for
	asked map[string]string // ids of calls that a person was asked about, and digests of their arguments
}

// fingerprint names a passkey and its public key.
func (k *Key) fingerprint() string { return fmt.Sprintf("%q %x", k.ID, k.Public) }

// check says what is wrong with the proof in a record, "" when nothing is.
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
	return t.fits(r, &p)
}

// fits says whether the record tells of something else than what was signed.
func (t *trail) fits(r *audit.Record, p *Proof) string {
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
		// A call that its host gave up and repeats has another id; one that was decided meanwhile is recorded twice.
		return "another call was approved"
	}
	return ""
}

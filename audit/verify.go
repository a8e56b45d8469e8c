package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/durable"
)

// State is how a log ended.
type State string

const (
	Closed  State = "closed"  // by its process: complete
	Sealed  State = "sealed"  // its process was killed; a later one recorded in the manifest how it found the log
	Killed  State = "killed"  // its process was killed and nobody has sealed it yet, or it is empty
	Writing State = "writing" // its process holds it
)

// Why is what is wrong with a line or a file.
type Why string

const (
	WhyHash      Why = "hash"      // the line was changed: its hash does not match
	WhyChain     Why = "chain"     // the line is genuine but in the wrong place: lines were removed, moved or inserted
	WhyMissing   Why = "missing"   // the manifest names a log that does not exist
	WhyTruncated Why = "truncated" // the end of a log is gone
	WhyPresence  Why = "presence"  // no passkey signed what the record says
	WhyManifest  Why = "manifest"  // the manifest does not match the logs
)

// Break is one place where the logs were tampered with or damaged.
type Break struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitzero"` // from 1; 0: the file as a whole
	Seq    uint64 `json:"seq,omitzero"`  // of the record that was expected there
	Why    Why    `json:"why"`
	Detail string `json:"detail"`
}

// String returns a description for people.
func (b Break) String() string {
	var s strings.Builder
	s.WriteString(b.File)
	if b.Line > 0 {
		fmt.Fprintf(&s, " line %d", b.Line)
	}
	if b.Seq > 0 {
		fmt.Fprintf(&s, " (record %d)", b.Seq)
	}
	return s.String() + ": " + string(b.Why) + ": " + b.Detail
}

// LogReport is the result of Verify for one log file.
type LogReport struct {
	File    string `json:"file"`
	State   State  `json:"state"`
	Records int    `json:"records"`       // whole and in place, before the first break
	Good    Head   `json:"good"`          // the last of them; without any, what the first would follow
	Vouched uint64 `json:"vouched"`       // the last record that the manifest covers: it reveals no later cut
	Torn    int    `json:"torn,omitzero"` // bytes of a line that the process did not finish
	Break   *Break `json:"break,omitempty"`
}

// Report is the result of Verify.
type Report struct {
	Manifest Head        `json:"manifest"`        // the last genuine entry: anchor it
	Logs     []LogReport `json:"logs"`            // in the order of opening
	Records  int         `json:"records"`         // of all logs
	Proofs   int         `json:"proofs,omitzero"` // proofs of presence; the caller checks and counts them
	Breaks   []Break     `json:"breaks,omitempty"`
}

// OK reports whether nothing is broken.
func (r *Report) OK() bool { return len(r.Breaks) == 0 }

// First returns the first break: of the manifest, or else of the log that was opened first.
func (r *Report) First() (b Break, broken bool) {
	if r.OK() {
		return Break{}, false
	}
	return r.Breaks[0], true
}

// Verify checks every log in dir against its own chain, the manifest, and heads that were anchored elsewhere. It
// changes nothing and may run while logs are written. It returns an error if something cannot be read; breaks are in
// the Report.
//
// Without anchored heads, anybody who can write both the logs and the manifest can forge both.
func Verify(dir string, anchored ...Head) (Report, error) {
	v := verifier{dir: dir, claims: make(map[string]*claim), anchored: make(map[string][]mark)}
	for _, h := range anchored {
		v.anchored[h.File] = append(v.anchored[h.File], mark{h.Seq, h.Hash, "an anchored head"})
	}
	if err := v.run(); err != nil {
		return v.report, fmt.Errorf("audit: verify: %w", err)
	}
	return v.report, nil
}

type verifier struct {
	dir      string
	anchored map[string][]mark // by file
	order    []*claim
	claims   map[string]*claim // by file
	held     map[string]bool   // whether a log's process was alive before the manifest was read
	report   Report
}

// claim is what the manifest says about one log.
type claim struct {
	open  entry
	marks []mark
	end   *entry // the first close or seal
}

func (v *verifier) run() error {
	// First list the folder, then find the living processes, then read the manifest. A log is named there before it has
	// a record, and closed there before its lock is free.
	ends, err := logEnds(v.dir)
	if err != nil {
		return err
	}
	if v.held, err = heldLogs(v.dir, ends); err != nil {
		return err
	}
	if err := v.readManifest(); err != nil {
		return err
	}
	for _, c := range v.order {
		if err := v.verifyLog(c); err != nil {
			return err
		}
	}
	for _, end := range ends {
		if v.claims[end.name] == nil && end.size > 0 {
			v.broken(Break{File: end.name, Why: WhyManifest, Detail: "the manifest does not name this log: its entry was removed, or the log was put here"})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(v.anchored)) {
		if file != manifestName && v.claims[file] == nil {
			v.broken(Break{File: file, Seq: v.anchored[file][0].seq, Why: WhyMissing, Detail: "an anchored head names this log, the manifest does not"})
		}
	}
	return nil
}

func (v *verifier) broken(b Break) { v.report.Breaks = append(v.report.Breaks, b) }

// heldLogs reports which logs are held by their processes. A log that begins later is missing, and counts as held.
func heldLogs(dir string, ends []logEnd) (map[string]bool, error) {
	held := make(map[string]bool)
	for _, end := range ends {
		path := filepath.Join(dir, end.name+lockExt)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			held[end.name] = false
			continue
		}
		lock, err := osDisk{}.lock(path, 0)
		held[end.name] = errors.Is(err, errLocked)
		if err == nil {
			err = lock.Close()
		}
		if err != nil && !errors.Is(err, errLocked) {
			return nil, err
		}
	}
	return held, nil
}

// readManifest checks the manifest's chain and collects its claims, also those after a break: they can only add breaks
// to a log.
func (v *verifier) readManifest() error {
	c := chain{file: manifestName, hash: manifestGenesis, resumes: true, marks: v.anchored[manifestName]}
	f, err := durable.Open(filepath.Join(v.dir, manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var unfit []Break
	if err == nil {
		defer f.Close()
		err = c.walk(f, func(line []byte) (link, error) {
			e, err := decodeEntry(line)
			if err != nil {
				return link{}, err
			}
			if why := v.take(e); why != "" {
				unfit = append(unfit, Break{File: manifestName, Line: c.line, Seq: e.Seq, Why: WhyManifest, Detail: why})
			}
			return link{e.Seq, e.Prev}, nil
		})
		if err != nil {
			return err
		}
	}
	c.finish()
	v.report.Manifest = Head{File: manifestName, Seq: c.seq, Hash: c.hash}
	if c.broken != nil {
		v.broken(*c.broken)
	}
	v.report.Breaks = append(v.report.Breaks, unfit...)
	return nil
}

// take adds one entry to the claims. It returns why the entry does not fit the earlier ones, or "".
func (v *verifier) take(e entry) (unfit string) {
	of := v.claims[e.File]
	if e.Kind == entryOpen {
		switch before := v.claims[e.Continues]; {
		case of != nil:
			return "the log " + e.File + " was opened before"
		case e.Continues != "" && (before == nil || before.end == nil || before.end.Head != e.Head || before.end.Records != e.Records):
			return "it continues " + e.Continues + ", which did not end like this"
		}
		of = &claim{open: e}
		v.claims[e.File] = of
		v.order = append(v.order, of)
		return ""
	}
	if of == nil {
		return "the log " + e.File + " was never opened"
	}
	of.marks = append(of.marks, mark{e.Records, e.Head, fmt.Sprintf("entry %d of the manifest", e.Seq)})
	if of.end == nil && (e.Kind == entryClose || e.Kind == entrySeal) {
		of.end = &e
	}
	return ""
}

func (v *verifier) verifyLog(of *claim) error {
	name := of.open.File
	c := chain{file: name, seq: of.open.Records, hash: of.open.Hash, marks: append(of.marks, v.anchored[name]...), end: of.end}
	f, err := durable.Open(filepath.Join(v.dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.breaks(WhyMissing, "the manifest names this log, and it is not here")
		c.broken.Line = 0
	case err != nil:
		return err
	default:
		defer f.Close()
		err = c.walk(f, func(line []byte) (link, error) {
			r, err := decode(line)
			return link{r.Seq, r.Prev}, err
		})
		if err != nil {
			return err
		}
		c.finish()
	}
	log := LogReport{
		File: name, State: v.state(of), Good: Head{File: name, Seq: c.seq, Hash: c.hash},
		Records: int(c.seq - of.open.Records), Torn: c.torn, Break: c.broken,
	}
	for _, m := range c.marks {
		log.Vouched = max(log.Vouched, m.seq)
	}
	v.report.Logs = append(v.report.Logs, log)
	v.report.Records += log.Records
	if c.broken != nil {
		v.broken(*c.broken)
	}
	return nil
}

func (v *verifier) state(of *claim) State {
	held, listed := v.held[of.open.File]
	switch {
	case of.end != nil && of.end.Kind == entryClose:
		return Closed
	case of.end != nil:
		return Sealed
	case held || !listed:
		return Writing
	}
	return Killed
}

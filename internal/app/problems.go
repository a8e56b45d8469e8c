package app

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"callgate/audit"
	"callgate/internal/app/checkpoints"
	"callgate/internal/durable"
)

// problems holds the faults in callgate's files. They are logged when they begin and end, and shown to people and by
// the health check.
type problems struct {
	log *slog.Logger

	mu    sync.Mutex
	about map[string][]string
}

// set replaces the problems of one thing. Without texts, that thing is well again.
func (p *problems) set(what string, texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.about[what]
	if p.about == nil {
		p.about = map[string][]string{}
	}
	p.about[what] = texts
	for _, text := range texts {
		if !slices.Contains(before, text) {
			p.log.Warn(text)
		}
	}
	if len(before) > 0 && len(texts) == 0 {
		p.log.Info(what + " works again")
	}
}

// of returns a function that shows errors about one thing, with text in front. A nil error means that all is well.
func (p *problems) of(what, text string) func(error) {
	return func(err error) {
		if err == nil {
			p.set(what)
			return
		}
		p.set(what, text+err.Error())
	}
}

// list returns all problems, sorted.
func (p *problems) list() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, texts := range p.about {
		all = append(all, texts...)
	}
	slices.Sort(all)
	return all
}

// maxCheckedAtStart bounds the size of the logs that every start verifies, in bytes.
const maxCheckedAtStart = 64 << 20

// look checks the files that earlier processes left, and removes unfinished ones.
func (p *problems) look(dir string, keeps *checkpoints.Checkpoints) {
	for _, folder := range []string{"approvals", "companions", "credentials", "hub", "workers", "logins", "hooks", "webhooks", "cache"} {
		durable.Sweep(filepath.Join(dir, folder), 3)
	}
	durable.Sweep(dir, 0)
	if keeps != nil {
		if found, err := keeps.Store.Check(false); err != nil {
			p.set("the checkpoints", "checkpoints cannot be looked at: "+err.Error())
		} else {
			p.set("the checkpoints", found...)
		}
	}
	trail := audit.Dir(dir)
	if size := sizeOf(trail); size > maxCheckedAtStart {
		p.log.Info("the audit logs are not verified at the start: run callgate audit verify", "bytes", size)
		return
	}
	report, err := audit.Verify(trail)
	if err != nil {
		p.set("the audit log", "the audit log cannot be verified: "+err.Error())
		return
	}
	var found []string
	for i, b := range report.Breaks {
		if i == maxShownBreaks {
			found = append(found, "more of the audit log is damaged: run callgate audit verify")
			break
		}
		found = append(found, "the audit log is damaged: "+b.String()+"; run callgate audit verify")
	}
	p.set("the audit log", found...)
}

// maxShownBreaks is how many damaged places people are shown unasked.
const maxShownBreaks = 3

// sizeOf returns the total size of the files in a folder.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // what cannot be read is not counted
	})
	return size
}

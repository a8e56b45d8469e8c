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

// problems are faults in callgate's files. They are logged when they are found and when they end, and shown by health
// and to people.
type problems struct {
	log *slog.Logger

	mu    sync.Mutex
	about map[string][]string
}

// set replaces the problems of one thing; none means that it is well.
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

// of returns what hears of faults in one thing, as text and the fault's own; nil means that it is well.
func (p *problems) of(what, text string) func(error) {
	return func(err error) {
		if err == nil {
			p.set(what)
			return
		}
		p.set(what, text+err.Error())
	}
}

// list returns all problems.
func (p *problems) list() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, texts := range p.about {
		all = append(all, texts...)
	}
	slices.Sort(all)
	return all
}

// maxCheckedAtStart bounds the logs that every start reads through, in bytes.
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

// maxShownBreaks is how many places people are told of without asking.
const maxShownBreaks = 3

// sizeOf is how much the files of a folder hold.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // what cannot be seen is not counted
	})
	return size
}

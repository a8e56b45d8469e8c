package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

const (
	// A server that registers its tools one by one announces each: wait for the last.
	minSettle = 100 * time.Millisecond
	// A server that announces a change whenever it is asked is asked less and less often.
	maxSettle = 10 * time.Second

	listTimeout = 60 * time.Second // all pages of one list

	// A list that could not be read is not asked for more often than this.
	reread = 2 * time.Second
)

// shelves hold the lists of a server.
type shelves struct {
	mu sync.Mutex
	of [len(Kinds)]shelf
}

type shelf struct {
	list *List // nil when nobody ever saw it

	by     *incarnation // that was asked last
	err    error        // how that went
	failed time.Time    // when, if it did not go well

	pass  chan struct{} // closed at the end of the pass that runs or is about to; nil when none does
	again bool          // the list changed during the pass
}

// recall puts a list from the cache onto its shelf.
func (s *shelves) recall(k Kind, list *List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[k].list = list
}

// leave ends the fetches of an incarnation; none begins after it.
func (s *shelves) leave(in *incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.cancel()
}

// List returns the list as it is known now, from the running server or, until that has answered, from an
// earlier run. known is false when nobody ever saw it.
func (u *Upstream) List(k Kind) (list List, known bool) {
	u.shelves.mu.Lock()
	defer u.shelves.mu.Unlock()
	if s := &u.shelves.of[k]; s.list != nil {
		return *s.list, true
	}
	return List{}, false
}

// Fresh returns the list as the running server tells it. It starts a server that is down, waits for a
// fetch that runs, and fetches again when the last one failed.
func (u *Upstream) Fresh(ctx context.Context, k Kind) (List, error) {
	in, err := u.acquire(ctx)
	if err != nil {
		return List{}, err
	}
	for waited := false; ; waited = true {
		list, told, err := u.told(in, k)
		if told && (err == nil || waited) {
			return list, err
		}
		pass := u.fetch(in, k, 0)
		if pass == nil {
			return List{}, in.verdict(ctx)
		}
		select {
		case <-pass:
		case <-in.over:
			return List{}, in.down
		case <-ctx.Done():
			return List{}, ctx.Err()
		}
	}
}

// ListError returns why the running server's list could not be read; nil when it could, or is being read.
func (u *Upstream) ListError(k Kind) error {
	in := u.current.Load()
	u.shelves.mu.Lock()
	defer u.shelves.mu.Unlock()
	s := &u.shelves.of[k]
	if in == nil || s.by != in || s.pass != nil {
		return nil
	}
	return s.err
}

// Reread begins to read a list again that could not be read, unless that was just now. It does not wait.
func (u *Upstream) Reread(k Kind) {
	if u.ListError(k) == nil {
		return
	}
	u.shelves.mu.Lock()
	recent := time.Since(u.shelves.of[k].failed) < reread
	u.shelves.mu.Unlock()
	if in := u.current.Load(); in != nil && !recent {
		u.fetch(in, k, 0)
	}
}

// told returns how the last fetch by in ended; told is false when none has.
func (u *Upstream) told(in *incarnation, k Kind) (list List, told bool, err error) {
	u.shelves.mu.Lock()
	defer u.shelves.mu.Unlock()
	s := &u.shelves.of[k]
	switch {
	case s.by != in:
		return List{}, false, nil
	case s.err != nil:
		return List{}, true, s.err
	}
	return *s.list, true, nil
}

// fetchAll fetches every list, all at the same time.
func (u *Upstream) fetchAll(in *incarnation) {
	for _, k := range Kinds {
		u.fetch(in, k, 0)
	}
}

// announced fetches a list that the server says has changed.
func (u *Upstream) announced(in *incarnation, k Kind) {
	if !in.greeted.Load() {
		return // all lists will be fetched
	}
	u.shelves.mu.Lock()
	if s := &u.shelves.of[k]; s.pass != nil {
		s.again = true
	}
	u.shelves.mu.Unlock()
	u.fetch(in, k, minSettle)
}

// fetch begins a pass after settle, unless one runs, and returns the pass; nil when in is over.
func (u *Upstream) fetch(in *incarnation, k Kind, settle time.Duration) <-chan struct{} {
	u.shelves.mu.Lock()
	defer u.shelves.mu.Unlock()
	if in.ctx.Err() != nil { // its fetches may be waited for already
		return nil
	}
	s := &u.shelves.of[k]
	if s.pass == nil {
		s.pass, s.again = make(chan struct{}), false
		in.workers.Go(func() { u.keep(in, k, settle) })
	}
	return s.pass
}

// keep makes passes as long as the list changes meanwhile.
func (u *Upstream) keep(in *incarnation, k Kind, settle time.Duration) {
	for {
		pause(in.ctx, settle)
		u.shelves.mu.Lock()
		u.shelves.of[k].again = false
		u.shelves.mu.Unlock()

		list, err := in.pages(k)
		if err != nil && in.ctx.Err() == nil {
			u.log.Warn("list of the server not read", "list", k.String(), "error", err)
		}
		changed := u.shelve(in, k, list.shared(), err)
		if changed {
			u.tellList(k)
			u.saveList(k, list)
		}
		again := u.finish(in, k)
		if err != nil && in.ctx.Err() == nil {
			u.tellList(k)
		}
		if !again {
			return
		}
		settle = min(max(2*settle, minSettle), maxSettle)
	}
}

func (u *Upstream) tellList(k Kind) {
	if u.events.ListChanged != nil {
		u.events.ListChanged(u, k)
	}
}

// shelve takes what a pass has brought. A list that could not be read leaves the one before where it is.
func (u *Upstream) shelve(in *incarnation, k Kind, list *List, err error) (changed bool) {
	u.shelves.mu.Lock()
	defer u.shelves.mu.Unlock()
	s := &u.shelves.of[k]
	if err == nil {
		changed = s.list == nil || !s.list.same(*list)
		s.list = list
	}
	s.by, s.err = in, err
	if err != nil {
		s.failed = time.Now()
	}
	return changed
}

// finish ends a pass and reports whether another one is due.
func (u *Upstream) finish(in *incarnation, k Kind) (again bool) {
	u.shelves.mu.Lock()
	defer u.shelves.mu.Unlock()
	s := &u.shelves.of[k]
	close(s.pass)
	s.pass = nil
	again = s.again && in.ctx.Err() == nil
	if again {
		s.pass = make(chan struct{})
	}
	return again
}

// pages reads all pages of a list.
func (in *incarnation) pages(k Kind) (List, error) {
	if !in.info.Declares(k) {
		return List{}, nil
	}
	ctx, cancel := context.WithTimeout(in.ctx, listTimeout)
	defer cancel()
	r := newListReader(k, in.u.log)
	defer r.log.report()
	var params []byte
	for {
		m, err := in.ask(ctx, func(id []byte) []byte { return rpc.Request(id, k.Method(), params) })
		switch {
		case err != nil:
			return List{}, err
		case m.Error != nil && r.list.Pages == 0 && methodNotFound(m.Error):
			return List{}, nil // resources without templates, say
		case m.Error != nil:
			return List{}, fmt.Errorf("%s: %s", k.Method(), excerpt(m.Error))
		}
		cursor, err := r.add(m.Result)
		if err != nil {
			return List{}, fmt.Errorf("%s: %w", k.Method(), err)
		}
		if cursor == nil {
			if k == Tools {
				in.dropUncallable(&r.list)
			}
			return r.list, nil
		}
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
}

func methodNotFound(fault []byte) bool {
	var code [1]jsonx.Member
	return jsonx.Members(fault, []string{"code"}, code[:]) == nil && string(code[0].Value) == "-32601"
}

// pause waits for d, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/periodic"
	"callgate/internal/rpc"
)

const (
	// A server that registers its tools one by one announces each; callgate waits for the last.
	minSettle = 100 * time.Millisecond
	// A server that announces a change whenever it is asked is asked less and less often.
	maxSettle = 10 * time.Second

	listTimeout = 60 * time.Second // for all pages of one list

	// A list that could not be read is not asked for again sooner than this.
	reread = 2 * time.Second
)

// Lists holds the lists of one server, as last told by it.
type Lists struct {
	running func() *incarnation // nil if the server is not running
	ready   func(context.Context) (*incarnation, error)
	changed func(k Kind) // called for every new list, and for lists that cannot be read
	cache   *cache
	log     *slog.Logger

	mu sync.Mutex
	of [len(Kinds)]listState
}

// listState is one list, and the state of reading it.
type listState struct {
	list *List // nil if it was never read

	by     *incarnation // the incarnation that was asked last
	err    error        // its error, if it failed
	failed time.Time    // when it failed last

	pass  chan struct{} // closed at the end of the current or coming pass; nil if there is none
	again bool          // the list changed during the pass
}

// recall sets a list from the cache.
func (l *Lists) recall(k Kind, list *List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[k].list = list
}

// leave ends the fetches of an incarnation, and prevents new ones.
func (l *Lists) leave(in *incarnation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.cancel()
}

// Known returns the list as known now: from the running server or, until that has answered, from an earlier run. known
// is false if it was never read.
func (l *Lists) Known(k Kind) (list List, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := &l.of[k]; s.list != nil {
		return *s.list, true
	}
	return List{}, false
}

// Heard reports whether the running server has sent the list, or failed to. Until then, Known is from an earlier run.
func (l *Lists) Heard(k Kind) bool {
	in := l.running()
	l.mu.Lock()
	defer l.mu.Unlock()
	return in != nil && l.of[k].by == in
}

// Fresh returns the list from the running server. It starts a server that is down, waits for a running fetch, and
// fetches again if the last fetch failed.
func (l *Lists) Fresh(ctx context.Context, k Kind) (List, error) {
	in, err := l.ready(ctx)
	if err != nil {
		return List{}, err
	}
	for waited := false; ; waited = true {
		list, told, err := l.told(in, k)
		if told && (err == nil || waited) {
			return list, err
		}
		pass := l.fetch(in, k, 0)
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

// Error returns why the running server's list could not be read. It is nil if the list was read, or is being read.
func (l *Lists) Error(k Kind) error {
	in := l.running()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.of[k]
	if in == nil || s.by != in || s.pass != nil {
		return nil
	}
	return s.err
}

// Reread starts to read a list again that could not be read, unless that was just now. It does not wait.
func (l *Lists) Reread(k Kind) {
	if l.Error(k) == nil {
		return
	}
	l.mu.Lock()
	recent := time.Since(l.of[k].failed) < reread
	l.mu.Unlock()
	if in := l.running(); in != nil && !recent {
		l.fetch(in, k, 0)
	}
}

// told returns the result of the last fetch by in. told is false if there was none.
func (l *Lists) told(in *incarnation, k Kind) (list List, told bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.of[k]
	switch {
	case s.by != in:
		return List{}, false, nil
	case s.err != nil:
		return List{}, true, s.err
	}
	return *s.list, true, nil
}

// fetchAll fetches every list, all at the same time.
func (l *Lists) fetchAll(in *incarnation) {
	for _, k := range Kinds {
		l.fetch(in, k, 0)
	}
}

// announced fetches a list that the server says has changed.
func (l *Lists) announced(in *incarnation, k Kind) {
	if !in.greeted.Load() {
		return // all lists will be fetched anyway
	}
	l.mu.Lock()
	if s := &l.of[k]; s.pass != nil {
		s.again = true
	}
	l.mu.Unlock()
	l.fetch(in, k, minSettle)
}

// fetch starts a pass after settle, unless one is running. It returns the pass, or nil if in is over.
func (l *Lists) fetch(in *incarnation, k Kind, settle time.Duration) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.ctx.Err() != nil { // its workers may be waited for already
		return nil
	}
	s := &l.of[k]
	if s.pass == nil {
		s.pass, s.again = make(chan struct{}), false
		in.workers.Go(func() { l.keep(in, k, settle) })
	}
	return s.pass
}

// keep makes passes until the list no longer changes meanwhile.
func (l *Lists) keep(in *incarnation, k Kind, settle time.Duration) {
	for {
		periodic.Sleep(in.ctx, settle)
		l.mu.Lock()
		l.of[k].again = false
		l.mu.Unlock()

		list, err := in.pages(k)
		if err != nil && in.ctx.Err() == nil {
			l.log.Warn("list of the server not read", "list", k.String(), "error", err)
		}
		changed := l.take(in, k, list.shared(k), err)
		if changed {
			l.changed(k)
			l.cache.saveList(k, list)
		}
		again := l.finish(in, k)
		if err != nil && in.ctx.Err() == nil {
			l.changed(k)
		}
		if !again {
			return
		}
		settle = min(max(2*settle, minSettle), maxSettle)
	}
}

// take stores the result of a pass. If a list could not be read, the earlier one stays.
func (l *Lists) take(in *incarnation, k Kind, list *List, err error) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.of[k]
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
func (l *Lists) finish(in *incarnation, k Kind) (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.of[k]
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
			return List{}, nil // for example, resources without templates
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
	return string(jsonx.At(fault, "code")) == "-32601"
}

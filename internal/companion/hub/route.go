package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/forward"
)

// The hub routes REST requests so that every path works for every process, even of a later version:
//
//   - The hub alone answers for what all processes share (shared).
//   - A request that names a session (?sessionId=) or a worker (?worker=) goes to the process that has it.
//   - /api/THINGS/ID goes to the process whose /api/THINGS lists ID. If several list it they share it, and one
//     answers. The hub knows the owners of sessions and approvals that it has seen, and does not ask.
//   - GET /api/THINGS without a name merges the lists of all processes. An item that several list appears once, and
//     its counts (Options.Counted) are added up.
//   - Any other request goes to the hub itself or, if the hub has no /api/THINGS, to the first process that has it.
//
// The hub checks the client's credential and tells the process which one it was. The secret itself stays here.

// shared holds the paths that all processes answer alike, from files of the data directory or of hosts, and those of
// the hub itself.
var shared = []string{"/api/proof", "/api/pair", "/api/info", "/api/hosts", "/api/audit", "/api/report", "/api/push", "/api/freeze", "/api/commands", "/api/presence"}

// gatherWithin is how long the hub waits for the processes' answers.
const gatherWithin = 2 * time.Second

// Route relays requests to the processes that joined, and serves the rest with own.
func (h *Hub) Route(own http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		things, id, ok := splitPath(r.URL.Path)
		processes := h.fleet.all()
		as := h.o.Caller(r)
		reading := isReading(r)
		prompts := as == credentials.Prompt && things == "/api/sessions"
		if !ok || len(processes) == 0 || as != credentials.Approve && as != credentials.View && !prompts || !reading && (as == credentials.View || !rest.SaysJSON(r)) {
			own.ServeHTTP(w, r) // own also refuses
			return
		}
		a := Request{hub: h, own: own, as: as, from: ClientAddress(r), page: PageOf(r), person: PersonOf(r), Processes: processes}
		query := r.URL.Query()
		switch session, worker := query.Get("sessionId"), query.Get("worker"); {
		case session != "":
			a.pass(w, r, a.owner(r, "/api/sessions", session))
		case worker != "":
			a.pass(w, r, a.ofWorker(worker))
		case id != "":
			who := a.owner(r, things, id)
			if who == nil {
				who = a.firstWith(r, things)
			}
			a.pass(w, r, who)
		case reading:
			a.union(w, r, things)
		default:
			a.pass(w, r, a.firstWith(r, things))
		}
	})
}

// splitPath splits /api/THINGS/ID/… into /api/THINGS and ID. ok is false if the hub answers alone.
func splitPath(path string) (things, id string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok || slices.ContainsFunc(shared, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") }) {
		return "", "", false
	}
	name, rest, _ := strings.Cut(rest, "/")
	id, _, _ = strings.Cut(rest, "/")
	return "/api/" + name, id, true
}

// Request is one request, with the processes that may have to answer it.
type Request struct {
	hub       *Hub
	own       http.Handler           // answers for this process
	as        credentials.Credential // the client's credential
	from      string                 // the client's address
	page      string                 // the client's page
	person    string                 // the person whose credential it has shown
	Processes []*Process
}

// answer is the response of one process. Process is nil for this one.
type answer struct {
	Process *Process
	Status  int
	header  http.Header
	Body    []byte
}

// An answer records what a handler of this process writes.
var _ http.ResponseWriter = (*answer)(nil)

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (a *answer) WriteHeader(status int) { a.Status = cmp.Or(a.Status, status) }

func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.Body = append(a.Body, data...)
	return len(data), nil
}

// copyTo sends the answer to the client.
func (a *answer) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client may be gone
}

// pass sends the request to the first process in to. If to is empty or its first is nil, this process answers.
func (a Request) pass(w http.ResponseWriter, r *http.Request, to []*Process) {
	if len(to) == 0 || to[0] == nil {
		a.own.ServeHTTP(w, r)
		return
	}
	a.forward(w, r, to[0])
}

// forward has one process answer. A change may wait for a person.
func (a Request) forward(w http.ResponseWriter, r *http.Request, to *Process) {
	within := a.hub.o.Timing.Answer * 2 / 3 // so that the client still hears of a failure
	if !isReading(r) {
		within = rest.Patience
		rest.Patiently(w)
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", "process", "process"
			p.Out.Body = forward.Body(p.Out.Body)
			a.setHeaders(p.Out)
		},
		Transport: to.HTTP.Transport,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			a.hub.o.Log.Warn("companion: a process did not answer", "process", to.PID, "path", r.URL.Path, slog.Any("error", err))
			rest.WriteError(w, http.StatusBadGateway, wire.CodeInternal, "the process that has this did not answer; the hub's log says why")
		},
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

func isReading(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// setHeaders tells a process whose request this is. It removes headers that concern only the client and the hub.
func (a Request) setHeaders(r *http.Request) {
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
		r.Header.Del(name)
	}
	r.Header.Set(OnBehalf, string(a.as))
	r.Header.Set(fromHeader, a.from)
	r.Header.Set(pageHeader, a.page)
	r.Header.Set(personHeader, a.person)
}

// Each sends a GET for uri to several processes at the same time; nil is this process. It returns the answers in their
// order, without those that do not arrive in time.
func (a Request) Each(r *http.Request, whom []*Process, uri string) []answer {
	ctx, cancel := context.WithTimeout(r.Context(), gatherWithin)
	defer cancel()
	answers := make([]answer, len(whom))
	var asked sync.WaitGroup
	for i, p := range whom {
		asked.Go(func() {
			answers[i].Process = p
			defer func() {
				if v := recover(); v != nil {
					rest.Panicked(a.hub.o.Log, "GET "+uri, v)
					answers[i] = answer{Process: p}
					rest.WriteError(&answers[i], http.StatusInternalServerError, wire.CodeInternal, rest.FailedText)
				}
			}()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://process"+uri, nil)
			if err != nil {
				return
			}
			request.Header = r.Header.Clone()
			if p == nil {
				request.Host, request.RemoteAddr = r.Host, r.RemoteAddr
				a.own.ServeHTTP(&answers[i], request)
				answers[i].WriteHeader(http.StatusOK)
				return
			}
			a.setHeaders(request)
			response, err := p.HTTP.Do(request)
			if err == nil {
				defer response.Body.Close()
				answers[i].Body, err = io.ReadAll(io.LimitReader(response.Body, client.MaxServer))
			}
			if err != nil {
				a.hub.o.Log.Warn("companion: a process did not answer", "process", p.PID, "path", r.URL.Path, slog.Any("error", err))
				return
			}
			answers[i].Status, answers[i].header = response.StatusCode, response.Header
		})
	}
	asked.Wait()
	return slices.DeleteFunc(answers, func(one answer) bool { return one.Status == 0 })
}

// Everyone returns this process, as nil, and all others. Those that serve hosts come first.
func (a Request) Everyone() []*Process {
	all := append([]*Process{nil}, a.Processes...)
	slices.SortStableFunc(all, func(x, y *Process) int { return cmp.Compare(a.hostlessRank(x), a.hostlessRank(y)) })
	return all
}

// hostlessRank returns 1 for a process without hosts, otherwise 0.
func (a Request) hostlessRank(p *Process) int {
	if p == nil && a.hub.o.Worker == "" || p != nil && p.Worker == "" {
		return 1
	}
	return 0
}

// owner returns the processes that have the thing with that id. It asks only if none has shown it yet.
func (a Request) owner(r *http.Request, things, id string) []*Process {
	if a.hub.o.Owns(things, id) {
		return []*Process{nil}
	}
	for _, p := range a.Processes {
		if p.hasShown(things, id) {
			return []*Process{p}
		}
	}
	return a.listing(r, things, id)
}

// listing returns the processes whose GET of things lists the id.
func (a Request) listing(r *http.Request, things, id string) (who []*Process) {
	for _, one := range a.Each(r, a.Everyone(), things) {
		_, items, ok := items(one)
		if ok && one.Process != nil {
			one.Process.setListed(things, items)
		}
		if ok && slices.ContainsFunc(items, func(item json.RawMessage) bool { return idOf(item) == id }) {
			who = append(who, one.Process)
		}
	}
	return who
}

// firstWith returns the first process that has such things at all.
func (a Request) firstWith(r *http.Request, things string) []*Process {
	for _, one := range a.Each(r, a.Everyone(), things) {
		if one.Status == http.StatusOK {
			return []*Process{one.Process}
		}
	}
	return nil
}

// idOf returns the id or name of a list's item, or "".
func idOf(item json.RawMessage) string {
	var has struct{ ID, Name, ToolCallID, SessionID string }
	if json.Unmarshal(item, &has) != nil {
		return ""
	}
	return cmp.Or(has.ID, has.Name, has.ToolCallID, has.SessionID)
}

// ofWorker returns a process that follows the worker's rules. nil means this one, which is preferred, or none.
func (a Request) ofWorker(worker string) []*Process {
	if a.hub.o.Worker == worker {
		return nil
	}
	for _, p := range a.Processes {
		if p.Worker == worker {
			return []*Process{p}
		}
	}
	return nil
}

// items returns the list in an answer: the body itself, or the only member of an object.
func items(one answer) (member string, list []json.RawMessage, ok bool) {
	if one.Status != http.StatusOK {
		return "", nil, false
	}
	if json.Unmarshal(one.Body, &list) == nil {
		return "", list, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(one.Body, &object) != nil {
		return "", nil, false
	}
	delete(object, "problems")
	for name, value := range object {
		if len(object) == 1 && bytes.HasPrefix(value, []byte("[")) && json.Unmarshal(value, &list) == nil {
			return name, list, true
		}
	}
	return "", nil, false
}

// union answers with the lists of all processes. If no answer is a list, it picks the one with the lowest status, this
// process's first.
func (a Request) union(w http.ResponseWriter, r *http.Request, things string) {
	answers := a.Each(r, a.Everyone(), r.URL.RequestURI())
	var all []json.RawMessage
	name, lists := "", 0
	for _, one := range answers {
		member, list, ok := items(one)
		if !ok {
			continue
		}
		name, lists = member, lists+1
		if one.Process != nil && r.URL.RawQuery == "" {
			one.Process.setListed(things, list)
		}
		all = append(all, list...)
	}
	if lists == 0 {
		slices.SortStableFunc(answers, func(x, y answer) int { return cmp.Compare(x.Status, y.Status) })
		answers[0].copyTo(w)
		return
	}
	if all = once(all, a.hub.o.Counted[things]); things == "/api/approvals" {
		all = oldestFirst(all)
	}
	if name == "" {
		rest.WriteJSON(w, http.StatusOK, wire.List(all))
		return
	}
	rest.WriteJSON(w, http.StatusOK, rest.Listed(name, wire.List(all), a.missing(things, answers)))
}

// missing returns sentences on the processes whose part of a list is missing, if each process has its own part.
func (a Request) missing(things string, answers []answer) []string {
	if !slices.Contains(bound, things) {
		return nil
	}
	said := a.hub.Problems()
	for _, p := range a.Processes {
		if !slices.ContainsFunc(answers, func(one answer) bool { return one.Process == p }) {
			said = append(said, wire.Unseen(p.PID, p.Replica))
		}
	}
	return said
}

// once drops items that an earlier process listed too, since they share them. If count is not nil, it adds the dropped
// item's counts to the kept one.
func once(all []json.RawMessage, count func(sum, next json.RawMessage) json.RawMessage) []json.RawMessage {
	at := map[string]int{} // index in kept, by key
	var kept []json.RawMessage
	for _, item := range all {
		var has struct{ ID, Name string }
		key := ""
		if json.Unmarshal(item, &has) == nil {
			key = cmp.Or(has.ID, has.Name)
		}
		if i, again := at[key]; again && key != "" {
			if count != nil {
				kept[i] = count(kept[i], item)
			}
			continue
		}
		at[key] = len(kept)
		kept = append(kept, item)
	}
	return kept
}

// oldestFirst sorts by createdAt, if all items have it.
func oldestFirst(all []json.RawMessage) []json.RawMessage {
	type dated struct {
		item json.RawMessage
		at   time.Time
	}
	sorted := make([]dated, len(all))
	for i, item := range all {
		var has struct{ CreatedAt *time.Time }
		if json.Unmarshal(item, &has) != nil || has.CreatedAt == nil {
			return all
		}
		sorted[i] = dated{item, *has.CreatedAt}
	}
	slices.SortStableFunc(sorted, func(a, b dated) int { return a.at.Compare(b.at) })
	for i, d := range sorted {
		all[i] = d.item
	}
	return all
}

// Ask returns a request to the processes that joined. There are none unless this process is the hub and the request
// comes from a client: each process answers the hub only for itself. own answers for this process; it may be nil if
// this process is not asked.
func (h *Hub) Ask(r *http.Request, own http.Handler) Request {
	a := Request{hub: h, own: own, as: h.o.Caller(r), from: ClientAddress(r)}
	if membershipOf(r) == nil {
		a.Processes = h.fleet.all()
	}
	return a
}

// WithoutReplicas returns the request without other replicas, for data that is collected from each replica separately.
func (a Request) WithoutReplicas() Request {
	a.Processes = slices.DeleteFunc(a.Processes, func(p *Process) bool { return p.Replica != "" })
	return a
}

// Alone reports whether no other process is asked.
func (a Request) Alone() bool { return len(a.Processes) == 0 }

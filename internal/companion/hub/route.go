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

// What the hub does with a REST request, so that every path works for every process, those of later versions
// included:
//
//   - What all processes share (shared) the hub answers alone.
//   - A request that names a session (?sessionId=) or a worker (?worker=) goes to the process that has it.
//   - /api/THINGS/ID goes to the process whose /api/THINGS lists ID; what several list they share, and one answers.
//     Sessions and approvals that the hub has seen it passes on without asking who has them.
//   - GET /api/THINGS without a name is the lists of all processes in one. What several list they share: it is there
//     once, and what each of them counts (Options.Counted) is added up.
//   - What is left goes to the hub itself, or to the first process that has /api/THINGS when the hub has not.
//
// The hub checks the client's credential and says to the process what it was; the credential itself stays here.

// shared are paths whose content is the same for all processes: files of the data directory or of hosts, or the hub's
// own.
var shared = []string{"/api/proof", "/api/pair", "/api/info", "/api/hosts", "/api/audit", "/api/report", "/api/push", "/api/freeze", "/api/commands", "/api/presence"}

// gatherWithin is how long the hub waits for the processes' part of an answer.
const gatherWithin = 2 * time.Second

// Route passes requests on to the processes that joined and the rest to own.
func (h *Hub) Route(own http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		things, id, ok := thing(r.URL.Path)
		processes := h.fleet.all()
		as := h.o.Caller(r)
		reading := r.Method == http.MethodGet || r.Method == http.MethodHead
		prompts := as == credentials.Prompt && things == "/api/sessions"
		if !ok || len(processes) == 0 || as != credentials.Approve && as != credentials.View && !prompts || !reading && (as == credentials.View || !rest.SaysJSON(r)) {
			own.ServeHTTP(w, r) // or refuses
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
				who = a.having(r, things)
			}
			a.pass(w, r, who)
		case reading:
			a.union(w, r, things)
		default:
			a.pass(w, r, a.having(r, things))
		}
	})
}

// thing splits /api/THINGS/ID/… into /api/THINGS and ID. It is not ok for what the hub answers alone.
func thing(path string) (things, id string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok || slices.ContainsFunc(shared, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") }) {
		return "", "", false
	}
	name, rest, _ := strings.Cut(rest, "/")
	id, _, _ = strings.Cut(rest, "/")
	return "/api/" + name, id, true
}

// Request is one request with those whom it may concern.
type Request struct {
	hub       *Hub
	own       http.Handler           // this process' answers
	as        credentials.Credential // what the client has shown
	from      string                 // where the client is
	page      string                 // that it is on
	person    string                 // whose credential it has shown
	Processes []*Process
}

// answer is what one process says. process is nil for this one.
type answer struct {
	Process *Process
	Status  int
	header  http.Header
	Body    []byte
}

// An answer takes what a handler of this process writes.
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

// copyTo answers the client with it.
func (a *answer) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that is gone gets nothing
}

// pass sends the request to the first of those who have what it names, and to this process when nobody has.
func (a Request) pass(w http.ResponseWriter, r *http.Request, to []*Process) {
	if len(to) == 0 || to[0] == nil {
		a.own.ServeHTTP(w, r)
		return
	}
	a.forward(w, r, to[0])
}

// forward has one process answer.
func (a Request) forward(w http.ResponseWriter, r *http.Request, to *Process) {
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
	proxy.ServeHTTP(w, r)
}

// setHeaders tells a process for whom the request is, and removes what concerns only the client and the hub.
func (a Request) setHeaders(r *http.Request) {
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
		r.Header.Del(name)
	}
	r.Header.Set(OnBehalf, string(a.as))
	r.Header.Set(fromHeader, a.from)
	r.Header.Set(pageHeader, a.page)
	r.Header.Set(personHeader, a.person)
}

// Each asks several processes for the same at once. The answers are in their order, without those that do not come in
// time.
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

// Everyone is this process and then all others. Processes that serve hosts come before those that only keep the page.
func (a Request) Everyone() []*Process {
	all := append([]*Process{nil}, a.Processes...)
	slices.SortStableFunc(all, func(x, y *Process) int { return cmp.Compare(a.keepsThePage(x), a.keepsThePage(y)) })
	return all
}

// keepsThePage returns 1 for a process without hosts, else 0.
func (a Request) keepsThePage(p *Process) int {
	if p == nil && a.hub.o.Worker == "" || p != nil && p.Worker == "" {
		return 1
	}
	return 0
}

// owner finds who has the thing with that id, and asks only when nobody has shown it yet.
func (a Request) owner(r *http.Request, things, id string) []*Process {
	if a.hub.o.Owns(things, id) {
		return []*Process{nil}
	}
	for _, p := range a.Processes {
		if p.showed(things, id) {
			return []*Process{p}
		}
	}
	return a.listing(r, things, id)
}

// listing finds who has the thing with that id: those whose GET of things lists it.
func (a Request) listing(r *http.Request, things, id string) (who []*Process) {
	for _, one := range a.Each(r, a.Everyone(), things) {
		_, items, ok := items(one)
		if ok && one.Process != nil {
			one.Process.lists(things, items)
		}
		if ok && slices.ContainsFunc(items, func(item json.RawMessage) bool { return idOf(item) == id }) {
			who = append(who, one.Process)
		}
	}
	return who
}

// having finds the first that has such things at all.
func (a Request) having(r *http.Request, things string) []*Process {
	for _, one := range a.Each(r, a.Everyone(), things) {
		if one.Status == http.StatusOK {
			return []*Process{one.Process}
		}
	}
	return nil
}

// idOf is what names an item of a list, "" when nothing does.
func idOf(item json.RawMessage) string {
	var has struct{ ID, Name, ToolCallID, SessionID string }
	if json.Unmarshal(item, &has) != nil {
		return ""
	}
	return cmp.Or(has.ID, has.Name, has.ToolCallID, has.SessionID)
}

// ofWorker finds a process that goes by the worker's rules, this one before others.
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

// items returns the list that an answer is: by itself, or as the one member of an object.
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

// union answers with the lists of all. What is not a list is the answer of this process, or else of the first that
// has one.
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
			one.Process.lists(things, list)
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

// missing names the processes whose part of a list is missing, if each process has a part of its own.
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

// once leaves out items that another process listed before: they share them. count, which may be nil, adds what such
// an item counts to the one that stays.
func once(all []json.RawMessage, count func(sum, next json.RawMessage) json.RawMessage) []json.RawMessage {
	at := map[string]int{} // where the items are, by key
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

// oldestFirst sorts by createdAt, where all items have one.
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

// Ask makes a request to those who joined, which are none unless this process is the hub and the request is a client's:
// what a hub asks, each answers for itself. own is what this process answers, nil when it is not asked.
func (h *Hub) Ask(r *http.Request, own http.Handler) Request {
	a := Request{hub: h, own: own, as: h.o.Caller(r), from: ClientAddress(r)}
	if membershipOf(r) == nil {
		a.Processes = h.fleet.all()
	}
	return a
}

// Here leaves other replicas out: who watches them asks each.
func (a Request) Here() Request {
	a.Processes = slices.DeleteFunc(a.Processes, func(p *Process) bool { return p.Replica != "" })
	return a
}

// Alone reports whether nobody else is asked.
func (a Request) Alone() bool { return len(a.Processes) == 0 }

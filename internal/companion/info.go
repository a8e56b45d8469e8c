package companion

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"

	"callgate/internal/companion/wire"
)

// info is what GET /api/info answers: this process and, at the hub, all that joined.
type info struct {
	Name      string               `json:"name"`
	Version   string               `json:"version"`
	Protocols protocols            `json:"protocols"`
	Sessions  int                  `json:"sessions"`           // of all processes
	Upstreams []wire.UpstreamState `json:"upstreams"`          // of all processes
	Processes []wire.ProcessInfo   `json:"processes"`          // this one first
	Problems  []string             `json:"problems,omitempty"` // with what callgate keeps: its audit log, its files
}

type protocols struct {
	Companion []int    `json:"companion"`
	MCP       []string `json:"mcp"`
}

func (s *Server) handleInfo(w http.ResponseWriter, r *http.Request) {
	sessions := len(s.options.Backend.Sessions())
	all := info{
		Name: "callgate", Version: s.options.Version, Protocols: protocols{[]int{wire.Version}, wire.List(s.options.Protocols)},
		Sessions: sessions, Upstreams: wire.List(slices.Clone(s.options.Backend.Upstreams())),
		Processes: []wire.ProcessInfo{{PID: os.Getpid(), Worker: s.options.Worker, Version: s.options.Version, Hub: s.leads.Load(), Sessions: sessions}},
	}
	all.Problems = s.problems()
	for i := range all.Upstreams {
		all.Upstreams[i].Process = os.Getpid()
	}
	others := s.others(r)
	said := make(map[*process]info)
	for _, one := range others.each(r, others.processes, "/api/info") {
		var theirs info
		if one.status == http.StatusOK && json.Unmarshal(one.body, &theirs) == nil {
			said[one.process] = theirs
		}
	}
	for _, p := range others.processes {
		theirs, answered := said[p]
		all.Sessions += theirs.Sessions
		for _, problem := range theirs.Problems {
			if !slices.Contains(all.Problems, problem) {
				all.Problems = append(all.Problems, problem)
			}
		}
		all.Upstreams = append(all.Upstreams, theirs.Upstreams...)
		all.Processes = append(all.Processes, wire.ProcessInfo{PID: p.pid, Worker: p.worker, Version: p.version, Sessions: theirs.Sessions, Silent: !answered})
	}
	writeJSON(w, http.StatusOK, all)
}

// others are the processes that a request which this process answers concerns too: all that joined when it came
// from a client, none when it came from the hub.
func (s *Server) others(r *http.Request) asking {
	a := asking{s: s, as: s.caller(r, nil), from: originOf(r)}
	if doorOf(r) != nil {
		a.processes = s.fleet.all()
	}
	return a
}

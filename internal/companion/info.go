package companion

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"

	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
)

// info is the answer of GET /api/info: this process and, at the hub, all that joined.
type info struct {
	Name      string               `json:"name"`
	Version   string               `json:"version"`
	Protocols protocols            `json:"protocols"`
	Sessions  int                  `json:"sessions"`           // in all processes
	Upstreams []wire.UpstreamState `json:"upstreams"`          // of all processes
	Processes []wire.ProcessInfo   `json:"processes"`          // this one first
	Replicas  []wire.ReplicaInfo   `json:"replicas,omitempty"` // of the cluster
	Problems  []string             `json:"problems,omitempty"` // with what callgate stores, such as its audit log
}

type protocols struct {
	Companion []int    `json:"companion"`
	MCP       []string `json:"mcp"`
}

// infoAPI serves what is running here over REST.
type infoAPI struct {
	api
	hub      processes
	options  *Options
	problems func() []string
}

func (s infoAPI) routes(path func(string, methods)) {
	path("/api/info", methods{"GET": s.viewer(s.info)})
	path("/api/hosts", methods{"GET": s.viewer(s.with(partHosts, s.hosts))})
}

func (s infoAPI) info(r *http.Request) (any, error) {
	sessions := len(s.backend.Gate.Sessions())
	all := info{
		Name: "callgate", Version: s.options.Version, Protocols: protocols{[]int{wire.Version}, wire.List(s.options.Protocols)},
		Sessions: sessions, Upstreams: wire.List(slices.Clone(s.backend.Gate.Upstreams())),
		Processes: []wire.ProcessInfo{{PID: os.Getpid(), Replica: s.options.Replica, Worker: s.options.Worker, Version: s.options.Version, Hub: s.hub.Leads(), Sessions: sessions}},
	}
	all.Problems = s.problems()
	if s.options.Replicas != nil {
		all.Replicas = s.options.Replicas()
	}
	for i := range all.Upstreams {
		all.Upstreams[i].Process = os.Getpid()
	}
	others := s.hub.Ask(r, nil)
	said := make(map[*hub.Process]info)
	for _, one := range others.Each(r, others.Processes, "/api/info") {
		var theirs info
		if one.Status == http.StatusOK && json.Unmarshal(one.Body, &theirs) == nil {
			said[one.Process] = theirs
		}
	}
	for _, p := range others.Processes {
		theirs, answered := said[p]
		all.Sessions += theirs.Sessions
		for _, problem := range theirs.Problems {
			if !slices.Contains(all.Problems, problem) {
				all.Problems = append(all.Problems, problem)
			}
		}
		all.Upstreams = append(all.Upstreams, theirs.Upstreams...)
		all.Processes = append(all.Processes, wire.ProcessInfo{PID: p.PID, Replica: p.Replica, Worker: p.Worker, Version: p.Version, Sessions: theirs.Sessions, Silent: !answered})
	}
	return all, nil
}

// hosts returns how the LLM hosts on this machine are connected to the gate. Every process sees the same.
func (s infoAPI) hosts(*http.Request) (any, error) {
	return wire.List(s.backend.Hosts()), nil
}

package proxy

import (
	"context"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/gate/tools"
	"callgate/internal/rpc"
)

// folders are where one host works.
type folders struct {
	h     *host
	roots atomic.Pointer[[]string] // nil until the host has named them
}

// rootsPatience bounds how long a host may take to name its roots. Nothing waits for it: some hosts declare
// roots and never answer.
const rootsPatience = 30 * time.Second

// learn asks the host for its workspace folders: relative paths of calls may mean them too. It is told
// again when they change.
func (f *folders) learn() {
	if can := f.h.capable.Load(); can == nil || !can.roots {
		f.opened(nil)
		return
	}
	f.h.work.Go(func() {
		defer func() { f.opened(f.roots.Load()) }()
		pending, err := f.h.ask(nil, "roots", func(id []byte) []byte { return rpc.Request(id, "roots/list", nil) })
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(f.h.ctx, rootsPatience)
		defer cancel()
		answer, err := pending.Wait(ctx)
		if err != nil || answer.Result == nil {
			f.h.log.Debug("the host did not name its roots", "error", err)
			return
		}
		roots := parseRoots(answer.Result)
		f.roots.Store(&roots)
		f.h.folders.locate()
	})
}

// Workspaces is told which folders the hosts of a proxy work in.
type Workspaces interface {
	// Opened is called when a host has shaken hands and named its folders, none if it names none, and whenever
	// it names others.
	Opened(sessionID string, folders []string)

	// Closed is called when the session ends, also for one that was never opened.
	Closed(sessionID string)
}

// opened tells of the host's folders; nil when it has named none.
func (f *folders) opened(roots *[]string) {
	if f.h.p.o.Workspaces == nil || f.h.ctx.Err() != nil {
		return
	}
	var folders []string
	if roots != nil {
		folders = *roots
	}
	f.h.p.o.Workspaces.Opened(f.h.session.ID(), folders)
}

// parseRoots returns the folders that a result of roots/list names. What is no local folder is left out.
func parseRoots(result []byte) (roots []string) {
	var list struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	if json.Unmarshal(result, &list) != nil {
		return nil
	}
	for _, r := range list.Roots {
		u, err := url.Parse(r.URI)
		if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
			continue
		}
		path := u.Path
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, "/")
		}
		if path = filepath.FromSlash(path); filepath.IsAbs(path) && !slices.Contains(roots, filepath.Clean(path)) {
			roots = append(roots, filepath.Clean(path))
		}
	}
	return roots
}

// placeOf is where calls of the server run, with the host's roots among those that relative paths may mean.
func (f *folders) placeOf(s *server) tools.Place {
	place := s.place
	if roots := f.roots.Load(); roots != nil {
		if len(*roots) > 0 {
			place.Workspace = *roots
		}
		for _, root := range *roots {
			if !slices.Contains(place.Roots, root) {
				place.Roots = append(slices.Clip(place.Roots), root)
			}
		}
	}
	return place
}

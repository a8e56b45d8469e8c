package app

import (
	"strings"
	"sync"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/doctor"
	"callgate/internal/install"
)

// hostsFresh is how long the state of hosts is cached, because finding out reads all their files.
const hostsFresh = 5 * time.Second

// hostsHere returns a function that says whether the hosts of this machine go through the gate of a data directory.
func hostsHere(dataDir string) func() []wire.HostState {
	var mu sync.Mutex
	var list []wire.HostState
	var at time.Time
	return func() []wire.HostState {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) < hostsFresh {
			return list
		}
		o := doctor.Options{DataDir: dataDir, Location: map[string]string{"--data-dir": dataDir}}
		if dataDir != config.DefaultDataDir() {
			o.Chosen = " --data-dir " + config.Quote(dataDir)
		}
		connect := Connect{DataDir: dataDir, AsConnected: true, Scopes: []string{"user", "local", "plugin"}}
		if o.Machine, o.PlanErr = install.ThisMachine(""); o.PlanErr == nil {
			o.Plan, o.PlanErr = connect.Plan(nil)
		}
		list = nil
		for _, f := range doctor.Hosts(o) {
			list = append(list, wire.HostState{Host: strings.TrimPrefix(f.About, "host "), State: f.State.String(), Text: f.Text, Cure: f.Cure})
		}
		at = time.Now()
		return list
	}
}

package config

import (
	"fmt"
	"time"

	"callgate/proxy"
)

// hostConfig says how long a host lets a tool call run, where callgate does not know or knows it wrongly.
type hostConfig struct {
	Name            string        // how clientInfo.name begins
	Limit           time.Duration // of a call; 0s is none
	ProgressExtends bool          // progress starts the limit anew
	Total           time.Duration // of a call with progress; 0s is none
}

func assembleHosts(hosts []hostConfig) ([]proxy.HostLimit, error) {
	limits := make([]proxy.HostLimit, len(hosts))
	for i, h := range hosts {
		switch {
		case h.Name == "":
			return nil, fmt.Errorf("[%d]: name is missing: write how the host's clientInfo.name begins", i)
		case h.Limit < 0 || h.Total < 0:
			return nil, fmt.Errorf("[%d] %s: a limit is negative: use 0s for none", i, h.Name)
		case h.Total > 0 && !h.ProgressExtends:
			return nil, fmt.Errorf("[%d] %s: total goes with progressExtends: true", i, h.Name)
		}
		limits[i] = proxy.HostLimit{Name: h.Name, Idle: h.Limit, Total: h.Total, Extends: h.ProgressExtends}
	}
	return limits, nil
}

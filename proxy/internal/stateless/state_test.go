package stateless

import (
	"testing"
	"time"
)

// Even a correctly sealed state does not lead to another principal's request.
func TestHandlesLeadToTheirPrincipalsErrandsAlone(t *testing.T) {
	all := &Clients{}
	owner := &Client{all: all, key: clientKey{from: Sender{Principal: "laptop"}}}
	e := &Request{client: owner, rounds: 1}
	all.parked = map[string]*Request{"e": e}
	err := all.continueWith(requestState{Parked: "e", Round: 1, Principal: "ci", Digest: "d", Until: time.Now().Add(time.Minute)}, &round{}, nil)
	if err == nil || all.parked["e"] != e {
		t.Errorf("another principal went on with it: %v", err)
	}
}

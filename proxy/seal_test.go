package proxy

import (
	"testing"
	"time"
)

// Even a handle that is sealed right leads to no errand of another principal.
func TestHandlesLeadToTheirPrincipalsErrandsAlone(t *testing.T) {
	p := &Proxy{}
	owner := &face{p: p, key: faceKey{from: Sender{Principal: "laptop"}}}
	e := &errand{f: owner, legs: 1}
	p.stateless.parked = map[string]*errand{"e": e}
	err := p.goOn(handle{Errand: "e", Leg: 1, Principal: "ci", Digest: "d", Until: time.Now().Add(time.Minute)}, &leg{}, nil)
	if err == nil || p.stateless.parked["e"] != e {
		t.Errorf("another principal went on with it: %v", err)
	}
}

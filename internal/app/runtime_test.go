package app

import "testing"

// Memory is returned once after each time that the process was busy, when it has become idle.
func TestRest(t *testing.T) {
	r := idleDetector{wait: restAfter}
	for i, look := range []struct {
		allocated uint64 // since the previous look
		free      bool
		slower    bool // the next look comes later than the first one did
	}{
		{16 << 20, false, false}, // starts
		{100, true, true},        // idle
		{100, false, true},
		{quiet, false, true},
		{quiet + 1, false, false}, // busy, for a moment
		{100, false, true},        // too little to return
		{worth, false, false},
		{2 << 20, false, false},
		{0, true, true},
		{0, false, true},
	} {
		if free := r.look(r.seen + look.allocated); free != look.free || (r.wait > restAfter) != look.slower {
			t.Errorf("look %d: gives back %v, next after %v", i, free, r.wait)
		}
	}
	for range 10 {
		r.look(r.seen)
	}
	if r.wait != restMost {
		t.Errorf("an idle process is looked at every %v", r.wait)
	}
}

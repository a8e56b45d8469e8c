package siem

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
)

// patient is a receiver that accepts everything and lets records wait for others.
type patient struct{ took int }

func (p *patient) send(_ context.Context, records []audit.Line) (bool, error) {
	p.took += len(records)
	return true, nil
}
func (p *patient) patience() time.Duration { return time.Minute }
func (p *patient) lost() error             { return nil }
func (p *patient) close()                  {}

// TestWaits checks that records with times in the future, as after the clock was set back, are sent as soon as others.
func TestWaits(t *testing.T) {
	b := newBench(t)
	e := b.export(Config{Name: "x", URL: "https://siem.example"})
	e.State = filepath.Join(t.TempDir(), "x.json")
	b.write(2)
	if err := e.load(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // in the year 2000
		to := &patient{}
		for _, c := range []struct {
			wait time.Duration
			took int
		}{{0, 0}, {59 * time.Second, 0}, {time.Second, 2}, {time.Hour, 2}} {
			time.Sleep(c.wait)
			if err := e.step(t.Context(), to); err != nil || to.took != c.took {
				t.Errorf("after %v it has %d records, want %d: %v", c.wait, to.took, c.took, err)
			}
		}
		b.write(1)
		for _, want := range []int{2, 3} {
			if err := e.step(t.Context(), to); err != nil || to.took != want {
				t.Errorf("it has %d records, want %d: %v", to.took, want, err)
			}
			time.Sleep(time.Minute)
		}
		for _, more := range []int{1, 100, maxRecords - 102} { // less than a batch
			b.write(more)
			for range 2 {
				if err := e.step(t.Context(), to); err != nil || to.took != 3 {
					t.Errorf("it has %d records, want 3: %v", to.took, err)
				}
			}
		}
		b.write(2)
		if err := e.step(t.Context(), to); err != nil || to.took != 3+maxRecords {
			t.Errorf("a whole batch is there, and it has %d records: %v", to.took, err)
		}
		time.Sleep(time.Minute)
		if err := e.step(t.Context(), to); err != nil || to.took != 4+maxRecords {
			t.Errorf("it has %d records: %v", to.took, err)
		}
	})
}

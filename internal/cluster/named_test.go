//go:build !nonats

package cluster

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/waits"
)

// A replica starts neither in the data directory of a running one nor under its name, and the running one goes on.
func TestNamesAndFoldersAreApart(t *testing.T) {
	t.Parallel()
	all := open(t, 3)
	free := addresses.Free(t, 1)
	same := all[2].o
	same.Name, same.Listen = "r3", free[0]
	same.Peers = append([]string{free[0]}, same.Peers...)
	if _, err := Open(same); err == nil || !strings.Contains(err.Error(), "another replica runs in "+same.DataDir) {
		t.Errorf("two in one folder: %v", err)
	}
	if !Runs(same.DataDir) || Runs(t.TempDir()) {
		t.Error("whether a replica runs is not known")
	}
	named := same
	named.Name, named.DataDir = "r2", t.TempDir()
	if _, err := Open(named); !errors.Is(err, errNamed) {
		t.Errorf("two of one name: %v", err)
	}
	if Runs(named.DataDir) {
		t.Error("it holds its folder")
	}
	for _, c := range all {
		waits.Until(t, "the one that runs goes on", func() bool { return c.Fresh() == nil })
	}
}

// At an external NATS, the second replica of a name hears the first one's beats, and sends none.
func TestNamesAtOneNATS(t *testing.T) {
	t.Parallel()
	outside := startOutside(t)
	start := func() *Cluster {
		c, err := Open(Options{URL: outside.ClientURL(), Name: "a", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := start()
	waits.Until(t, "the first hears from the cluster", func() bool { return first.Fresh() == nil })
	second := start()
	waits.Until(t, "the second is refused", func() bool { return errors.Is(second.Fresh(), errNamed) })
	second.Close()
	if _, v, err := first.bucket.read(t.Context(), "beat.a"); err != nil || v.body == nil || first.Fresh() != nil {
		t.Error("the first is gone", err, first.Fresh())
	}
	first.die()
	third := start()
	waits.Until(t, "one that takes its place is not", func() bool { return third.Fresh() == nil })
}

// What a process of this name left behind is no sign of life. One that falls silent keeps the name for a lease.
func TestNamesakeThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{}
		r := replicas{c: &Cluster{o: Options{Name: "a", Lease: testLease}, epoch: "own", bucket: b}}
		want := func(what string, quiet, named bool) {
			t.Helper()
			if got := r.waitsForNamesake(); got != quiet || (b.named.Load() != nil) != named {
				t.Errorf("%s: quiet %v, named: %v", what, got, b.named.Load())
			}
		}
		r.hear("own", 1)
		want("its own", false, false)
		r.hear("other", 2) // as the bucket has it
		r.hear("other", 2) // by another consumer
		r.hear("other", 3) // that was on its way when it died
		want("two beats", true, false)
		time.Sleep(3 * testLease / 10)
		want("silent", false, false)
		r.hear("other", 4)
		want("three beats", true, true)
		time.Sleep(testLease)
		want("it has died", false, false)
		for rev := range uint64(2) {
			r.hear("yet another", 5+rev)
		}
		want("two of another process", true, false)
	})
}

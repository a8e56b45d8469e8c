package tenancy

import (
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/config"
	"callgate/internal/tenants"
)

// Of tenants with names that look the same, only one begins, even if they come at once. No more than Most begin.
func TestTenantsThatBeginAtOnce(t *testing.T) {
	for _, names := range [][]string{{"acme1", "acmel"}, {"one", "other"}} {
		for range 50 {
			c := &config.Config{DataDir: t.TempDir(), Tenants: tenants.Config{Any: true, Most: 1}}
			if names[0] == "acme1" {
				c.Tenants.Most = 2
			}
			if err := c.Tenants.Check(); err != nil {
				t.Fatal(err)
			}
			h := &Registry{o: Options{Config: c}}
			var began atomic.Int32
			var all sync.WaitGroup
			for _, name := range names {
				all.Go(func() {
					if h.begin(c, name) == nil {
						began.Add(1)
					}
				})
			}
			all.Wait()
			if began.Load() != 1 {
				t.Fatalf("%d of %q began", began.Load(), names)
			}
		}
	}
}
